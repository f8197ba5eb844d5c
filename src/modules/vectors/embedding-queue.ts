import { deadlineIn } from '../../deadline.ts';
import type { Embedder, PassageVector } from '../../embedding/embedder.ts';
import { EmbedderBusy, EmbedderUnavailable } from '../../embedding/embedder.ts';
import type { Embedded, Unembedded, VectorStore } from './store.ts';

const TAKEN_AT_ONCE = 16;
const CHARACTERS_AT_ONCE = 100_000;
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
        if (failed.length > 0) await store.giveBack(failed, deadlineIn(STATEMENT_MILLISECONDS));
        count += embedded.length;
      }
      return count;
    },
  };
}

/** Embeds the memories' texts, so many at once that they don't fill the model's queue; those that it does not take are `failed`. */
export async function embedAll(memories: readonly Unembedded[], embedder: Embedder): Promise<{ embedded: Embedded[]; failed: Unembedded[] }> {
  const embedded: Embedded[] = [];
  const failed: Unembedded[] = [];
  for (const group of groupsOf(memories)) {
    const outcomes = await Promise.all(group.map((memory) => embedder.embedPassage(memory.content, {}).catch(ifNotTaken)));
    group.forEach((memory, at) => {
      const outcome = outcomes[at];
      if (outcome) embedded.push({ ...memory, ...outcome });
      else failed.push(memory);
    });
  }
  return { embedded, failed };
}

/** Memories of CHARACTERS_AT_ONCE together, or a single longer one. */
function groupsOf(memories: readonly Unembedded[]): Unembedded[][] {
  const groups: Unembedded[][] = [];
  let characters = Infinity;
  for (const memory of memories) {
    characters += memory.content.length;
    if (characters > CHARACTERS_AT_ONCE) {
      groups.push([]);
      characters = memory.content.length;
    }
    groups.at(-1)!.push(memory);
  }
  return groups;
}

function ifNotTaken(error: unknown): PassageVector | null {
  if (error instanceof EmbedderUnavailable || error instanceof EmbedderBusy) return null;
  throw error;
}
