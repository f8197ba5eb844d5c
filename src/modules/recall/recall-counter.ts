import { deadlineIn } from '../../deadline.ts';

/** Counts how often memories are found, without slowing the search that finds them. */
export interface RecallCounter {
  count(accountId: string, id: string): void;
  /** Memories whose counts are not written yet. */
  waiting(): number;
  /** Writes what was counted. Throws when the database refuses it; the counts are then dropped. */
  flush(): Promise<void>;
}

/** Rows of one transaction: few enough that neither this process nor a writer of these memories waits for it. */
const ROWS_AT_ONCE = 500;

/** Beyond this many memories between two flushes further ones are not counted. */
const MAXIMUM_WAITING = 10_000;

type AddRecalls = (rows: { accountId: string; id: string; recalls: number }[], deadline: ReturnType<typeof deadlineIn>) => Promise<void>;

/** Gathers counts in memory until they are flushed. */
export function createRecallCounter(addRecalls: AddRecalls): RecallCounter {
  let waiting = new Map<string, { accountId: string; id: string; recalls: number }>();
  return {
    count(accountId, id) {
      const row = waiting.get(`${accountId} ${id}`);
      if (row) row.recalls++;
      else if (waiting.size < MAXIMUM_WAITING) waiting.set(`${accountId} ${id}`, { accountId, id, recalls: 1 });
    },
    waiting: () => waiting.size,
    async flush() {
      if (waiting.size === 0) return;
      const rows = [...waiting.values()];
      waiting = new Map();
      for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) await addRecalls(rows.slice(at, at + ROWS_AT_ONCE), deadlineIn(10_000));
    },
  };
}
