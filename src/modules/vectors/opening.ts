import { setTimeout as delay } from 'node:timers/promises';
import { type Calibration, knownCalibrations, measureCalibration } from '../../embedding/calibration.ts';
import type { Embedder } from '../../embedding/embedder.ts';
import { probes } from '../../embedding/probes.ts';
import { deadlineIn } from '../../deadline.ts';
import { IncompatibleDatabaseError } from '../../graph/migrations.ts';
import type { VectorIndexRecord, VectorStore } from './store.ts';

const LOOK_EVERY = 200;
const REPORT_EVERY = 5_000;

export interface Progress {
  readonly report: (line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Makes sure that the index holds vectors of this model; in a new database makes it. Returns how the model's cosines read.
 * Throws an IncompatibleDatabaseError that says what to do for an index of another model.
 */
export async function openVectorIndex(store: VectorStore, embedder: Embedder, { report, signal }: Progress): Promise<Calibration> {
  let record = await store.readRecord(deadlineIn(30_000));
  if (!record) {
    const calibration = await calibrationOf(embedder, report);
    await store.createRecord({ model: embedder.model, dimensions: embedder.dimensions, calibration }, deadlineIn(30_000));
    record = (await store.readRecord(deadlineIn(30_000)))!;
  }
  requireModel(record, embedder);
  await buildIndex(store, record.current.dimensions, { report, signal });
  return record.current.calibration;
}

/** Makes the index, unless there is one, and settles when it holds every vector; says how far it is when that takes long. */
export async function buildIndex(store: VectorStore, dimensions: number, { report, signal }: Progress): Promise<void> {
  await store.createIndex(dimensions);
  for (let reportedAt = performance.now(); ;) {
    signal.throwIfAborted();
    const { ready, percent } = await store.indexProgress(deadlineIn(30_000));
    if (ready) return;
    await delay(LOOK_EVERY, undefined, { signal });
    if (performance.now() - reportedAt < REPORT_EVERY) continue;
    reportedAt = performance.now();
    report(`Building the vector index: ${Math.floor(percent)} % …`);
  }
}

/** The shipped calibration of a model, or one that is measured on the probes. */
export async function calibrationOf(embedder: Embedder, report: (line: string) => void): Promise<Calibration> {
  const known = knownCalibrations[embedder.model];
  if (known) return known;
  report(`Calibrating the scores for ${embedder.model} on ${4 * probes.length} short texts …`);
  return measureCalibration(embedder, probes);
}

function requireModel({ current, next }: VectorIndexRecord, { model, dimensions }: Embedder): void {
  if (next)
    throw new IncompatibleDatabaseError(
      `The memories are being embedded anew with ${next.model} (${next.dimensions} dimensions), and that is not finished. ` +
        `With the configuration for ${next.model}, run it to its end: npm run reembed`,
    );
  if (current.model !== model || current.dimensions !== dimensions)
    throw new IncompatibleDatabaseError(
      `The memories of this database are embedded with ${current.model} (${current.dimensions} dimensions), and the configuration says ${model} (${dimensions} dimensions). ` +
        'Vectors of different models cannot be compared. Either set EMBEDDING_PROVIDER, EMBEDDING_MODEL and EMBEDDING_DIMENSIONS back, or embed all memories anew: npm run reembed',
    );
}
