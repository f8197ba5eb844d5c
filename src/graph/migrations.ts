import { deadlineIn } from '../deadline.ts';
import type { Database } from './database.ts';
import { isHalfRestored } from './unfinished-restore.ts';

interface Migration {
  /** The version of the database after it. Never renumbered, never edited once released. */
  readonly version: number;
  readonly title: string;
  /** Each can be repeated: a start may be killed between two of them. */
  readonly statements: readonly string[];
}

const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    title: 'accounts, keys and memories',
    statements: [
      'CREATE CONSTRAINT account_id IF NOT EXISTS FOR (a:Account) REQUIRE a.id IS UNIQUE',
      'CREATE CONSTRAINT account_name IF NOT EXISTS FOR (a:Account) REQUIRE a.name IS UNIQUE',
      'CREATE CONSTRAINT api_key_id IF NOT EXISTS FOR (k:ApiKey) REQUIRE k.id IS UNIQUE',
      'CREATE CONSTRAINT api_key_hash IF NOT EXISTS FOR (k:ApiKey) REQUIRE k.hash IS UNIQUE',
      // Unique within the account: an id taken elsewhere must not show by being refused here.
      'CREATE CONSTRAINT memory_id IF NOT EXISTS FOR (m:Memory) REQUIRE (m.accountId, m.id) IS UNIQUE',
      'CREATE CONSTRAINT memory_dedupe_key IF NOT EXISTS FOR (m:Memory) REQUIRE m.dedupeKey IS UNIQUE',
      'CREATE INDEX memory_by_account IF NOT EXISTS FOR (m:Memory) ON (m.accountId, m.createdAt, m.id)',
      'CREATE INDEX memory_by_scope IF NOT EXISTS FOR (m:Memory) ON (m.scope, m.createdAt, m.id)',
      'CREATE INDEX memory_by_expiry IF NOT EXISTS FOR (m:Memory) ON (m.expiresAt)',
      // A write leaves its id and result here in its own transaction: a repeat of the transaction finds it and applies nothing.
      'CREATE CONSTRAINT commit_id IF NOT EXISTS FOR (c:Commit) REQUIRE c.id IS UNIQUE',
      'CREATE INDEX commit_by_time IF NOT EXISTS FOR (c:Commit) ON (c.at)',
      `CREATE FULLTEXT INDEX memory_text IF NOT EXISTS FOR (m:Memory) ON EACH [m.content, m.facets]
       OPTIONS { indexConfig: { \`fulltext.analyzer\`: 'english' } }`,
    ],
  },
  {
    version: 2,
    title: 'the vector index knows its model',
    statements: [
      'CREATE CONSTRAINT vector_index_id IF NOT EXISTS FOR (v:VectorIndex) REQUIRE v.id IS UNIQUE',
      // The only model that there was before.
      `MATCH (m:Memory) WITH m LIMIT 1
       MERGE (v:VectorIndex {id: 'memory'})
       ON CREATE SET v.model = 'e5-small-v2-q', v.dimensions = 384,
         v.knots = '[[-1,0],[0.64,0.01],[0.721,0.1],[0.766,0.3],[0.789,0.5],[0.839,0.8],[0.902,0.97],[1,1]]'`,
    ],
  },
  {
    version: 3,
    title: 'usage, the audit log and idempotency keys',
    statements: [
      'CREATE CONSTRAINT usage_month IF NOT EXISTS FOR (u:UsageMonth) REQUIRE (u.accountId, u.month) IS UNIQUE',
      'CREATE CONSTRAINT usage_reservation IF NOT EXISTS FOR (r:UsageReservation) REQUIRE (r.accountId, r.month, r.owner) IS UNIQUE',
      'CREATE CONSTRAINT idempotency_key IF NOT EXISTS FOR (k:IdempotencyKey) REQUIRE k.id IS UNIQUE',
      'CREATE INDEX idempotency_key_by_time IF NOT EXISTS FOR (k:IdempotencyKey) ON (k.at)',
      'CREATE CONSTRAINT audit_entry_id IF NOT EXISTS FOR (e:AuditEntry) REQUIRE e.id IS UNIQUE',
      'CREATE CONSTRAINT audit_entry_sequence IF NOT EXISTS FOR (e:AuditEntry) REQUIRE (e.accountId, e.sequence) IS UNIQUE',
      'CREATE INDEX audit_entry_by_account IF NOT EXISTS FOR (e:AuditEntry) ON (e.accountId)',
      'CREATE CONSTRAINT audit_head IF NOT EXISTS FOR (h:AuditHead) REQUIRE h.accountId IS UNIQUE',
      // Every account has a chain, so that one without is known to have lost it.
      `MATCH (a:Account) MERGE (h:AuditHead {accountId: a.id}) ON CREATE SET h.sequence = 0, h.hash = '${'0'.repeat(64)}'`,
    ],
  },
];

/** The version that this code writes. */
export const SCHEMA_VERSION = MIGRATIONS.at(-1)!.version;

const OLDEST_SERVER = { major: 2026, minor: 9 };

/** The database can't be used as it is, and what to do about it. */
export class IncompatibleDatabaseError extends Error {
  override readonly name = 'IncompatibleDatabaseError';
}

/**
 * Brings the database to SCHEMA_VERSION, one migration after the other, each recorded when it is done.
 * Throws an IncompatibleDatabaseError for a server that is too old or a database that a newer service wrote.
 */
export async function migrate(database: Database, report: (line: string) => void): Promise<void> {
  await checkServer(database);
  if (await isHalfRestored(database))
    throw new IncompatibleDatabaseError(
      'A backup was being restored into this database, and that was broken off: what is in it is not whole. ' +
        'Run the restore again (npm run restore -- FILE), which begins anew.',
    );
  const current = await readSchemaVersion(database);
  if (current > SCHEMA_VERSION)
    throw new IncompatibleDatabaseError(
      `This database has schema version ${current}, written by a newer memory service; this one knows versions up to ${SCHEMA_VERSION}. ` +
        'Start the newer service, or point NEO4J_URI or DATA_DIR at another database.',
    );
  for (const { version, title, statements } of MIGRATIONS.filter((migration) => migration.version > current)) {
    report(`Setting up the database: ${title} (schema version ${version})`);
    for (const statement of statements) await database.define(statement, deadlineIn(600_000));
    await database.define('CALL db.awaitIndexes(600)', deadlineIn(610_000));
    await database.write(
      `MERGE (s:Schema {id: 'schema'})
       SET s.lock = true
       SET s.version = CASE WHEN coalesce(s.version, 0) < $version THEN $version ELSE s.version END`,
      { version },
      deadlineIn(30_000),
    );
  }
}

async function checkServer(database: Database): Promise<void> {
  const [row] = await database.read(
    "CALL dbms.components() YIELD name, versions WHERE name = 'Neo4j Kernel' RETURN versions[0] AS version",
    {},
    deadlineIn(30_000),
  );
  const version = String(row?.['version']);
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < OLDEST_SERVER.major || (major === OLDEST_SERVER.major && minor < OLDEST_SERVER.minor))
    throw new IncompatibleDatabaseError(
      `Neo4j ${version} is too old: the service filters inside the vector index, which needs Neo4j 2026.09 or later. ` +
        'Upgrade that server, or leave NEO4J_URI empty to let the service run its own.',
    );
}

/** 0 for a database that no service has used yet. */
export async function readSchemaVersion(database: Database): Promise<number> {
  const [row] = await database.read("OPTIONAL MATCH (s:Schema {id: 'schema'}) RETURN coalesce(s.version, 0) AS version", {}, deadlineIn(30_000));
  return Number(row?.['version'] ?? 0);
}
