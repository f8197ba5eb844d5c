import { EmbedderBusy } from './embedder.ts';

export interface BatcherSettings<Result> {
  /** Answers a batch in its order. The signal aborts when nobody waits for any of it any more. */
  run: (texts: readonly string[], signal: AbortSignal) => Promise<Result[]>;
  /** The most texts, and characters, of one batch; a single text may be longer. */
  maximumTexts: number;
  maximumCharacters: number;
  /** Batches under way at once. */
  underWay: number;
  /** Texts that may wait; beyond it EmbedderBusy. */
  queueLimit: number;
}

export interface Batcher<Result> {
  /** Urgent texts come before all others that wait. Rejects with the signal's reason, what `run` rejects with, or EmbedderBusy. */
  add(text: string, options: { urgent: boolean; signal?: AbortSignal | undefined }): Promise<Result>;
}

interface Waiting<Result> {
  readonly text: string;
  readonly urgent: boolean;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** Gathers the texts that come while others are under way into one batch. A lone text goes at once. */
export function createBatcher<Result>({ run, maximumTexts, maximumCharacters, underWay, queueLimit }: BatcherSettings<Result>): Batcher<Result> {
  const urgent = new Set<Waiting<Result>>();
  const patient = new Set<Waiting<Result>>();
  const running = new Map<Waiting<Result>, { waited: number; stop: AbortController }>();
  let batches = 0;

  function take(): Waiting<Result>[] {
    const batch: Waiting<Result>[] = [];
    let characters = 0;
    for (const queue of [urgent, patient])
      for (const waiting of queue) {
        characters += waiting.text.length;
        if (batch.length === maximumTexts || (batch.length > 0 && characters > maximumCharacters)) return batch;
        queue.delete(waiting);
        batch.push(waiting);
      }
    return batch;
  }

  function dispatch(): void {
    while (batches < underWay) {
      const batch = take();
      if (batch.length === 0) return;
      batches++;
      const flight = { waited: batch.length, stop: new AbortController() };
      for (const waiting of batch) running.set(waiting, flight);
      run(
        batch.map(({ text }) => text),
        flight.stop.signal,
      )
        .then(
          (results) => batch.forEach(({ resolve }, at) => resolve(results[at]!)),
          (error: unknown) => batch.forEach(({ reject }) => reject(error)),
        )
        .finally(() => {
          for (const waiting of batch) running.delete(waiting);
          batches--;
          dispatch();
        });
    }
  }

  /** The last to leave a batch ends it. */
  function leave(waiting: Waiting<Result>): void {
    urgent.delete(waiting);
    patient.delete(waiting);
    const flight = running.get(waiting);
    if (flight && --flight.waited === 0) flight.stop.abort();
  }

  return {
    async add(text, { urgent: first, signal }) {
      signal?.throwIfAborted();
      if (urgent.size + patient.size >= queueLimit) throw new EmbedderBusy(`${queueLimit} texts already wait to be embedded`);
      let abort: (() => void) | undefined;
      try {
        return await new Promise<Result>((resolve, reject) => {
          const waiting = { text, urgent: first, resolve, reject };
          abort = () => {
            leave(waiting);
            reject(signal?.reason as Error);
          };
          signal?.addEventListener('abort', abort, { once: true });
          (first ? urgent : patient).add(waiting);
          dispatch();
        });
      } finally {
        if (abort) signal?.removeEventListener('abort', abort);
      }
    },
  };
}
