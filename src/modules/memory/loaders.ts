import DataLoader from 'dataloader';
import type { Memory, MemoryVersion } from './model.ts';
import type { MemoryService } from './service.ts';

/** A memory as a request for this user, or for the whole account, asks for it. */
export interface MemoryKey {
  readonly id: string;
  readonly userId: string | null;
}

/** How many of a memory's versions are asked for. */
export interface HistoryKey {
  readonly id: string;
  readonly limit: number;
}

export interface MemoryLoaders {
  /** Null when the caller sees none. What one tick asks for is read in one statement a user. */
  readonly memory: DataLoader<MemoryKey, Memory | null, string>;
  /** The versions of a memory that the caller has been shown. What one tick asks for is read in one statement. */
  readonly history: DataLoader<HistoryKey, MemoryVersion[]>;
}

/** Loaders for one request. */
export function createMemoryLoaders(memories: MemoryService): MemoryLoaders {
  const load = async (keys: readonly MemoryKey[]): Promise<(Memory | null)[]> => {
    const userIds = [...new Set(keys.map(({ userId }) => userId))];
    const idsOf = (user: string | null) => keys.filter(({ userId }) => userId === user).map(({ id }) => id);
    const found = new Map(await Promise.all(userIds.map(async (userId) => [userId, await memories.findMany(idsOf(userId), userId)] as const)));
    return keys.map(({ id, userId }) => found.get(userId)?.get(id) ?? null);
  };
  const loadHistory = async (keys: readonly HistoryKey[]): Promise<MemoryVersion[][]> => {
    const found = await memories.findVersions(
      keys.map(({ id }) => id),
      Math.max(...keys.map(({ limit }) => limit)),
    );
    return keys.map(({ id, limit }) => (found.get(id) ?? []).slice(0, limit));
  };
  return {
    memory: new DataLoader(load, { maxBatchSize: 1_000, cacheKeyFn: ({ id, userId }) => JSON.stringify([userId, id]) }),
    // An earlier mutation of the same document may have added a version, so only what is asked for at once is shared.
    history: new DataLoader(loadHistory, { maxBatchSize: 1_000, cache: false }),
  };
}
