import type { Record as Row, Session } from 'neo4j-driver';
import { connectExactly, type ExactConnections, quoteName, splitElementId } from '../graph/exact.ts';
import { readSchemaVersion } from '../graph/migrations.ts';
import type { OpenDatabase } from '../graph/open.ts';
import { isHalfRestored } from '../graph/unfinished-restore.ts';
import { VERSION } from '../version.ts';
import { type Entry, type Header, headerOf, writeBackup } from './file.ts';
import { startProgress } from './progress.ts';
import { toStored } from './values.ts';
import { AppearedError, type Hold, holdWriters } from './writers.ts';

export interface BackupOptions {
  /** Is replaced when it is there already. */
  readonly path: string;
  readonly report: (line: string) => void;
  readonly signal: AbortSignal;
}

export interface BackupResult {
  readonly at: string;
  readonly nodes: number;
  readonly relationships: number;
  /** How long writers were held back. */
  readonly heldMilliseconds: number;
}

/** Times that a backup begins anew because a label came up during it; only a service that is being upgraded brings one. */
const ATTEMPTS = 3;

/**
 * Writes the whole database, as it is at one moment, to a file. Whatever was acknowledged before is in it, and of no transaction only a part.
 * Throws an Error that says what to do.
 */
export async function backUp({ database, address }: OpenDatabase, { path, report, signal }: BackupOptions): Promise<BackupResult> {
  if (await isHalfRestored(database)) throw new Error('A restore into this database was broken off, so there is nothing whole to back up');
  const schemaVersion = await readSchemaVersion(database);
  if (schemaVersion === 0) throw new Error('This database is empty: there is nothing to back up');
  const connections = connectExactly(address);
  try {
    for (let attempt = 1; ; attempt++) {
      const result = { at: '', nodes: 0, relationships: 0, heldMilliseconds: 0 };
      try {
        await writeBackup(path, readAll(connections, { schemaVersion, result, report, signal }), signal);
        return result;
      } catch (error) {
        if (!(error instanceof AppearedError) || attempt === ATTEMPTS) throw error;
        report(`${error.message}; beginning again`);
      }
    }
  } finally {
    await connections.close();
  }
}

interface Reading {
  readonly schemaVersion: number;
  /** Filled in while reading. */
  readonly result: { -readonly [Key in keyof BackupResult]: BackupResult[Key] };
  readonly report: (line: string) => void;
  readonly signal: AbortSignal;
}

async function* readAll(connections: ExactConnections, { schemaVersion, result, report, signal }: Reading): AsyncGenerator<Header | Entry> {
  report('Waiting for the writes under way …');
  const startedAt = performance.now();
  const hold = await holdWriters(connections, signal);
  const session = connections.session();
  try {
    result.at = new Date().toISOString();
    yield headerOf({ schemaVersion, serviceVersion: VERSION, at: result.at });
    yield* readSchema(session);
    const progress = startProgress('Backed up', await countAll(session), report);
    for await (const entry of readNodes(connections, hold)) {
      yield entry;
      progress.add();
      result.nodes++;
    }
    for await (const entry of readRelationships(session, hold)) {
      yield entry;
      progress.add();
      result.relationships++;
    }
    await hold.confirm();
  } finally {
    await session.close();
    await hold.release();
    result.heldMilliseconds = Math.round(performance.now() - startedAt);
  }
}

async function countAll(session: Session): Promise<number> {
  const statement = 'RETURN COUNT { MATCH () } + COUNT { MATCH ()-->() } AS count';
  const { records } = await session.run<{ count: bigint }>(`CYPHER 25 ${statement}`);
  return Number(records[0]!.get('count'));
}

/** As the server itself writes them. The two of lookup are in every database from its beginning. */
async function* readSchema(session: Session): AsyncGenerator<Entry> {
  for (const statement of [
    'SHOW CONSTRAINTS YIELD createStatement RETURN createStatement AS schema',
    "SHOW INDEXES YIELD type, owningConstraint, createStatement WHERE type <> 'LOOKUP' AND owningConstraint IS NULL RETURN createStatement AS schema",
  ])
    for await (const row of session.run(`CYPHER 25 ${statement}`)) yield { schema: row.get('schema') as string };
}

// Vectors are read by statements of their own, side by side with the rest of their nodes: within one the server takes 65 µs a vector to lay them out, and
// writers would be held back three times as long. Both scan all nodes in the order in which they are stored, which stands still meanwhile.
async function* readNodes(connections: ExactConnections, hold: Hold): AsyncGenerator<Entry> {
  const session = connections.session();
  const keys = [...new Set(await column<string>(session, 'SHOW VECTOR INDEXES YIELD properties RETURN properties[0]'))];
  const vectors = keys.map((key) => readValues(connections, key));
  const statement = `MATCH (n) WITH n, [key IN keys(n) WHERE NOT key IN $vectors] AS keys
    RETURN elementId(n) AS id, labels(n) AS labels, keys, [key IN keys | n[key]] AS values`;
  try {
    const next = await Promise.all(vectors.map((values) => values.next()));
    for await (const row of session.run(`CYPHER 25 ${statement}`, { vectors: keys })) {
      const id = idOf(row, 'id');
      const labels = row.get('labels') as string[];
      requireHeld(labels, hold.labels);
      const values = row.get('values') as unknown[];
      const properties = (row.get('keys') as string[]).map((key, index) => [key, toStored(values[index])] as const);
      for (const [index, key] of keys.entries()) {
        const { done, value } = next[index]!;
        if (done || value.id !== id) continue;
        properties.push([key, toStored(value.value)]);
        next[index] = await vectors[index]!.next();
      }
      yield { node: id, labels, properties: Object.fromEntries(properties) };
    }
    if (next.some(({ done }) => !done)) throw new Error('Neo4j gave the nodes and their vectors in different orders, so the backup was given up');
  } finally {
    await Promise.all([session.close(), ...vectors.map((values) => values.return(undefined))]);
  }
}

async function* readValues(connections: ExactConnections, key: string): AsyncGenerator<{ id: number; value: unknown }, undefined> {
  const session = connections.session();
  const property = `n.${quoteName(key)}`;
  try {
    // Packed, a vector is read in half the time of a list; four bytes a number are what its index keeps of it.
    const isVector = `${property} IS :: LIST<FLOAT NOT NULL> AND size(${property}) <= 4096`;
    const value = `CASE WHEN ${isVector} THEN vector(${property}, size(${property}), FLOAT32) ELSE ${property} END`;
    for await (const row of session.run(`CYPHER 25 MATCH (n) WHERE ${property} IS NOT NULL RETURN elementId(n) AS id, ${value} AS value`))
      yield { id: idOf(row, 'id'), value: row.get('value') };
  } finally {
    await session.close();
  }
}

async function* readRelationships(session: Session, hold: Hold): AsyncGenerator<Entry> {
  const statement = 'MATCH (a)-[r]->(b) RETURN type(r) AS type, elementId(a) AS from, elementId(b) AS to, properties(r) AS properties';
  for await (const row of session.run(`CYPHER 25 ${statement}`)) {
    const type = row.get('type') as string;
    requireHeld([type], hold.types);
    const properties = Object.entries(row.get('properties') as Record<string, unknown>).map(([key, value]) => [key, toStored(value)] as const);
    yield { relationship: type, from: idOf(row, 'from'), to: idOf(row, 'to'), properties: Object.fromEntries(properties) };
  }
}

function requireHeld(names: readonly string[], held: ReadonlySet<string>): void {
  const appeared = names.filter((name) => !held.has(name));
  if (appeared.length > 0) throw new AppearedError(`${appeared.join(', ')} appeared during the backup`);
}

function idOf(row: Row, key: string): number {
  return splitElementId(row.get(key) as string).number;
}

async function column<T>(session: Session, statement: string): Promise<T[]> {
  const { records } = await session.run(`CYPHER 25 ${statement}`);
  return records.map((record) => record.get(0) as T);
}
