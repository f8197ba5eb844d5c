import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { LRUCache } from 'lru-cache';
import type { EmbedOptions, Embedder } from './embedder.ts';

type Embed<Vector> = (text: string, options: EmbedOptions) => Promise<Vector>;

interface Flight<Vector> {
  result: Promise<Vector>;
  callers: number;
  stop: AbortController;
}

/**
 * The same embedder, which remembers the last `entries` queries and as many passages (about 1.6 KB each for 384 dimensions), and computes a text
 * once for all who ask for it at the same time.
 */
export function withCache(embedder: Embedder, { entries = 5_000 }: { entries?: number } = {}): Embedder {
  return {
    model: embedder.model,
    dimensions: embedder.dimensions,
    embedQuery: remember(entries, (text, options) => embedder.embedQuery(text, options)),
    embedPassage: remember(entries, (text, options) => embedder.embedPassage(text, options)),
    status: () => embedder.status(),
    close: () => embedder.close(),
  };
}

function remember<Vector extends object>(entries: number, embed: Embed<Vector>): Embed<Vector> {
  const known = new LRUCache<string, Vector>({ max: entries });
  const flights = new Map<string, Flight<Vector>>();

  function depart(key: string, text: string): Flight<Vector> {
    const stop = new AbortController();
    setMaxListeners(0, stop.signal); // Each window of a long text listens to it.
    const result = embed(text, { signal: stop.signal });
    const flight: Flight<Vector> = { result, callers: 0, stop };
    flights.set(key, flight);
    return flight;
  }

  return async (text, { signal }) => {
    signal?.throwIfAborted();
    const key = createHash('sha256').update(text, 'utf16le').digest('base64');
    const found = known.get(key);
    if (found) return found;
    const flight = flights.get(key) ?? depart(key, text);
    flight.callers++;
    try {
      const vector = await unlessAborted(flight.result, signal);
      known.set(key, vector);
      return vector;
    } finally {
      // The last caller to leave, answered or not, ends the flight; an aborted one must not take others on board.
      if (--flight.callers === 0) {
        flights.delete(key);
        flight.stop.abort();
      }
    }
  };
}

function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (!signal) return promise;
  let abort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
  });
  return Promise.race([promise, aborted]).finally(() => abort && signal.removeEventListener('abort', abort));
}
