import { setMaxListeners } from 'node:events';
import { unavailable } from './errors.ts';

/** The moment by which a piece of work must have ended. */
export interface Deadline {
  /** Aborted at the deadline. */
  readonly signal: AbortSignal;
  /** Milliseconds left, 0 or more. */
  remaining(): number;
}

/** A deadline `milliseconds` from now. */
export function deadlineIn(milliseconds: number): Deadline {
  const end = performance.now() + milliseconds;
  const signal = AbortSignal.timeout(milliseconds);
  // Every piece of a request listens, each window of a long text too; Node would warn of a leak from the eleventh on.
  setMaxListeners(0, signal);
  return { signal, remaining: () => Math.max(0, Math.ceil(end - performance.now())) };
}

/** Settles as `work` does, or rejects with a 503 at the deadline; `work` itself goes on. */
export function raceDeadline<T>(work: Promise<T>, { signal }: Deadline): Promise<T> {
  return new Promise((resolve, reject) => {
    const expire = () => reject(deadlinePassed());
    if (signal.aborted) expire();
    signal.addEventListener('abort', expire, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', expire));
  });
}

/** The 503 of a request that ran out of time. */
export function deadlinePassed(): Error {
  return unavailable('The request took longer than its deadline; try again');
}
