import { EmbedderUnavailable } from './embedder.ts';

export interface AvailabilitySettings {
  /** Asks whether the provider answers again; rejects when it does not. */
  probe: (signal: AbortSignal) => Promise<void>;
  /** Says in a line that it went away, and that it is back. */
  report: (line: string) => void;
}

export interface Availability {
  status(): 'ok' | 'down';
  /** Throws EmbedderUnavailable while the provider is away, so that nobody waits for what won't come. */
  require(): void;
  /** Notes that the provider doesn't answer as it should; from now on it is asked by the probe alone, first after `pause` milliseconds at least. */
  fail(error: unknown, pause?: number): void;
  close(): void;
}

/** Milliseconds between two probes: a tenth of the time that it has been away. */
const SHORTEST_PAUSE = 1_000;
const LONGEST_PAUSE = 60_000;
/** Milliseconds for which a provider may send everybody away. */
const LONGEST_REQUESTED_PAUSE = 3_600_000;

/** Whether a provider outside of this process answers. Starts with the belief that it does. */
export function createAvailability({ probe, report }: AvailabilitySettings): Availability {
  let closed = false;
  let away: { readonly cause: unknown; readonly timer: NodeJS.Timeout; readonly probing: AbortController } | undefined;

  function wait(cause: unknown, pause: number, since: number): void {
    // One for each probe, because whoever listens to it may never stop listening.
    const probing = new AbortController();
    const timer = setTimeout(() => {
      probe(probing.signal).then(
        () => {
          away = undefined;
          report('The embedding provider answers again');
        },
        (error: unknown) => {
          if (!closed) wait(error, Math.min(Math.max(SHORTEST_PAUSE, (performance.now() - since) / 10), LONGEST_PAUSE), since);
        },
      );
    }, pause);
    timer.unref();
    away = { cause, timer, probing };
  }

  return {
    status: () => (away || closed ? 'down' : 'ok'),
    require() {
      if (closed) throw new EmbedderUnavailable('The embedding provider is not used any more');
      if (away) throw new EmbedderUnavailable('The embedding provider does not answer', { cause: away.cause });
    },
    fail(error, pause = 0) {
      if (away || closed) return;
      report(`The embedding provider does not answer, and is asked again later: ${error instanceof Error ? error.message : String(error)}`);
      wait(error, Math.min(Math.max(SHORTEST_PAUSE, pause), LONGEST_REQUESTED_PAUSE), performance.now());
    },
    close() {
      closed = true;
      clearTimeout(away?.timer);
      away?.probing.abort();
    },
  };
}
