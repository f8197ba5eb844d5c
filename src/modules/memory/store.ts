import { Neo4jError } from 'neo4j-driver';
import type { Deadline } from '../../deadline.ts';
import type { Database, Row } from '../../graph/database.ts';
import type { AuditRecord } from '../access/audit.ts';
import { append, HEAD, isRecorded, LOCK_HEAD } from '../access/audit-log.ts';
import { conditionsOf, type MemoryFilter } from './filter.ts';
import { isWhole, MEMORY_VALUES, type Memory, type MemoryVersion, parseMemory, isKept, parseVersion, versionProperties } from './model.ts';
import type { Visibility } from './scope.ts';
import { type Idempotency, KEYS_KEPT } from './idempotency.ts';
import { batchParameters, parseOutcome, parseStored, STORE_BATCH, type Stored, type StoreOutcome, type StoreRow } from './store-batch.ts';

/** The place in a list after which the next page begins. */
export interface Position {
  readonly createdAt: number;
  readonly id: string;
}

export interface PageRequest {
  readonly filter: MemoryFilter;
  readonly newestFirst: boolean;
  readonly limit: number;
  readonly offset: number;
  readonly after: Position | null;
  readonly now: number;
}

/** The state of a memory inside the transaction that changes it. */
export interface LockedMemory {
  readonly memory: Memory;
  readonly scope: string;
  readonly dedupeKey: string | null;
  readonly expiryDefaulted: boolean;
}

export interface Change {
  /** Properties to set; null removes one. */
  readonly properties: Row;
  /** Null: the memory is embedded later, and found by its words until then. */
  readonly vector: Float32Array | 'kept' | null;
  /** The dedupe key that the memory should have, if no other live memory has it. */
  readonly dedupeKey: string | null;
}

const KEPT_VERSIONS = 100;
/** Neo4j reads committed data without locking, so whatever is checked before a write is locked first, and checked after. */
const LOCK = 'SET m.lock = true REMOVE m.lock WITH m';
// Without the hint the planner may walk the index on expiresAt, which holds every account's memories.
const BY_ACCOUNT = 'USING INDEX m:Memory(accountId, createdAt, id)';
const BY_SCOPE = 'USING INDEX m:Memory(scope, createdAt, id)';
const VISIBLE = 'm.accountId = $accountId AND ($scopes IS NULL OR m.scope IN $scopes) AND m.expiresAt > $now';

/** The memories in the graph: every statement of this module. */
export function createMemoryStore(database: Database) {
  return {
    /**
     * Stores the rows in one transaction; outcomes in the order of the rows. `commitId` names the write: a repeat of one
     * that had committed returns its outcomes and applies nothing.
     */
    async storeBatch(rows: readonly StoreRow[], commitId: string, now: number, deadline: Deadline): Promise<StoreOutcome[]> {
      try {
        const [row] = await database.write(STORE_BATCH, batchParameters(rows, commitId, now), deadline);
        return (row!['results'] as string[]).map((result, index) => parseOutcome(result, rows[index]!));
      } catch (error) {
        const results = isConstraintViolation(error) ? await findCommit(commitId, deadline) : null;
        if (results === null) throw error;
        return results.map((result, index) => parseOutcome(result, rows[index]!));
      }
    },

    /** What the first request under that key did, null when there was none, or `conflict` when it was another request. */
    async findReplay(
      { accountId, idempotency, now }: { accountId: string; idempotency: Idempotency; now: number },
      deadline: Deadline,
    ): Promise<Stored | 'conflict' | null> {
      // In write mode, because a reading member of a cluster may not have the commit yet.
      const [row] = await database.write(
        `MATCH (key:IdempotencyKey {id: $id, accountId: $accountId}) WHERE key.at > $keysBefore AND key.fingerprint IS NOT NULL
         RETURN key.fingerprint AS fingerprint, key.result AS result`,
        { id: idempotency.id, accountId, keysBefore: now - KEYS_KEPT },
        deadline,
      );
      if (!row) return null;
      return row['fingerprint'] === idempotency.fingerprint ? parseStored(row['result'] as string) : 'conflict';
    },

    /** Those of the ids that are visible, in no order. */
    async findMany(ids: readonly string[], visibility: Visibility, now: number, deadline: Deadline): Promise<Memory[]> {
      const rows = await database.read(
        `UNWIND $ids AS id
         MATCH (m:Memory {accountId: $accountId, id: id}) WHERE ${VISIBLE}
         RETURN ${MEMORY_VALUES} AS m`,
        { ids, ...visibility, now },
        deadline,
      );
      return rows.filter((row) => isWhole(row['m'])).map((row) => parseMemory(row['m']));
    },

    /** What the memories of these ids were before each of their last `limit` changes, the latest first; those that are not visible are left out. */
    async findVersions(
      { ids, visibility, limit, now }: { ids: readonly string[]; visibility: Visibility; limit: number; now: number },
      deadline: Deadline,
    ): Promise<Map<string, MemoryVersion[]>> {
      const rows = await database.read(
        `UNWIND $ids AS id
         MATCH (m:Memory {accountId: $accountId, id: id}) WHERE ${VISIBLE}
         CALL (m) {
           MATCH (m)-[:HAS_VERSION]->(v:MemoryVersion)
           WITH v ORDER BY v.version DESC LIMIT $limit
           RETURN collect(properties(v)) AS versions
         }
         RETURN id, versions`,
        { ids, ...visibility, limit, now },
        deadline,
      );
      return new Map(rows.map((row) => [row['id'] as string, (row['versions'] as unknown[]).filter(isKept).map(parseVersion)]));
    },

    /** That version of the memory; null when it is not kept, or the memory not visible. */
    async findVersion(
      { id, visibility, version, now }: { id: string; visibility: Visibility; version: number; now: number },
      deadline: Deadline,
    ): Promise<MemoryVersion | null> {
      const [row] = await database.read(
        `MATCH (m:Memory {accountId: $accountId, id: $id})-[:HAS_VERSION]->(v:MemoryVersion {version: $version}) WHERE ${VISIBLE}
         RETURN properties(v) AS version`,
        { id, ...visibility, version, now },
        deadline,
      );
      return row && isKept(row['version']) ? parseVersion(row['version']) : null;
    },

    /** One page of memories by time of storing, then id. */
    async findPage(request: PageRequest, deadline: Deadline): Promise<Memory[]> {
      const rows = await database.read(pageStatement(request), pageParameters(request), deadline);
      // Without the one that was erased meanwhile the page would be too short, and pass for the last.
      if (!rows.every((row) => isWhole(row['m']))) return this.findPage(request, deadline);
      return rows.map((row) => parseMemory(row['m']));
    },

    /** How many memories the filter leaves. */
    async count(filter: MemoryFilter, now: number, deadline: Deadline): Promise<number> {
      const { indexed, rest, parameters } = conditionsOf(filter);
      const [row] = await database.read(
        `MATCH (m:Memory) ${filter.visibility.scopes ? BY_SCOPE : BY_ACCOUNT}
         WHERE ${[...indexed, ...rest, 'm.createdAt >= 0 AND m.id IS NOT NULL'].join(' AND ')} RETURN count(m) AS count`,
        { ...parameters, now },
        deadline,
      );
      return row!['count'] as number;
    },

    /**
     * Locks the memory, lets `change` decide on what it finds there, and commits the outcome with the version before.
     * Null when there is no such memory. `change` may run more than once; null from it leaves the memory as it is.
     */
    update(
      { id, visibility, commitId, now }: { id: string; visibility: Visibility; commitId: string; now: number },
      change: (locked: LockedMemory) => Change | null,
      deadline: Deadline,
    ): Promise<{ version: number; updated: boolean } | null> {
      return database.transaction(async (run) => {
        const [found] = await run(LOCK_FOR_UPDATE, { id, ...visibility, commitId, now });
        if (!found) {
          // A repeat doesn't see a memory that its first try took out of the caller's sight.
          const [commit] = await run('MATCH (c:Commit {id: $commitId}) RETURN c.version AS version', { commitId });
          return commit ? { version: commit['version'] as number, updated: true } : null;
        }
        if (found['committedVersion'] != null) return { version: found['committedVersion'] as number, updated: true };
        const locked: LockedMemory = {
          memory: parseMemory(found['m']),
          scope: found['scope'] as string,
          dedupeKey: (found['dedupeKey'] as string | null) ?? null,
          expiryDefaulted: found['expiryDefaulted'] as boolean,
        };
        const changed = change(locked);
        if (!changed) return { version: locked.memory.version, updated: false };
        const version = locked.memory.version + 1;
        await run(APPLY_UPDATE, {
          id,
          accountId: visibility.accountId,
          commitId,
          now,
          version,
          // Changes apply in the order of their locks, and may have arrived in another.
          properties: { ...changed.properties, version, updatedAt: Math.max(now, locked.memory.updatedAt) },
          vector: changed.vector === 'kept' ? null : changed.vector,
          embedLater: changed.vector === null,
          dedupeKey: changed.dedupeKey,
          before: versionProperties(locked.memory, locked.expiryDefaulted),
          keptVersions: KEPT_VERSIONS,
        });
        return { version, updated: true };
      }, deadline);
    },

    /**
     * Erases the memory with its versions, takes it out of others' lineage, and records that. False when there is none, or
     * none of one of the `versions` (null: of any).
     */
    erase(
      {
        id,
        visibility,
        versions,
        record,
        now,
      }: { id: string; visibility: Visibility; versions: readonly number[] | null; record: AuditRecord; now: number },
      deadline: Deadline,
    ): Promise<boolean> {
      return database.transaction(async (run) => {
        const [head] = await run(ERASE, { id, ...visibility, versions, now });
        // A repeat finds the memory gone, and what the first try recorded.
        if (!head) return isRecorded(run, record);
        await append(run, head, record);
        return true;
      }, deadline);
    },

    /** Erases up to `limit` expired memories and forgets up to `limit` commits older than `commitsBefore` and as many idempotency keys; finished when nothing is left. */
    async sweep(
      { now, commitsBefore, limit }: { now: number; commitsBefore: number; limit: number },
      deadline: Deadline,
    ): Promise<{ finished: boolean }> {
      const [commits] = await database.write(
        'MATCH (c:Commit) WHERE c.at < $commitsBefore WITH c LIMIT $limit DELETE c RETURN count(*) AS forgotten',
        { commitsBefore, limit },
        deadline,
      );
      const [keys] = await database.write(
        `MATCH (key:IdempotencyKey) WHERE key.at <= $keysBefore
         WITH key LIMIT $limit
         SET key.lock = true REMOVE key.lock
         WITH key WHERE key.at <= $keysBefore
         DELETE key RETURN count(*) AS forgotten`,
        { keysBefore: now - KEYS_KEPT, limit },
        deadline,
      );
      const [memories] = await database.write(ERASE_EXPIRED, { now, limit }, deadline);
      return { finished: [commits!['forgotten'], keys!['forgotten'], memories!['erased']].every((count) => (count as number) < limit) };
    },

    /** Adds to the count of recalls of each memory. A count that is lost or doubled is no harm, so this is not made safe to repeat. */
    async addRecalls(rows: readonly { accountId: string; id: string; recalls: number }[], deadline: Deadline): Promise<void> {
      await database.write(
        `UNWIND $rows AS row
         MATCH (m:Memory {accountId: row.accountId, id: row.id})
         SET m.recalls = m.recalls + row.recalls`,
        { rows: [...rows].sort((a, b) => (a.id < b.id ? -1 : 1)) },
        deadline,
      );
    },
  };

  async function findCommit(commitId: string, deadline: Deadline): Promise<string[] | null> {
    // In write mode, because a reading member of a cluster may not have the commit yet.
    const [row] = await database.write('MATCH (c:Commit {id: $commitId}) RETURN c.results AS results', { commitId }, deadline);
    return row ? (row['results'] as string[]) : null;
  }
}

export type MemoryStore = ReturnType<typeof createMemoryStore>;

const LOCK_FOR_UPDATE = `
  MATCH (m:Memory {accountId: $accountId, id: $id}) WHERE ${VISIBLE}
  ${LOCK} WHERE ${VISIBLE}
  OPTIONAL MATCH (commit:Commit {id: $commitId})
  RETURN ${MEMORY_VALUES} AS m, m.scope AS scope, m.dedupeKey AS dedupeKey, m.expiryDefaulted AS expiryDefaulted, commit.version AS committedVersion`;

const APPLY_UPDATE = `
  MATCH (m:Memory {accountId: $accountId, id: $id})
  CREATE (:Commit {id: $commitId, at: $now, version: $version})
  CREATE (m)-[:HAS_VERSION]->(v:MemoryVersion)
  SET v = $before, m += $properties
  REMOVE m.dedupeKey
  WITH m
  OPTIONAL MATCH (twin:Memory {dedupeKey: $dedupeKey})
  SET twin.lock = true REMOVE twin.lock
  FOREACH (expired IN CASE WHEN twin.expiresAt <= $now THEN [twin] ELSE [] END | REMOVE expired.dedupeKey)
  WITH m, CASE WHEN twin.expiresAt > $now THEN twin END AS twin
  SET m.dedupeKey = CASE WHEN twin IS NULL THEN $dedupeKey END
  WITH m
  FOREACH (_ IN CASE WHEN $embedLater THEN [1] ELSE [] END | SET m:Unembedded, m.embedAfter = 0 REMOVE m.embedding, m.embedTries)
  CALL (m) {
    WITH m WHERE $vector IS NOT NULL
    REMOVE m:Unembedded, m.embedAfter, m.embedTries
    WITH m
    CALL db.create.setNodeVectorProperty(m, 'embedding', $vector)
  }
  WITH m
  MATCH (m)-[:HAS_VERSION]->(old:MemoryVersion) WHERE old.version <= $version - 1 - $keptVersions
  DETACH DELETE old`;

const ERASE_LOCKED = `
  CALL (m) {
    MATCH (derived:Memory)-[:DERIVED_FROM]->(m)
    WITH m, derived ORDER BY derived.id
    SET derived.sourceIds = [sourceId IN derived.sourceIds WHERE sourceId <> m.id]
  }
  CALL (m) {
    MATCH (m)-[:HAS_VERSION]->(v:MemoryVersion)
    DETACH DELETE v
  }
  DETACH DELETE m`;

const ERASE = `
  MATCH (m:Memory {accountId: $accountId, id: $id}) WHERE ${VISIBLE}
  ${LOCK} WHERE ${VISIBLE} AND ($versions IS NULL OR m.version IN $versions)
  ${ERASE_LOCKED}
  WITH true AS erased
  ${LOCK_HEAD}
  RETURN ${HEAD}`;

const ERASE_EXPIRED = `
  MATCH (m:Memory) WHERE m.expiresAt <= $now
  WITH m LIMIT $limit
  ${LOCK} WHERE m.expiresAt <= $now
  ${ERASE_LOCKED}
  RETURN count(*) AS erased`;

function pageStatement({ filter, newestFirst, after, offset }: PageRequest): string {
  const { indexed, rest } = conditionsOf(filter);
  const beyond = newestFirst ? '<' : '>';
  const keyset = after ? [`m.createdAt ${beyond}= $afterTime AND (m.createdAt ${beyond} $afterTime OR m.id ${beyond} $afterId)`] : [];
  const direction = newestFirst ? 'DESC' : 'ASC';
  const order = `ORDER BY m.createdAt ${direction}, m.id ${direction}`;
  const [binding, ...others] = indexed;
  // All three properties of the index are named, in the conditions and in the order: then it gives the rows in their order,
  // and a page reads little more than itself.
  const inIndexOrder = (property: string) => order.replace('ORDER BY', `ORDER BY ${property} ${direction},`);
  const where = (first: string) => `WHERE ${[first, 'm.createdAt >= 0 AND m.id IS NOT NULL', ...others, ...rest, ...keyset].join(' AND ')}`;
  const page = offset > 0 ? 'SKIP $offset LIMIT $limit' : 'LIMIT $limit';
  // A list of scopes has no order in the index, one scope has: so one index walk a scope, and a merge of the two.
  return filter.visibility.scopes
    ? `UNWIND $scopes AS scope
       CALL (scope) { MATCH (m:Memory) ${BY_SCOPE} ${where('m.scope = scope')} WITH m ${inIndexOrder('m.scope')} LIMIT $reach RETURN m }
       WITH m ${order} ${page} RETURN ${MEMORY_VALUES} AS m`
    : `MATCH (m:Memory) ${BY_ACCOUNT} ${where(binding!)} WITH m ${inIndexOrder('m.accountId')} ${page} RETURN ${MEMORY_VALUES} AS m`;
}

function pageParameters({ filter, after, limit, offset, now }: PageRequest): Row {
  return {
    ...conditionsOf(filter).parameters,
    now,
    limit,
    offset,
    reach: offset + limit,
    afterTime: after?.createdAt ?? null,
    afterId: after?.id ?? null,
  };
}

function isConstraintViolation(error: unknown): boolean {
  return error instanceof Neo4jError && error.code === 'Neo.ClientError.Schema.ConstraintValidationFailed';
}
