import { v7 as uuid } from 'uuid';
import { type Deadline, deadlineIn, raceDeadline } from '../../deadline.ts';
import { rateLimitExceeded } from '../../errors.ts';
import { createSerialQueue } from '../../serial-queue.ts';
import { monthOf } from './month.ts';
import type { Plan } from './plans.ts';
import { hardLimitOf, monthSpent } from './spent.ts';
import { HELD_FOR, type Hold, type UsageStore } from './store.ts';

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
  /** When others may have what was set aside, by performance.now(); 0: nothing ever was. */
  freeUntil: number;
  /** Whether anything was taken since the last flush. */
  active: boolean;
}

/** What one transaction adds, under its own id until it is known to be written. */
interface Flush {
  readonly id: string;
  readonly at: number;
  /** Retrievals, and how many that were set aside are given back. */
  readonly rows: ReadonlyMap<Use, { readonly retrievals: number; readonly givenBack: number }>;
}

const FLUSH_DEADLINE = 5_000;
const HOLD_DEADLINE = 5_000;
/** Accounts of one transaction, which other stores and reads of them wait for. */
const ROWS_AT_ONCE = 20;
/** Milliseconds after which a flush of unknown fate is dropped, because the record of it may be forgotten soon. */
const REPEATED_FOR = 1_800_000;
/** Seconds after which what another process has set aside and does not use is free again. */
const GIVEN_BACK_WITHIN = 2;

/** With hard limits retrievals are set aside in blocks before they are used, so that several processes together stop exactly. */
export function createRetrievalMeter(store: UsageStore, now: () => number): RetrievalMeter {
  const owner = uuid();
  const uses = new Map<string, Use>();
  const queue = createSerialQueue();
  const asking = new Map<Use, Promise<Hold>>();
  let unwritten: Flush[] = [];
  let flushing: Promise<void> = Promise.resolve();
  let waiting: Promise<void> | undefined;

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
      if (!answer) asking.set(use, (answer = hold(use, limit).finally(() => asking.delete(use))));
      const { taken, left } = await raceDeadline(answer, deadline);
      if (taken === 0) throw left > 0 ? allSetAside() : monthSpent(plan, 'retrievals', now());
    }
    if (limit !== null) use.free--;
    use.open++;
  }

  function hasFree(use: Use): boolean {
    if (performance.now() > use.freeUntil) use.free = 0;
    return use.free > 0;
  }

  /** Sets further retrievals aside. The database is told all that this process holds, so what is being written has to be written first. */
  async function hold(use: Use, limit: number): Promise<Hold> {
    if (unwrittenOf(use) > 0) await flushing.catch(() => undefined);
    const { accountId, month, open, counted, free } = use;
    const freeUntil = performance.now() + HELD_FOR / 2;
    const held = open + counted + free + unwrittenOf(use);
    const answer = await store.hold({ accountId, month, owner, limit, held }, deadlineIn(HOLD_DEADLINE));
    use.free += answer.taken;
    use.freeUntil = freeUntil;
    return answer;
  }

  function unwrittenOf(use: Use): number {
    return unwritten.reduce((sum, { rows }) => sum + (rows.get(use)?.retrievals ?? 0) + (rows.get(use)?.givenBack ?? 0), 0);
  }

  /** Moves what was counted into `unwritten`, and lets go of what is set aside for an account that has become quiet. */
  function gather(): void {
    const rows: [Use, { retrievals: number; givenBack: number }][] = [];
    for (const [key, use] of uses) {
      // What is being set aside for it would not fit what is written meanwhile.
      if (asking.has(use)) continue;
      const givenBack = use.active ? 0 : use.free;
      if (use.counted + givenBack > 0) rows.push([use, { retrievals: use.counted, givenBack }]);
      else if (!use.active && use.open === 0) uses.delete(key);
      use.counted = 0;
      use.free -= givenBack;
      use.active = false;
    }
    // In the order in which stores lock the counters: those with a limit first.
    rows.sort(([a], [b]) => Number(b.freeUntil > 0) - Number(a.freeUntil > 0) || (a.accountId < b.accountId ? -1 : 1));
    for (let from = 0; from < rows.length; from += ROWS_AT_ONCE)
      unwritten.push({ id: uuid(), at: now(), rows: new Map(rows.slice(from, from + ROWS_AT_ONCE)) });
  }

  async function write(): Promise<void> {
    unwritten = unwritten.filter(({ at }) => now() - at < REPEATED_FOR);
    for (const flush of [...unwritten]) {
      const rows = [...flush.rows].map(([{ accountId, month }, row]) => ({ accountId, month, ...row }));
      await store.addRetrievals(rows, { id: flush.id, owner, now: flush.at }, deadlineIn(FLUSH_DEADLINE));
      unwritten = unwritten.filter((other) => other !== flush);
    }
  }

  /** Those who ask while it waits for its turn share it. */
  function flush(): Promise<void> {
    return (waiting ??= queue.run('', () => {
      waiting = undefined;
      return (flushing = writeAll());
    }));
  }

  async function writeAll(): Promise<void> {
    await write();
    gather();
    await write();
  }

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

/** The 429 of an account whose last retrievals other requests may still use. */
function allSetAside(): Error {
  return rateLimitExceeded("The month's last retrievals are set aside for other requests; what they don't use is free again soon", GIVEN_BACK_WITHIN);
}
