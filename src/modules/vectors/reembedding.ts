import { setTimeout as delay } from 'node:timers/promises';
import { deadlineIn } from '../../deadline.ts';
import type { Embedder } from '../../embedding/embedder.ts';
import { embedAll } from './embedding-queue.ts';
import { buildIndex, calibrationOf } from './opening.ts';
import type { Place, Unembedded, VectorStore } from './store.ts';

export interface ReembeddingOptions {
  readonly store: VectorStore;
  /** Of the model that the memories shall have. */
  readonly embedder: Embedder;
  readonly report: (line: string) => void;
  readonly signal: AbortSignal;
}

const PAGE = 64;
const REPORT_EVERY = 5_000;
const STATEMENT_MILLISECONDS = 60_000;
/** Milliseconds for which a model that is away is waited for. */
const PATIENCE = 300_000;

/**
 * Embeds every memory anew with another model, page by page, each committed: broken off, it goes on from there. The index is
 * built when all are done, and only then does the database belong to the new model.
 * Returns how many memories it embedded; null when the database has that model already.
 * @throws Error when the model doesn't answer for five minutes, or refuses a text; the signal's reason
 */
export async function reembed({ store, embedder, report, signal }: ReembeddingOptions): Promise<number | null> {
  const { model, dimensions } = embedder;
  const record = await store.readRecord(deadlineIn(STATEMENT_MILLISECONDS));
  if (!record) return null;
  const { current, next } = record;
  if (!next && current.model === model && current.dimensions === dimensions) return null;
  if (next?.model === model && next.dimensions === dimensions) report(`Going on with ${model} (${dimensions} dimensions)`);
  else {
    report(`From ${current.model} (${current.dimensions} dimensions) to ${model} (${dimensions} dimensions)`);
    await store.noteNext({ model, dimensions, calibration: await calibrationOf(embedder, report) }, deadlineIn(STATEMENT_MILLISECONDS));
  }
  await store.dropIndex();
  const count = await embedAllMemories({ store, embedder, report, signal });
  report('Building the vector index …');
  await buildIndex(store, dimensions, { report, signal });
  await store.adoptNext(deadlineIn(STATEMENT_MILLISECONDS));
  return count;
}

async function embedAllMemories({ store, embedder, report, signal }: ReembeddingOptions): Promise<number> {
  const { model, dimensions } = embedder;
  const total = await store.countMemories(deadlineIn(STATEMENT_MILLISECONDS));
  const before = await store.countEmbedded({ model, dimensions }, deadlineIn(STATEMENT_MILLISECONDS));
  const startedAt = performance.now();
  let reportedAt = startedAt;
  let count = 0;
  let after: Place | null = null;
  for (;;) {
    signal.throwIfAborted();
    const page: Unembedded[] = await store.findOfOtherModels({ model, dimensions, after, limit: PAGE }, deadlineIn(STATEMENT_MILLISECONDS));
    const last = page.at(-1);
    // Once more from the start, for what was stored behind this walk.
    if (!last && after === null) break;
    if (!last) {
      after = null;
      continue;
    }
    await embedPage(page, { store, embedder, report, signal });
    count += page.length;
    after = last;
    if (performance.now() - reportedAt > REPORT_EVERY) {
      reportedAt = performance.now();
      report(progress(before + count, total, count / ((reportedAt - startedAt) / 1_000)));
    }
  }
  report(`${count} memories embedded`);
  return count;
}

/** Waits for a model that went away, and commits what it gave. */
async function embedPage(page: readonly Unembedded[], { store, embedder, report, signal }: ReembeddingOptions): Promise<void> {
  const startedAt = performance.now();
  for (let waiting = page; ;) {
    const { embedded, failed } = await embedAll(waiting, embedder);
    if (embedded.length > 0) await store.saveVectors(embedded, embedder.model, deadlineIn(STATEMENT_MILLISECONDS));
    if (failed.length === 0) return;
    signal.throwIfAborted();
    if (embedder.status() === 'ok' && embedded.length === 0)
      throw new Error(
        `${embedder.model} refuses the text of memory ${failed[0]!.id}. Change or delete it with the service on the old model, or take another model.`,
      );
    if (performance.now() - startedAt > PATIENCE)
      throw new Error(`${embedder.model} does not answer, at memory ${failed[0]!.id}. What was embedded is kept: run the command again to go on.`);
    report('The model does not answer; waiting …');
    await delay(REPORT_EVERY, undefined, { signal });
    waiting = failed;
  }
}

function progress(done: number, total: number, perSecond: number): string {
  const left = Math.ceil(Math.max(0, total - done) / Math.max(perSecond, 0.001) / 60);
  const share = total === 0 ? 100 : Math.floor((100 * done) / total);
  return `${done.toLocaleString('en')} of ${total.toLocaleString('en')} memories (${share} %), ${perSecond.toFixed(0)} a second, about ${left} min left`;
}
