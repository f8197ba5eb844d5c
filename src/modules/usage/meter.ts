import { v7 as uuid } from 'uuid';
import { type Deadline, deadlineIn, raceDeadline } from '../../deadline.ts';
import { createSerialQueue } from '../../serial-queue.ts';
import { monthOf } from './month.ts';
import type { Plan } from './plans.ts';
import { hardLimitOf, monthSpent } from './spent.ts';
import { HELD_FOR, type UsageStore } from './store.ts';

/** The retrievals of one request: counted when it is answered. */
export interface Tally {
  /**
   * One retrieval. What this returns runs the pieces of work that it takes, and fails with 429 when the month is spent; it is
   * not counted when a piece fails or finds nothing (null).
   */
  one(deadline: Deadline): <T>(work: () => Promise<T>) => Promise<T>;
  /** The request has been answered, or not. To be called once. */
  settle(answered: boolean): void;
}

/** Counts retrievals without slowing them: gathered in memory, and written by `flush`. */
export interface RetrievalMeter {
  tally(accountId: string, plan: Plan): Tally;
  /** Writes what was counted. Throws while the database is away; nothing is lost by that, and nothing counted twice. */
  flush(): Promise<void>;
  /** The last flush; what this process had set aside becomes free for others. */
  close(): Promise<void>;
}

/** The retrievals of an account in a month, as this process knows them. */
interface Use {
  readonly accountId: string;
  readonly month: string;
  /** Made, and not yet written. */
  counted: number;
  /** Under way. */
  open: number;
  /** Set aside in the database for this process, and not yet used; only with a hard limit. */
  free: number;
  /** When others may have what was set aside, by performance.now(). */
  freeUntil: number;
  /** Whether anything was taken since the last flush. */
  active: boolean;
}

const FLUSH_DEADLINE = 10_000;
const HOLD_DEADLINE = 5_000;

/** With hard limits retrievals are set aside in blocks before they are used, so that several processes together stop exactly. */
export function createRetrievalMeter(store: UsageStore, now: () => number): RetrievalMeter {
  const owner = uuid();
  const uses = new Map<string, Use>();
  // What is set aside is told to the database as a total, so nothing of it may be under way twice.
  const queue = createSerialQueue();
  const asking = new Map<Use, Promise<number>>();
  let unwritten: { id: string; at: number; rows: { use: Use; retrievals: number }[] } | undefined;

  function useOf(accountId: string, month: string): Use {
    const key = `${accountId} ${month}`;
    let use = uses.get(key);
    if (!use) uses.set(key, (use = { accountId, month, counted: 0, open: 0, free: 0, freeUntil: 0, active: true }));
    return use;
  }

  async function take(use: Use, plan: Plan, deadline: Deadline): Promise<void> {
    const limit = hardLimitOf(plan, 'retrievals');
    use.active = true;
    while (limit !== null && !hasFree(use)) {
      let answer = asking.get(use);
      if (!answer) asking.set(use, (answer = queue.run('', () => hold(use, limit)).finally(() => asking.delete(use))));
      if ((await raceDeadline(answer, deadline)) === 0) throw monthSpent(plan, 'retrievals', now());
    }
    if (limit !== null) use.free--;
    use.open++;
  }

  function hasFree(use: Use): boolean {
    if (performance.now() > use.freeUntil) use.free = 0;
    return use.free > 0;
  }

  async function hold(use: Use, limit: number): Promise<number> {
    const { accountId, month, open, counted } = use;
    const freeUntil = performance.now() + HELD_FOR / 2;
    const held = open + counted + use.free;
    const taken = await store.hold({ accountId, month, owner, limit, held }, deadlineIn(HOLD_DEADLINE));
    use.free += taken;
    use.freeUntil = freeUntil;
    return taken;
  }

  /** Moves what was counted into `unwritten`, and lets go of what is set aside for an account that has become quiet. */
  function gather(): void {
    const rows: { use: Use; retrievals: number }[] = [];
    for (const [key, use] of uses) {
      const isLetGo = !use.active && use.free > 0;
      if (isLetGo) use.free = 0;
      if (use.counted > 0 || isLetGo) rows.push({ use, retrievals: use.counted });
      else if (!use.active && use.open === 0) uses.delete(key);
      use.counted = 0;
      use.active = false;
    }
    if (rows.length > 0) unwritten = { id: uuid(), at: now(), rows };
  }

  async function write(): Promise<void> {
    if (!unwritten) return;
    const rows = unwritten.rows.map(({ use, retrievals }) => ({
      accountId: use.accountId,
      month: use.month,
      retrievals,
      held: use.free + use.open + use.counted,
    }));
    await store.addRetrievals(rows, { id: unwritten.id, owner, now: unwritten.at }, deadlineIn(FLUSH_DEADLINE));
    unwritten = undefined;
  }

  const flush = () =>
    queue.run('', async () => {
      // Under its own id until it is known to be written.
      await write();
      gather();
      await write();
    });

  return {
    tally(accountId, plan) {
      const open: Use[] = [];
      let settled = false;

      function end(use: Use, counts: boolean): void {
        use.open--;
        if (counts) use.counted++;
        else if (hardLimitOf(plan, 'retrievals') !== null) use.free++;
      }

      return {
        one(deadline) {
          let taking: Promise<Use> | undefined;
          let failed = false;
          const begin = async () => {
            const use = useOf(accountId, monthOf(now()));
            await take(use, plan, deadline);
            if (settled) end(use, false);
            else open.push(use);
            return use;
          };
          const fail = (use: Use) => {
            if (failed || settled) return;
            failed = true;
            open.splice(open.indexOf(use), 1);
            end(use, false);
          };
          return async (work) => {
            const use = await (taking ??= begin());
            try {
              const result = await work();
              if (result === null) fail(use);
              return result;
            } catch (error) {
              fail(use);
              throw error;
            }
          };
        },
        settle(answered) {
          settled = true;
          for (const use of open) end(use, answered);
        },
      };
    },

    flush,

    async close() {
      await flush();
      const rows = [...uses.values()].filter(({ freeUntil }) => freeUntil > 0).map(({ accountId, month }) => ({ accountId, month }));
      if (rows.length > 0) await store.release(rows, owner, deadlineIn(FLUSH_DEADLINE));
    },
  };
}
