import { v7 as uuid } from 'uuid';
import { deadlineIn } from './deadline.ts';
import type { Embedder } from './embedding/embedder.ts';
import type { Database } from './graph/database.ts';
import { visibilityOf } from './modules/memory/scope.ts';
import { createMemoryStore } from './modules/memory/store.ts';
import { createRecallStore } from './modules/recall/store.ts';

/**
 * Runs the main statements once for an account that does not exist, because Neo4j plans a statement when it first sees it,
 * which would make the first store and the first search take seconds. Stores nothing: the one row is refused for its source.
 */
export async function warmUp(database: Database, embedder: Pick<Embedder, 'embedQuery'>): Promise<void> {
  const accountId = 'warm-up';
  const now = Date.now();
  const deadline = deadlineIn(60_000);
  const memories = createMemoryStore(database);
  const vector = await embedder.embedQuery('warm-up', { signal: deadline.signal });
  const id = uuid();
  const properties = { id, accountId, dedupeKey: id, scope: id, expiresAt: now };
  await memories.storeBatch(
    [{ properties, vector, sourceIds: [id], sourceScopes: null, idempotency: null, storeLimit: null }],
    uuid(),
    now,
    deadline,
  );
  for (const userId of [null, 'warm-up']) {
    const filter = { visibility: visibilityOf(accountId, userId), archived: false };
    await createRecallStore(database).findCandidates({ filter, vector, words: ['warm'], perSource: 1, now }, deadline);
    await memories.findPage({ filter, newestFirst: true, limit: 1, offset: 0, after: null, now }, deadline);
    await memories.count(filter, now, deadline);
  }
}
