import { setTimeout as delay } from 'node:timers/promises';
import { Neo4jError } from 'neo4j-driver';
import { v7 as uuid } from 'uuid';
import { type Deadline, deadlineIn, deadlinePassed, raceDeadline } from '../../deadline.ts';
import { unavailable } from '../../errors.ts';
import type { MemoryStore } from './store.ts';
import type { StoreOutcome, StoreRow } from './store-batch.ts';

/** How stores are gathered into transactions. */
export interface Batching {
  /** The most rows of one transaction; a larger one is faster a row but holds its locks, and its callers, longer. */
  readonly rows: number;
  /** Transactions under way at once: two keep the database busy while answers travel. */
  readonly underWay: number;
  /** Milliseconds for which a store waits at most, so that others come into its transaction. */
  readonly patience: number;
}

const BATCHING: Batching = { rows: 64, underWay: 2, patience: 50 };
const QUEUE_ROWS = 4_096;
const TRANSACTION_MILLISECONDS = 10_000;
/** Milliseconds after which a transaction keeps no others waiting: its connection may have fallen silent. */
const OVERDUE = 1_000;

interface Waiting {
  readonly row: StoreRow;
  readonly deadline: Deadline;
  /** When it came, by performance.now(). */
  readonly since: number;
  readonly resolve: (outcome: StoreOutcome) => void;
  readonly reject: (error: unknown) => void;
}

export interface MemoryWriter {
  /** Settles after the commit of the row that is coming. Throws what that throws, and 503 when the queue is full or the deadline passed. */
  store(coming: Promise<StoreRow>, deadline: Deadline): Promise<StoreOutcome>;
  /** Settles when nothing is waiting or under way any more. */
  drain(): Promise<void>;
}

/**
 * Gathers stores into transactions, because commits queue on the indexes one by one, and a small one costs nearly as much as
 * a large one. A lone store goes at once. A batch that fails for a reason of its rows is halved until the bad row stands alone.
 */
export function createMemoryWriter(
  store: Pick<MemoryStore, 'storeBatch'>,
  now: () => number = Date.now,
  batching: Batching = BATCHING,
  onCommit: (rows: number) => void = () => undefined,
): MemoryWriter {
  const queue: Waiting[] = [];
  const underWay = new Set<Promise<void>>();
  /** Those of them that others wait for. */
  const timely = new Set<Promise<void>>();
  let impatience: NodeJS.Timeout | undefined;
  /** How many rows are coming: their texts are being embedded. */
  let coming = 0;

  function next(): void {
    while (queue.length > 0 && timely.size < batching.underWay && isWorthATransaction()) {
      const batch = queue.splice(0, batching.rows).filter(isStillWanted);
      if (batch.length === 0) continue;
      const leave = () => {
        timely.delete(running);
        next();
      };
      const overdue = setTimeout(leave, OVERDUE);
      const running = commit(batch).finally(() => {
        clearTimeout(overdue);
        underWay.delete(running);
        leave();
      });
      underWay.add(running);
      timely.add(running);
    }
  }

  /** What comes while a transaction is under way, or while others are coming, waits for them; unless it is many, or has waited. */
  function isWorthATransaction(): boolean {
    clearTimeout(impatience);
    if (queue.length >= batching.rows / 2 || (timely.size === 0 && coming === 0)) return true;
    const left = queue[0]!.since + batching.patience - performance.now();
    if (left <= 0) return true;
    impatience = setTimeout(next, left);
    return false;
  }

  async function commit(batch: readonly Waiting[]): Promise<void> {
    const rows = batch.map(({ row }) => row);
    try {
      const outcomes = await store.storeBatch(rows, uuid(), now(), deadlineIn(TRANSACTION_MILLISECONDS));
      onCommit(batch.length);
      batch.forEach(({ resolve }, index) => resolve(outcomes[index]!));
    } catch (error) {
      if (batch.length === 1 || !isFaultOfRows(error)) return batch.forEach(({ reject }) => reject(error));
      const middle = batch.length >> 1;
      for (const half of [batch.slice(0, middle), batch.slice(middle)]) {
        const wanted = half.filter(isStillWanted);
        if (wanted.length > 0) await commit(wanted);
      }
    }
  }

  return {
    async store(row, deadline) {
      coming++;
      let arrived: StoreRow | undefined;
      try {
        arrived = await row;
      } finally {
        coming--;
        // Those that waited for it need not any more.
        if (!arrived) next();
      }
      if (queue.length >= QUEUE_ROWS) throw unavailable('Too many stores are waiting; try again');
      const stored = new Promise<StoreOutcome>((resolve, reject) =>
        queue.push({ row: arrived, deadline, since: performance.now(), resolve, reject }),
      );
      next();
      return raceDeadline(stored, deadline);
    },
    async drain() {
      while (coming + queue.length + underWay.size > 0) await (underWay.size > 0 ? Promise.all(underWay) : delay(batching.patience));
    },
  };
}

function isStillWanted({ deadline, reject }: Waiting): boolean {
  if (deadline.signal.aborted) reject(deadlinePassed());
  return !deadline.signal.aborted;
}

/**
 * Only an error of the statement itself says that nothing was committed. After a lost connection or a time-out the rows
 * may be stored, and halves under other commit ids would store them twice.
 */
function isFaultOfRows(error: unknown): boolean {
  return error instanceof Neo4jError;
}
