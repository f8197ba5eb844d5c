import { deadlineIn } from '../../deadline.ts';
import type { Embedder, PassageVector } from '../../embedding/embedder.ts';
import { EmbedderUnavailable } from '../../embedding/embedder.ts';
import type { Embedded, Unembedded, VectorStore } from './store.ts';

const TAKEN_AT_ONCE = 16;
const STATEMENT_MILLISECONDS = 30_000;

export interface EmbeddingQueue {
  /** Embeds what waits for it, until nothing is left, the model is away, or `isStopping` says so. Returns how many it embedded. */
  work(isStopping: () => boolean): Promise<number>;
}

/** The memories that were stored while the model was away. They wait in the graph, so they outlast a restart. */
export function createEmbeddingQueue(store: Pick<VectorStore, 'takeUnembedded' | 'giveBack' | 'saveVectors'>, embedder: Embedder): EmbeddingQueue {
  return {
    async work(isStopping) {
      let count = 0;
      while (embedder.status() === 'ok' && !isStopping()) {
        const taken = await store.takeUnembedded(TAKEN_AT_ONCE, deadlineIn(STATEMENT_MILLISECONDS));
        if (taken.length === 0) break;
        const { embedded, failed } = await embedAll(taken, embedder);
        if (embedded.length > 0) await store.saveVectors(embedded, embedder.model, deadlineIn(STATEMENT_MILLISECONDS));
        // What the model refuses stays away for a while; what it could not look at, because it went away, is nobody's fault.
        if (failed.length > 0 && embedder.status() === 'down') await store.giveBack(failed, deadlineIn(STATEMENT_MILLISECONDS));
        count += embedded.length;
      }
      return count;
    },
  };
}

/** Embeds the memories' texts; those that the model does not take are `failed`. */
export async function embedAll(memories: readonly Unembedded[], embedder: Embedder): Promise<{ embedded: Embedded[]; failed: Unembedded[] }> {
  const outcomes = await Promise.all(memories.map((memory) => embedder.embedPassage(memory.content, {}).catch(ifUnavailable)));
  const embedded: Embedded[] = [];
  const failed: Unembedded[] = [];
  memories.forEach((memory, at) => {
    const outcome = outcomes[at];
    if (outcome) embedded.push({ ...memory, ...outcome });
    else failed.push(memory);
  });
  return { embedded, failed };
}

function ifUnavailable(error: unknown): PassageVector | null {
  if (error instanceof EmbedderUnavailable) return null;
  throw error;
}
