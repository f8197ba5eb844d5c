import { Neo4jError } from 'neo4j-driver';
import type { Deadline } from '../../deadline.ts';
import type { Database } from '../../graph/database.ts';

/** What an account used in a month. */
export interface MonthUsage {
  readonly month: string;
  readonly stores: number;
  readonly retrievals: number;
}

/** Retrievals to be added, and how many that this process had set aside are given back unused. */
export interface RetrievalRow {
  readonly accountId: string;
  readonly month: string;
  readonly retrievals: number;
  readonly givenBack: number;
}

/** How many retrievals were set aside now, and how many the month has beside those that this process held before. */
export interface Hold {
  readonly taken: number;
  readonly left: number;
}

/** Milliseconds after which what a process holds and does not ask for again is others' to use. */
export const HELD_FOR = 60_000;
const BLOCK = 10;

/** Counters of use in the graph; a month begins with nothing. */
export function createUsageStore(database: Database) {
  return {
    /** What the account used in these months, in their order. */
    async read(accountId: string, months: readonly string[], deadline: Deadline): Promise<MonthUsage[]> {
      const rows = await database.read(
        `UNWIND $months AS month
         OPTIONAL MATCH (counter:UsageMonth {accountId: $accountId, month: month})
         RETURN month, coalesce(counter.stores, 0) AS stores, coalesce(counter.retrievals, 0) AS retrievals`,
        { accountId, months },
        deadline,
      );
      const found = new Map(rows.map((row) => [row['month'] as string, row as unknown as MonthUsage]));
      return months.map((month) => found.get(month)!);
    },

    /** Adds to the counters, in the order of the rows. `id` names the flush: a repeat of one that was committed adds nothing. */
    async addRetrievals(rows: readonly RetrievalRow[], flush: { id: string; owner: string; now: number }, deadline: Deadline): Promise<void> {
      try {
        await database.write(ADD_RETRIEVALS, { ...flush, rows, heldFor: HELD_FOR }, deadline);
      } catch (error) {
        if (!(error instanceof Neo4jError) || error.code !== 'Neo.ClientError.Schema.ConstraintValidationFailed') throw error;
      }
    },

    /**
     * Sets aside further retrievals of an account for this process, which holds `held` of them: ten, or one when few are left, so
     * that no process keeps the last ones from another. A repeat takes no more.
     */
    async hold(request: { accountId: string; month: string; owner: string; limit: number; held: number }, deadline: Deadline): Promise<Hold> {
      const [row] = await database.write(HOLD, { ...request, heldFor: HELD_FOR, block: BLOCK }, deadline);
      return row as unknown as Hold;
    },

    /** Forgets what processes had set aside that have ended without giving it back. */
    async sweep({ limit }: { limit: number }, deadline: Deadline): Promise<{ finished: boolean }> {
      const [row] = await database.write(
        `MATCH (gone:UsageReservation) WHERE gone.until < timestamp()
         WITH gone LIMIT $limit
         SET gone.lock = true REMOVE gone.lock
         WITH gone WHERE gone.until < timestamp()
         DELETE gone RETURN count(*) AS forgotten`,
        { limit },
        deadline,
      );
      return { finished: (row!['forgotten'] as number) < limit };
    },

    /** Gives back all that this process holds. */
    async release(rows: readonly { accountId: string; month: string }[], owner: string, deadline: Deadline): Promise<void> {
      await database.write(
        `UNWIND $rows AS row
         MATCH (own:UsageReservation {accountId: row.accountId, month: row.month, owner: $owner})
         DELETE own`,
        { rows, owner },
        deadline,
      );
    },
  };
}

export type UsageStore = ReturnType<typeof createUsageStore>;

const COUNTER = `MERGE (counter:UsageMonth {accountId: row.accountId, month: row.month}) ON CREATE SET counter.stores = 0, counter.retrievals = 0
  SET counter.lock = true REMOVE counter.lock`;

export const ADD_RETRIEVALS = `
  CREATE (:Commit {id: $id, at: $now})
  WITH *
  UNWIND $rows AS row
  ${COUNTER}
  SET counter.retrievals = counter.retrievals + row.retrievals
  WITH row
  MATCH (own:UsageReservation {accountId: row.accountId, month: row.month, owner: $owner})
  SET own.left = own.left - row.retrievals - row.givenBack, own.until = timestamp() + $heldFor`;

const HOLD = `
  WITH {accountId: $accountId, month: $month} AS row
  ${COUNTER}
  WITH counter
  CALL () {
    MATCH (other:UsageReservation {accountId: $accountId, month: $month}) WHERE other.owner <> $owner AND other.until < timestamp()
    DELETE other
  }
  CALL () {
    MATCH (other:UsageReservation {accountId: $accountId, month: $month}) WHERE other.owner <> $owner
    RETURN sum(other.left) AS others
  }
  WITH $limit - counter.retrievals - $held AS left, $limit - counter.retrievals - others - $held AS free
  WITH left, CASE WHEN free > 2 * $block THEN $block WHEN free > 0 THEN 1 ELSE 0 END AS taken
  MERGE (own:UsageReservation {accountId: $accountId, month: $month, owner: $owner})
  SET own.left = $held + taken, own.until = timestamp() + $heldFor
  RETURN taken, left`;
