import { setTimeout as delay } from 'node:timers/promises';
import { isRetryableError, type Transaction } from 'neo4j-driver';
import { type ExactConnections, quoteName } from '../graph/exact.ts';

/** While it lasts, nothing that has one of these labels or types is written. */
export interface Hold {
  readonly labels: ReadonlySet<string>;
  readonly types: ReadonlySet<string>;
  /** Throws an AppearedError when there are labels or types by now that are not held, and another one when the hold is lost. */
  confirm(): Promise<void>;
  release(): Promise<void>;
}

/** Labels or relationship types that are not held were written meanwhile. */
export class AppearedError extends Error {
  override readonly name = 'AppearedError';
}

/** No index is ever made on it. */
const PROPERTY = 'heldForBackup';
/** Milliseconds for which transactions under way may take to end; those that begin then wait as long. */
const PATIENCE = 30_000;

/**
 * Holds back every writer of the database until `release`, or until this process or its connection ends. Transactions under way finish first, new ones
 * wait and then go on.
 */
// Neo4j reads committed data without locks, so a scan beside writers would see halves of their transactions. But every transaction that writes a node
// takes a shared lock on each of its labels, and for a relationship on its type, until it ends; creating an index takes the exclusive one. So an index
// for each label and type is created here in a transaction that never commits: nothing is ever indexed.
export async function holdWriters(connections: ExactConnections, signal: AbortSignal): Promise<Hold> {
  const end = performance.now() + PATIENCE;
  for (;;) {
    const session = connections.session();
    const transaction = session.beginTransaction();
    const close = () => {
      signal.removeEventListener('abort', close);
      return session.close().catch(() => undefined);
    };
    const timer = setTimeout(() => void close(), end - performance.now());
    signal.addEventListener('abort', close, { once: true });
    try {
      const held = await lockAll(transaction);
      return { ...held, confirm: () => confirm(transaction, held), release: close };
    } catch (error) {
      await close();
      signal.throwIfAborted();
      if (performance.now() >= end)
        throw new Error(`A transaction in this database did not end within ${PATIENCE / 1000} seconds; try the backup again later`, { cause: error });
      // Writers take these locks in orders of their own, so one of the two may have to give way.
      if (!(error instanceof Error) || !isRetryableError(error)) throw error;
      await delay(50 + Math.random() * 200);
    } finally {
      clearTimeout(timer);
    }
  }
}

interface Names {
  readonly labels: Set<string>;
  readonly types: Set<string>;
}

/** Until no name is left that came up while the others were being locked. */
async function lockAll(transaction: Transaction): Promise<Names> {
  const held: Names = { labels: new Set(), types: new Set() };
  for (;;) {
    const { labels, types } = await missing(transaction, held);
    if (labels.length + types.length === 0) return held;
    for (const label of labels) {
      await transaction.run(`CYPHER 25 CREATE INDEX FOR (held:${quoteName(label)}) ON (held.${PROPERTY})`);
      held.labels.add(label);
    }
    for (const type of types) {
      await transaction.run(`CYPHER 25 CREATE INDEX FOR ()-[held:${quoteName(type)}]-() ON (held.${PROPERTY})`);
      held.types.add(type);
    }
  }
}

async function confirm(transaction: Transaction, held: Names): Promise<void> {
  const { labels, types } = await missing(transaction, held);
  if (labels.length + types.length > 0) throw new AppearedError(`${[...labels, ...types].join(', ')} appeared during the backup`);
}

async function missing(transaction: Transaction, held: Names): Promise<{ labels: string[]; types: string[] }> {
  const names = async (procedure: string) => (await transaction.run(`CYPHER 25 CALL ${procedure}`)).records.map((record) => record.get(0) as string);
  const labels = await names('db.labels()');
  const types = await names('db.relationshipTypes()');
  return { labels: labels.filter((label) => !held.labels.has(label)), types: types.filter((type) => !held.types.has(type)) };
}
