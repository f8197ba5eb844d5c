import { monthOf } from '../usage/month.ts';
import { type Idempotency, KEYS_KEPT } from './idempotency.ts';

/** A memory to be written: every property of its node but the vector. */
export interface MemoryRow {
  readonly id: string;
  readonly accountId: string;
  readonly dedupeKey: string;
  readonly scope: string;
  readonly expiresAt: number;
  readonly [property: string]: unknown;
}

export interface StoreRow {
  readonly properties: MemoryRow;
  /** Null: the memory is embedded later. */
  readonly vector: Float32Array | null;
  readonly sourceIds: readonly string[];
  /** Where the sources must be visible; null: in the whole account. */
  readonly sourceScopes: readonly string[] | null;
  /** Null: a repeat of the request is a request of its own. */
  readonly idempotency: Idempotency | null;
  /** How many stores the account may have in the month; null: any number. */
  readonly storeLimit: number | null;
}

/** What an earlier request under the same key had stored, or found to be there. */
export interface Stored {
  readonly id: string;
  readonly stored: boolean;
}

/**
 * What became of a row: stored; already there under another id; answered as its first request was; or refused, because
 * sources are not visible, the key belongs to another request, or the month is spent.
 */
export type StoreOutcome =
  (Stored & { readonly replayed: boolean }) | { readonly missingSources: readonly string[] } | { readonly refused: 'conflict' | 'spent' };

// Results as they are kept: a memory's id, or one of these signs and more.
const REPLAYED = '=';
const MISSING = '!';
const CONFLICT = '#';
const SPENT = '~';

// The Commit comes first: on a repeat of a committed transaction its uniqueness fails before anything is applied.
// Then locks, each kind in its order: the counters that decide whether a row may be stored, the idempotency keys, and the
// sources, of which one could otherwise be erased before the relation to it is made. The counters that only count come last,
// because every other store of the account waits for them.
// An expired memory that still holds the dedupe key is locked, looked at again and made to give it up.
export const STORE_BATCH = `
  CREATE (commit:Commit {id: $commitId, at: $now})
  WITH commit
  CALL () {
    UNWIND $limited AS accountId
    MERGE (counter:UsageMonth {accountId: accountId, month: $month}) ON CREATE SET counter.stores = 0, counter.retrievals = 0
    SET counter.lock = true REMOVE counter.lock
    RETURN count(*) AS counters
  }
  CALL () {
    UNWIND $keys AS given
    MERGE (key:IdempotencyKey {id: given.id}) ON CREATE SET key.accountId = given.accountId, key.at = $now
    SET key.lock = true REMOVE key.lock
    FOREACH (old IN CASE WHEN key.at <= $keysBefore THEN [key] ELSE [] END | SET old.at = $now REMOVE old.fingerprint, old.result)
    RETURN count(*) AS keys
  }
  CALL () {
    UNWIND $rows AS row
    UNWIND row.sourceIds AS sourceId
    WITH DISTINCT row.properties.accountId AS accountId, sourceId ORDER BY accountId, sourceId
    MATCH (source:Memory {accountId: accountId, id: sourceId})
    SET source.lock = true REMOVE source.lock
    RETURN count(*) AS locked
  }
  UNWIND $rows AS row
  CALL (row) {
    UNWIND CASE size(row.sourceIds) WHEN 0 THEN [null] ELSE range(0, size(row.sourceIds) - 1) END AS position
    OPTIONAL MATCH (source:Memory {accountId: row.properties.accountId, id: row.sourceIds[position]})
      WHERE (row.sourceScopes IS NULL OR source.scope IN row.sourceScopes) AND source.expiresAt > $now
    RETURN collect(source) AS sources, collect(CASE WHEN source IS NULL THEN position END) AS missing
  }
  CALL (row, sources, missing) {
    OPTIONAL MATCH (key:IdempotencyKey {id: row.key})
    WITH row, sources, key, CASE
        WHEN key.fingerprint = row.fingerprint THEN '${REPLAYED}' + key.result
        WHEN key.fingerprint IS NOT NULL THEN '${CONFLICT}'
        WHEN size(missing) > 0 THEN '${MISSING}' + reduce(list = '', position IN missing | list + ' ' + position)
      END AS refusal
    OPTIONAL CALL (row, sources, refusal) {
      WITH row, sources WHERE refusal IS NULL
      OPTIONAL MATCH (old:Memory {dedupeKey: row.properties.dedupeKey})
      SET old.lock = true REMOVE old.lock
      WITH row, sources, old
      FOREACH (expired IN CASE WHEN old.expiresAt <= $now THEN [old] ELSE [] END | REMOVE expired.dedupeKey)
      WITH row, sources, old.expiresAt > $now AS there
      OPTIONAL MATCH (counter:UsageMonth {accountId: row.properties.accountId, month: $month}) WHERE row.storeLimit IS NOT NULL
      WITH row, sources, counter WHERE there OR counter IS NULL OR counter.stores < row.storeLimit
      MERGE (m:Memory {dedupeKey: row.properties.dedupeKey})
        ON CREATE SET m = row.properties
      WITH row, sources, counter, m, m.id = row.properties.id AS stored
      FOREACH (counting IN CASE WHEN stored AND counter IS NOT NULL THEN [counter] ELSE [] END | SET counting.stores = counting.stores + 1)
      FOREACH (_ IN CASE WHEN NOT stored AND m.expiryDefaulted AND row.properties.expiryDefaulted AND row.properties.expiresAt > m.expiresAt THEN [1] ELSE [] END | SET m.expiresAt = row.properties.expiresAt)
      FOREACH (source IN CASE WHEN stored THEN sources ELSE [] END | CREATE (m)-[:DERIVED_FROM]->(source))
      FOREACH (_ IN CASE WHEN stored AND row.vector IS NULL THEN [1] ELSE [] END | SET m:Unembedded, m.embedAfter = 0)
      CALL (row, m, stored) {
        WITH row, m, stored WHERE stored AND row.vector IS NOT NULL
        CALL db.create.setNodeVectorProperty(m, 'embedding', row.vector)
      }
      RETURN m.id AS id, stored
    }
    FOREACH (used IN CASE WHEN id IS NULL OR key IS NULL THEN [] ELSE [key] END |
      SET used.at = $now, used.fingerprint = row.fingerprint, used.result = CASE WHEN stored THEN '+' ELSE '-' END + id)
    RETURN coalesce(refusal, id, '${SPENT}') AS result
  }
  WITH commit, row, result ORDER BY row.index
  WITH commit, collect(result) AS results,
    collect(CASE WHEN result = row.properties.id AND row.storeLimit IS NULL THEN row.properties.accountId END) AS counted
  CALL (counted) {
    UNWIND counted AS accountId
    WITH accountId, count(*) AS stores ORDER BY accountId
    MERGE (counter:UsageMonth {accountId: accountId, month: $month}) ON CREATE SET counter.stores = 0, counter.retrievals = 0
    SET counter.lock = true REMOVE counter.lock
    SET counter.stores = counter.stores + stores
  }
  CALL () {
    UNWIND $keys AS given
    MATCH (unused:IdempotencyKey {id: given.id}) WHERE unused.fingerprint IS NULL
    DELETE unused
  }
  SET commit.results = results
  RETURN results`;

/** The parameters of STORE_BATCH. Everything that is locked comes sorted. */
export function batchParameters(rows: readonly StoreRow[], commitId: string, now: number) {
  const keys = new Map(
    rows.flatMap(({ idempotency, properties: { accountId } }) => (idempotency ? [[idempotency.id, { id: idempotency.id, accountId }]] : [])),
  );
  const limited = new Set(rows.filter(({ storeLimit }) => storeLimit !== null).map(({ properties }) => properties.accountId));
  return {
    commitId,
    now,
    month: monthOf(now),
    limited: [...limited].sort(),
    keys: [...keys.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
    keysBefore: now - KEYS_KEPT,
    rows: rows
      .map(({ idempotency, ...row }, index) => ({ ...row, key: idempotency?.id ?? null, fingerprint: idempotency?.fingerprint ?? null, index }))
      .sort((a, b) => (a.properties.dedupeKey < b.properties.dedupeKey ? -1 : 1)),
  };
}

/** Reads what the statement says of a row. */
export function parseOutcome(result: string, row: StoreRow): StoreOutcome {
  switch (result[0]) {
    case REPLAYED:
      return { ...parseStored(result.slice(1)), replayed: true };
    case MISSING:
      return {
        missingSources: result
          .split(' ')
          .slice(1)
          .map((position) => row.sourceIds[Number(position)]!),
      };
    case CONFLICT:
      return { refused: 'conflict' };
    case SPENT:
      return { refused: 'spent' };
    default:
      return { id: result, stored: result === row.properties.id, replayed: false };
  }
}

/** Reads what an idempotency key keeps. */
export function parseStored(result: string): Stored {
  return { id: result.slice(1), stored: result.startsWith('+') };
}
