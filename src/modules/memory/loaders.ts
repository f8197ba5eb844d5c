import DataLoader from 'dataloader';
import type { Memory } from './model.ts';
import type { MemoryService } from './service.ts';

/** A memory as a request for this user, or for the whole account, asks for it. */
export interface MemoryKey {
  readonly id: string;
  readonly userId: string | null;
}

export interface MemoryLoaders {
  /** Null when the caller sees none. What one tick asks for is read in one statement a user. */
  readonly memory: DataLoader<MemoryKey, Memory | null, string>;
}

/** Loaders for one request. */
export function createMemoryLoaders(memories: MemoryService): MemoryLoaders {
  const load = async (keys: readonly MemoryKey[]): Promise<(Memory | null)[]> => {
    const userIds = [...new Set(keys.map(({ userId }) => userId))];
    const idsOf = (user: string | null) => keys.filter(({ userId }) => userId === user).map(({ id }) => id);
    const found = new Map(await Promise.all(userIds.map(async (userId) => [userId, await memories.findMany(idsOf(userId), userId)] as const)));
    return keys.map(({ id, userId }) => found.get(userId)?.get(id) ?? null);
  };
  return { memory: new DataLoader(load, { maxBatchSize: 1_000, cacheKeyFn: ({ id, userId }) => JSON.stringify([userId, id]) }) };
}
