import { performance } from 'node:perf_hooks';
import type { Embedder } from '../embedding/embedder.ts';
import { asServiceError } from '../errors.ts';
import type { Database } from '../graph/database.ts';
import type { Metrics } from './metrics.ts';

/** The same database, whose calls are counted and timed. */
export function watchDatabase(database: Database, metrics: Metrics): Database {
  async function timed<T>(mode: string, call: Promise<T>): Promise<T> {
    const startedAt = performance.now();
    let outcome = 'ok';
    try {
      return await call;
    } catch (error) {
      outcome = asServiceError(error).code;
      throw error;
    } finally {
      metrics.observeDatabaseCall(mode, outcome, (performance.now() - startedAt) / 1_000);
    }
  }
  return {
    ...database,
    read: (...call) => timed('read', database.read(...call)),
    write: (...call) => timed('write', database.write(...call)),
    transaction: (...call) => timed('write', database.transaction(...call)),
  };
}

/** The same embedder, whose texts are timed and counted while they wait. */
export function watchEmbedder(embedder: Embedder, metrics: Metrics): Embedder {
  let waiting = 0;
  metrics.gauge('memory_embedding_queue_length', 'Texts that are being embedded or wait for it.', () => waiting);

  async function timed<T>(kind: 'query' | 'passage', call: Promise<T>): Promise<T> {
    const startedAt = performance.now();
    waiting++;
    try {
      return await call;
    } finally {
      waiting--;
      metrics.observeEmbedding(kind, (performance.now() - startedAt) / 1_000);
    }
  }
  return {
    model: embedder.model,
    dimensions: embedder.dimensions,
    embedQuery: (...call) => timed('query', embedder.embedQuery(...call)),
    embedPassage: (...call) => timed('passage', embedder.embedPassage(...call)),
    status: () => embedder.status(),
    close: () => embedder.close(),
  };
}
