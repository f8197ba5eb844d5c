import { LRUCache } from 'lru-cache';
import { type Deadline, deadlineIn } from '../../deadline.ts';

/** Notes when keys are used, without slowing the request that uses one. */
export interface KeyUses {
  note(accountId: string, id: string): void;
  /** Writes what was noted. Throws when the database refuses it; then each key's next use is noted anew. */
  flush(): Promise<void>;
}

export interface KeyUse {
  readonly accountId: string;
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Milliseconds between two times of use that are kept of a key. */
export const USES_APART = 60_000;
const KEYS_REMEMBERED = 10_000;
const ROWS_AT_ONCE = 500;

/** Gathers uses in memory until they are flushed, of each key one a minute. */
export function createKeyUses(write: (uses: KeyUse[], deadline: Deadline) => Promise<void>, now: () => number): KeyUses {
  const noted = new LRUCache<string, true>({ max: KEYS_REMEMBERED, ttl: USES_APART });
  let waiting: KeyUse[] = [];
  return {
    note(accountId, id) {
      if (noted.has(id)) return;
      noted.set(id, true);
      waiting.push({ accountId, id, at: now() });
    },
    async flush() {
      const uses = waiting;
      waiting = [];
      try {
        for (let at = 0; at < uses.length; at += ROWS_AT_ONCE) await write(uses.slice(at, at + ROWS_AT_ONCE), deadlineIn(10_000));
      } catch (error) {
        noted.clear();
        throw error;
      }
    },
  };
}
