import type { Deadline } from '../../deadline.ts';
import type { Database, Row, Run } from '../../graph/database.ts';
import { type AuditEntry, type AuditRecord, type ChainHead, EMPTY_CHAIN, entryAfter } from './audit.ts';

/** Locks the end of the account's chain, for which every change of the account waits; `HEAD` is then what it says. */
export const LOCK_HEAD = 'OPTIONAL MATCH (h:AuditHead {accountId: $accountId}) SET h.lock = true REMOVE h.lock';
export const HEAD = 'h.sequence AS sequence, h.hash AS hash';

/** Gives a new account its empty chain. */
export async function beginChain(run: Run, accountId: string): Promise<void> {
  await run('MERGE (h:AuditHead {accountId: $accountId}) ON CREATE SET h += $empty', { accountId, empty: EMPTY_CHAIN });
}

/** Locks the account's chain until the transaction ends; `repeated` when it has the entry already. */
export async function lockChain(run: Run, accountId: string, entryId: string): Promise<{ head: Row; repeated: boolean }> {
  const [row] = await run(`${LOCK_HEAD} WITH h OPTIONAL MATCH (e:AuditEntry {id: $entryId}) RETURN ${HEAD}, e IS NOT NULL AS repeated`, {
    accountId,
    entryId,
  });
  return { head: row!, repeated: row!['repeated'] as boolean };
}

/** Appends to the chain of which the transaction holds the lock; `head` is what that gave. */
export async function append(run: Run, head: Row, record: AuditRecord): Promise<void> {
  const { accountId } = record;
  if (head['sequence'] == null) throw new Error(`The audit log of the account ${accountId} has lost its head; see npm run audit -- verify`);
  const entry = entryAfter(head as unknown as ChainHead, record);
  await run(
    `MATCH (h:AuditHead {accountId: $accountId})
     CREATE (e:AuditEntry)
     SET e = $entry, h.sequence = e.sequence, h.hash = e.hash`,
    { accountId, entry },
  );
}

/** Whether the record is in its chain: then the transaction is the repeat of one that had committed. */
export async function isRecorded(run: Run, { accountId, id }: AuditRecord): Promise<boolean> {
  return (await run('MATCH (e:AuditEntry {id: $id}) WHERE e.accountId = $accountId RETURN e.id', { accountId, id })).length > 0;
}

/** A chain that holds still. */
export interface HeldChain {
  /** As they stand in the graph, which may be anything when someone else has changed them. */
  readonly head: Row;
  /** How many entries the account has, in the chain or beside it. */
  readonly count: number;
  readonly readAfter: (sequence: number, limit: number) => Promise<Row[]>;
}

/** With the account in the order as well, the index gives the entries in their order, and a page reads no more than itself. */
const IN_ORDER = 'USING INDEX e:AuditEntry(accountId, sequence)';
const AFTER = `MATCH (e:AuditEntry) ${IN_ORDER} WHERE e.accountId = $accountId AND e.sequence > $sequence
  RETURN properties(e) AS entry ORDER BY e.accountId, e.sequence LIMIT $limit`;

/** Reading the audit log. */
export function createAuditLog(database: Pick<Database, 'read' | 'transaction'>) {
  const entriesOf = (rows: Row[]) => rows.map((row) => row['entry'] as Row);
  return {
    /** Entries before that place in the chain, the latest first. */
    async readPage(accountId: string, before: number, limit: number, deadline: Deadline): Promise<AuditEntry[]> {
      const rows = await database.read(
        `MATCH (e:AuditEntry) ${IN_ORDER} WHERE e.accountId = $accountId AND e.sequence < $before
         RETURN properties(e) AS entry ORDER BY e.accountId DESC, e.sequence DESC LIMIT $limit`,
        { accountId, before, limit },
        deadline,
      );
      return entriesOf(rows) as unknown as AuditEntry[];
    },

    /** The accounts that have, or should have, a chain; without a name one whose account is gone. */
    async listChains(deadline: Deadline): Promise<{ accountId: string; name: string | null }[]> {
      const rows = await database.read(
        `MATCH (a:Account) RETURN a.id AS accountId, a.name AS name
         UNION
         MATCH (h:AuditHead) WHERE NOT EXISTS { (:Account {id: h.accountId}) } RETURN h.accountId AS accountId, null AS name`,
        {},
        deadline,
      );
      return rows as { accountId: string; name: string | null }[];
    },

    /** The properties of the next entries after that place, in order. */
    async readAfter(accountId: string, sequence: number, limit: number, deadline: Deadline): Promise<Row[]> {
      return entriesOf(await database.read(AFTER, { accountId, sequence, limit }, deadline));
    },

    /** Looks at the chain while nothing can be appended to it. */
    hold<T>(accountId: string, look: (chain: HeldChain) => Promise<T>, deadline: Deadline): Promise<T> {
      return database.transaction(async (run) => {
        const [head] = await run(`${LOCK_HEAD} RETURN ${HEAD}`, { accountId });
        const [counted] = await run('MATCH (e:AuditEntry) WHERE e.accountId = $accountId RETURN count(e) AS count', { accountId });
        return look({
          head: head!,
          count: counted!['count'] as number,
          readAfter: async (sequence, limit) => entriesOf(await run(AFTER, { accountId, sequence, limit })),
        });
      }, deadline);
    },
  };
}

export type AuditLog = ReturnType<typeof createAuditLog>;
