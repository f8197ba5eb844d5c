import DataLoader from 'dataloader';
import type { Memory } from './model.ts';
import type { MemoryService } from './service.ts';

export interface MemoryLoaders {
  /** A memory by id, null when the caller sees none; all of one tick in one statement. */
  readonly memory: DataLoader<string, Memory | null>;
}

export function createMemoryLoaders(memories: MemoryService): MemoryLoaders {
  return { memory: new DataLoader((ids) => memories.findMany(ids), { maxBatchSize: 1_000 }) };
}
