import { randomUUID } from 'node:crypto';
import neo4j, { type Session } from 'neo4j-driver';
import { deadlineIn } from '../deadline.ts';
import type { Database } from '../graph/database.ts';
import { connectExactly, splitElementId } from '../graph/exact.ts';
import { SCHEMA_VERSION } from '../graph/migrations.ts';
import type { OpenDatabase } from '../graph/open.ts';
import { isHalfRestored, RESTORE_LABEL } from '../graph/unfinished-restore.ts';
import { BackupFileError, type Entry, type Header, parseHeader, readBackup } from './file.ts';
import { startProgress } from './progress.ts';
import { fromStored, type Stored } from './values.ts';

export interface RestoreOptions {
  readonly path: string;
  readonly report: (line: string) => void;
  readonly signal: AbortSignal;
}

/** What a whole backup has. */
export interface BackupContents {
  readonly header: Header;
  readonly entries: number;
}

/** Entries that are written in one transaction: no more than these, and no more than about these bytes. */
const BATCH_ENTRIES = 1_000;
const BATCH_BYTES = 2_000_000;
const ERASED_AT_ONCE = 5_000;
const INDEX_STATEMENT = /^(CREATE (?:CONSTRAINT|(?:[A-Z]+ )?INDEX) `(?:[^`]|``)+`) FOR /;

/** Reads the whole file and so knows that it is one. Throws a BackupFileError. */
export async function checkBackup(path: string): Promise<BackupContents> {
  let header: Header | undefined;
  let entries = 0;
  for await (const line of readBackup(path))
    if (header) entries++;
    else header = parseHeader(line);
  if (!header) throw new BackupFileError(`${path} is not a backup of this service`);
  if (header.schemaVersion > SCHEMA_VERSION)
    throw new BackupFileError(
      `The backup has schema version ${header.schemaVersion}, written by the newer memory service ${header.serviceVersion}; ` +
        `this one knows versions up to ${SCHEMA_VERSION}. Restore it with that one.`,
    );
  return { header, entries };
}

/**
 * Fills an empty database from a backup that `checkBackup` has accepted. Until it has ended the database is marked, so that the service refuses to start
 * on it; a further restore clears what a broken-off one has left. Throws an Error that says what to do.
 */
export async function restore(
  { database, address }: OpenDatabase,
  { entries }: BackupContents,
  { path, report, signal }: RestoreOptions,
): Promise<void> {
  await requireEmpty(database, report, signal);
  const connections = connectExactly(address);
  const session = connections.session();
  try {
    const loader = await startLoading(session);
    const progress = startProgress('Restored', entries, report);
    for await (const batch of batchesOf(path)) {
      signal.throwIfAborted();
      await loader.load(batch);
      progress.add(batch.length);
    }
    await loader.makeIndexes(report, signal);
    await loader.finish();
  } finally {
    await session.close();
    await connections.close();
  }
}

async function requireEmpty(database: Database, report: (line: string) => void, signal: AbortSignal): Promise<void> {
  if (await isHalfRestored(database)) {
    report('Clearing what an earlier restore that was broken off has left …');
    // The mark goes last: as long as it is there, this can be begun again.
    while ((await erase(database, `MATCH (n) WHERE NOT n:${RESTORE_LABEL}`)) > 0) signal.throwIfAborted();
    await erase(database, `MATCH (n:${RESTORE_LABEL})`);
    return;
  }
  const rows = await database.read(
    "MATCH (n) RETURN coalesce(labels(n)[0], 'without a label') AS label, count(*) AS count ORDER BY count DESC",
    {},
    deadlineIn(60_000),
  );
  if (rows.length === 0) return;
  const found = rows.map(({ label, count }) => `${count as number} ${label as string}`).join(', ');
  throw new Error(
    `A backup is only restored into an empty database; this one has nodes: ${found}. Restore into another folder (DATA_DIR=…) or another database ` +
      '(NEO4J_URI, NEO4J_DATABASE), or stop the service and move this folder away.',
  );
}

async function erase(database: Database, match: string): Promise<number> {
  const [row] = await database.write(
    `${match} WITH n LIMIT $limit DETACH DELETE n RETURN count(*) AS erased`,
    { limit: ERASED_AT_ONCE },
    deadlineIn(60_000),
  );
  return row!['erased'] as number;
}

/** Entries in the order of the file; a batch has entries of one kind only. */
async function* batchesOf(path: string): AsyncGenerator<Entry[]> {
  let batch: Entry[] = [];
  let bytes = 0;
  let isFirst = true;
  for await (const line of readBackup(path)) {
    if (isFirst) {
      isFirst = false;
      continue;
    }
    const entry = JSON.parse(line) as Entry;
    if (batch.length === BATCH_ENTRIES || bytes > BATCH_BYTES || (batch[0] && kindOf(batch[0]) !== kindOf(entry))) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(entry);
    bytes += line.length;
  }
  if (batch.length > 0) yield batch;
}

function kindOf(entry: Entry): 'schema' | 'node' | 'relationship' {
  return 'schema' in entry ? 'schema' : 'node' in entry ? 'node' : 'relationship';
}

/** Constraints and indexes are made when all is there, which takes less time than to keep them up with every batch. */
async function startLoading(session: Session) {
  const run = async (statement: string, parameters: Record<string, unknown> = {}) =>
    (await session.run(`CYPHER 25 ${statement}`, parameters)).records;
  const mark = randomUUID();
  const schema: string[] = [];
  /** From the numbers of nodes in the file to those in this database. */
  const numbers = new Map<number, number>();
  let batches = 0;

  const [marked] = await run(`CREATE (r:${RESTORE_LABEL} {id: $mark, batches: 0}) RETURN elementId(r) AS id`, { mark });
  const { prefix } = splitElementId(marked!.get('id') as string);
  const elementId = (number: number) => {
    const restored = numbers.get(number);
    if (restored === undefined) throw new BackupFileError(`The backup has a relationship of a node ${number} that it does not have`);
    return prefix + restored;
  };

  /** Of a batch whose answer was lost nobody knows whether it is there, so each is counted where it is written, and none is tried twice. */
  async function write(statement: string, rows: object[]) {
    const counted = `MATCH (mark:${RESTORE_LABEL} {id: $mark, batches: $batches}) SET mark.batches = mark.batches + 1 WITH mark`;
    const records = await run(`${counted} UNWIND $rows AS row ${statement}`, { mark, batches: BigInt(batches++), rows });
    if (records.length !== rows.length) throw new Error('Another restore into this database has begun, so this one was given up');
    return records;
  }

  return {
    async load(batch: Entry[]): Promise<void> {
      const nodes = batch.flatMap((entry) => ('node' in entry ? [entry] : []));
      const relationships = batch.flatMap((entry) => ('relationship' in entry ? [entry] : []));
      for (const entry of batch) if ('schema' in entry) schema.push(indexStatement(entry.schema));
      if (nodes.length > 0) {
        const records = await write(
          CREATE_NODES,
          nodes.map(({ node, labels, properties }) => ({ node: BigInt(node), labels, ...separated(properties) })),
        );
        for (const record of records) numbers.set(Number(record.get('node')), splitElementId(record.get('id') as string).number);
      }
      if (relationships.length > 0)
        await write(
          CREATE_RELATIONSHIPS,
          relationships.map(({ relationship: type, from, to, properties }) => ({
            type,
            from: elementId(from),
            to: elementId(to),
            ...separated(properties),
          })),
        );
    },

    async makeIndexes(report: (line: string) => void, signal: AbortSignal): Promise<void> {
      for (const statement of schema) await run(statement);
      for (;;) {
        const [row] = await run(
          "SHOW INDEXES YIELD state, populationPercent RETURN avg(populationPercent) AS percent, count(CASE state WHEN 'ONLINE' THEN null ELSE 1 END) AS missing",
        );
        if (row!.get('missing') === 0n) return;
        signal.throwIfAborted();
        report(`Making the indexes: ${Math.floor(row!.get('percent') as number)} % …`);
        await run('CALL db.awaitIndexes(5)').catch(() => undefined);
        const [failed] = await run("SHOW INDEXES YIELD name, state, failureMessage WHERE state = 'FAILED' RETURN name, failureMessage");
        if (failed) throw new Error(`The index ${failed.get('name')} could not be made: ${failed.get('failureMessage')}`);
      }
    },

    async finish(): Promise<void> {
      await run(`MATCH (mark:${RESTORE_LABEL} {id: $mark}) DELETE mark`, { mark });
    },
  };
}

const CREATE_NODES = `
  CREATE (n:$(row.labels)) SET n = row.properties
  CALL (n, row) { UNWIND keys(row.vectors) AS key CALL db.create.setNodeVectorProperty(n, key, row.vectors[key]) }
  RETURN row.node AS node, elementId(n) AS id`;

const CREATE_RELATIONSHIPS = `
  MATCH (a) WHERE elementId(a) = row.from
  MATCH (b) WHERE elementId(b) = row.to
  CREATE (a)-[r:$(row.type)]->(b) SET r = row.properties
  CALL (r, row) { UNWIND keys(row.vectors) AS key CALL db.create.setRelationshipVectorProperty(r, key, row.vectors[key]) }
  RETURN elementId(r) AS id`;

/** SET would keep a vector in twice the space. */
function separated(stored: Readonly<Record<string, Stored>>): { properties: Record<string, unknown>; vectors: Record<string, unknown> } {
  const entries = Object.entries(stored).map(([key, value]) => [key, fromStored(value)] as const);
  return {
    properties: Object.fromEntries(entries.filter(([, value]) => !(value instanceof Float32Array))),
    vectors: Object.fromEntries(entries.flatMap(([key, value]) => (value instanceof Float32Array ? [[key, neo4j.vector(value)]] : []))),
  };
}

/** Nothing but the making of an index or a constraint is taken from a file. */
function indexStatement(statement: string): string {
  if (!INDEX_STATEMENT.test(statement)) throw new BackupFileError(`The backup has a statement that makes no index: ${statement}`);
  return statement.replace(INDEX_STATEMENT, '$1 IF NOT EXISTS FOR ');
}
