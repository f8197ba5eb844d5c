import { v7 as uuid } from 'uuid';
import type { Deadline } from '../../deadline.ts';
import type { Database, Row, Run } from '../../graph/database.ts';
import { type AuditEvent, type Author, recordOf } from './audit.ts';
import { append, beginChain, lockChain } from './audit-log.ts';
import { type KeyUse, USES_APART } from './key-uses.ts';
import type { Account, Scope } from './principal.ts';

/** A key as it is kept: all but the secret. Times are milliseconds since 1970. */
export interface ApiKey {
  readonly id: string;
  readonly hint: string;
  readonly name: string | null;
  readonly scopes: readonly Scope[];
  readonly userId: string | null;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** To the minute. */
  readonly lastUsedAt: number | null;
  /** The key that it was rotated to. */
  readonly replacedBy: string | null;
}

export interface NewApiKey extends Omit<ApiKey, 'revokedAt' | 'lastUsedAt' | 'replacedBy'> {
  readonly hash: string;
}

export interface StoredAccount extends Account {
  readonly createdAt: number;
}

export interface RotationRequest extends Pick<NewApiKey, 'hash' | 'hint'> {
  /** Of the old key. */
  readonly id: string;
  readonly oldUntil: number;
  readonly refuse: (old: ApiKey) => void;
}

/** The place in a list of keys after which the next page begins. */
export type KeyPosition = Pick<ApiKey, 'createdAt' | 'id'>;

/** Of an account; those of its keys that are neither revoked nor expired count. */
export const MAXIMUM_ACTIVE_KEYS = 1_000;

const KEY = `k { .id, .hint, .name, .scopes, .userId, .createdAt, .expiresAt, .revokedAt, .lastUsedAt, .replacedBy } AS key`;
const ACCOUNT = 'a { .id, .name, .plan, .createdAt } AS account';
const ACTIVE = 'k.revokedAt IS NULL AND (k.expiresAt IS NULL OR k.expiresAt > $now)';
const OF_ACCOUNT = 'MATCH (k:ApiKey)-[:OF]->(:Account {id: $accountId})';

/** Accounts and keys in the graph. Every change is recorded in the account's audit log, in the same transaction. */
export function createAccessStore(database: Database) {
  return {
    /** The key with this hash and its account, revoked and expired ones included. */
    async findKey(hash: string, deadline: Deadline): Promise<{ key: ApiKey; hash: string; account: Account } | null> {
      const [row] = await database.read(
        `MATCH (k:ApiKey {hash: $hash})-[:OF]->(a:Account) RETURN ${KEY}, k.hash AS hash, a { .id, .name, .plan } AS account`,
        { hash },
        deadline,
      );
      return row ? { key: parseKey(row), hash: row['hash'] as string, account: row['account'] as Account } : null;
    },

    async findAccount(accountId: string, deadline: Deadline): Promise<StoredAccount | null> {
      const [row] = await database.read(`MATCH (a:Account {id: $accountId}) RETURN ${ACCOUNT}`, { accountId }, deadline);
      return (row?.['account'] as StoredAccount | undefined) ?? null;
    },

    async findAccountByName(name: string, deadline: Deadline): Promise<StoredAccount | null> {
      const [row] = await database.read(`MATCH (a:Account {name: $name}) RETURN ${ACCOUNT}`, { name }, deadline);
      return (row?.['account'] as StoredAccount | undefined) ?? null;
    },

    async listAccounts(now: number, deadline: Deadline): Promise<(StoredAccount & { keys: number })[]> {
      const rows = await database.read(
        `MATCH (a:Account)
         RETURN ${ACCOUNT}, COUNT { (k:ApiKey)-[:OF]->(a) WHERE ${ACTIVE} } AS keys ORDER BY a.createdAt, a.id`,
        { now },
        deadline,
      );
      return rows.map((row) => ({ ...(row['account'] as StoredAccount), keys: row['keys'] as number }));
    },

    /** Accounts, five at most, of which the plan is none of these. */
    async findOtherPlans(plans: readonly string[], deadline: Deadline): Promise<StoredAccount[]> {
      const rows = await database.read(
        `MATCH (a:Account) WHERE NOT a.plan IN $plans RETURN ${ACCOUNT} ORDER BY a.createdAt, a.id LIMIT 5`,
        { plans },
        deadline,
      );
      return rows.map((row) => row['account'] as StoredAccount);
    },

    /** Creates the account unless the name is taken; the account of that name and whether it is new. */
    createAccount(account: Account, author: Author, deadline: Deadline): Promise<{ account: Account; created: boolean }> {
      const { id, name, plan } = account;
      const record = recordOf(uuid(), id, author, { action: 'account.created', target: id, details: { name, plan } });
      return database.transaction(async (run) => {
        const [row] = await run(
          `MERGE (a:Account {name: $account.name})
           ON CREATE SET a.id = $account.id, a.plan = $account.plan, a.createdAt = $now
           RETURN ${ACCOUNT}`,
          { account, now: author.at },
        );
        const stored = row!['account'] as StoredAccount;
        if (stored.id !== id) return { account: stored, created: false };
        await beginChain(run, id);
        const { head, repeated } = await lockChain(run, id, record.id);
        if (!repeated) await append(run, head, record);
        return { account: stored, created: true };
      }, deadline);
    },

    /** The account with its plan; null when there is no such account. */
    changePlan(accountId: string, plan: string, author: Author, deadline: Deadline): Promise<StoredAccount | null> {
      return change(accountId, author, deadline, async ({ run, repeated, record }) => {
        const [found] = await run(`MATCH (a:Account {id: $accountId}) RETURN ${ACCOUNT}`, { accountId });
        const account = (found?.['account'] as StoredAccount | undefined) ?? null;
        if (repeated || account === null || account.plan === plan) return account;
        await run('MATCH (a:Account {id: $accountId}) SET a.plan = $plan', { accountId, plan });
        await record({ action: 'account.plan_changed', target: accountId, details: { from: account.plan, to: plan } });
        return { ...account, plan };
      });
    },

    /**
     * The key; the one that is there already when it has the same hash. Or why not: the account has as many active keys as it
     * may have, or the key belongs to another account.
     */
    createKey(accountId: string, key: NewApiKey, author: Author, deadline: Deadline): Promise<ApiKey | 'full' | 'taken'> {
      return change(accountId, author, deadline, async ({ run, record }) => {
        // So is the key that the first try of a repeat made.
        const [old] = await run(`MATCH (k:ApiKey {hash: $hash}) RETURN ${KEY}, k.accountId AS accountId`, { hash: key.hash });
        if (old) return old['accountId'] === accountId ? parseKey(old) : 'taken';
        if ((await countActive(run, accountId, author.at)) >= MAXIMUM_ACTIVE_KEYS) return 'full';
        const created = await insert(run, accountId, key);
        const { name, scopes, userId, expiresAt } = key;
        await record({ action: 'key.created', target: key.id, details: { name, scopes, userId, expiresAt } });
        return created;
      });
    },

    /** One page of the account's keys, the latest first. */
    async listKeys(accountId: string, after: KeyPosition | null, limit: number, deadline: Deadline): Promise<ApiKey[]> {
      const rows = await database.read(
        `${OF_ACCOUNT}
         WHERE $after IS NULL OR k.createdAt < $after.createdAt OR (k.createdAt = $after.createdAt AND k.id < $after.id)
         RETURN ${KEY} ORDER BY k.createdAt DESC, k.id DESC LIMIT $limit`,
        { accountId, after, limit },
        deadline,
      );
      return rows.map(parseKey);
    },

    /**
     * Replaces a key by one of the same name, scopes, user and expiry; until `oldUntil` the old one is valid beside it. Null
     * when the account has no such key. `refuse` throws when it can't be rotated.
     */
    rotateKey(
      accountId: string,
      { id, oldUntil, refuse, ...secret }: RotationRequest,
      author: Author,
      deadline: Deadline,
    ): Promise<{ key: ApiKey; previous: ApiKey } | 'full' | null> {
      const newId = uuid();
      return change(accountId, author, deadline, async ({ run, repeated, record }) => {
        const previous = await findById(run, accountId, id);
        if (previous === null) return null;
        if (repeated) return { key: (await findById(run, accountId, newId))!, previous };
        refuse(previous);
        const expiresAt = Math.min(previous.expiresAt ?? oldUntil, oldUntil);
        const active = await countActive(run, accountId, author.at);
        if (active - (expiresAt <= author.at ? 1 : 0) >= MAXIMUM_ACTIVE_KEYS) return 'full';
        const { name, scopes, userId } = previous;
        const key = await insert(run, accountId, { ...secret, id: newId, name, scopes, userId, createdAt: author.at, expiresAt: previous.expiresAt });
        await run(`${OF_ACCOUNT} WHERE k.id = $id SET k.expiresAt = $expiresAt, k.replacedBy = $newId`, { accountId, id, expiresAt, newId });
        await record({ action: 'key.rotated', target: id, details: { replacedBy: newId, expiresAt } });
        return { key, previous: { ...previous, expiresAt, replacedBy: newId } };
      });
    },

    /** The key, revoked; one that was revoked already stays as it was. Null when the account has no such key. */
    revokeKey(accountId: string, id: string, author: Author, deadline: Deadline): Promise<ApiKey | null> {
      return change(accountId, author, deadline, async ({ run, record }) => {
        const key = await findById(run, accountId, id);
        if (key === null || key.revokedAt !== null) return key;
        await run(`${OF_ACCOUNT} WHERE k.id = $id SET k.revokedAt = $now`, { accountId, id, now: author.at });
        await record({ action: 'key.revoked', target: id, details: {} });
        return { ...key, revokedAt: author.at };
      });
    },

    /** Notes when keys were last used: at most once a minute a key, however many processes note it. Lost or late, it does no harm. */
    async noteUses(uses: readonly KeyUse[], deadline: Deadline): Promise<void> {
      await database.write(
        `UNWIND $rows AS row
         MATCH (k:ApiKey {id: row.id}) WHERE k.accountId = row.accountId AND coalesce(k.lastUsedAt, 0) <= row.at - $apart
         SET k.lock = true REMOVE k.lock
         WITH k, row WHERE coalesce(k.lastUsedAt, 0) <= row.at - $apart
         SET k.lastUsedAt = row.at`,
        { rows: [...uses].sort((a, b) => (a.id < b.id ? -1 : 1)), apart: USES_APART },
        deadline,
      );
    },
  };

  /** Changes an account and records it, changes of one account one after the other. `work` may run more than once. */
  function change<T>(accountId: string, author: Author, deadline: Deadline, work: (changing: Changing) => Promise<T>): Promise<T> {
    const entryId = uuid();
    return database.transaction(async (run) => {
      const { head, repeated } = await lockChain(run, accountId, entryId);
      return work({ run, repeated, record: (event) => append(run, head, recordOf(entryId, accountId, author, event)) });
    }, deadline);
  }
}

export type AccessStore = ReturnType<typeof createAccessStore>;

interface Changing {
  readonly run: Run;
  /** The change was committed before: it is to be answered, and not made again. */
  readonly repeated: boolean;
  /** Once, unless nothing changes. */
  readonly record: (event: AuditEvent) => Promise<void>;
}

async function findById(run: Run, accountId: string, id: string): Promise<ApiKey | null> {
  const [row] = await run(`${OF_ACCOUNT} WHERE k.id = $id RETURN ${KEY}`, { accountId, id });
  return row ? parseKey(row) : null;
}

async function countActive(run: Run, accountId: string, now: number): Promise<number> {
  const [row] = await run(`${OF_ACCOUNT} WHERE ${ACTIVE} RETURN count(k) AS count`, {
    accountId,
    now,
  });
  return row!['count'] as number;
}

async function insert(run: Run, accountId: string, key: NewApiKey): Promise<ApiKey> {
  const [row] = await run(
    `MATCH (a:Account {id: $accountId})
     CREATE (k:ApiKey)-[:OF]->(a)
     SET k = $key, k.accountId = a.id
     RETURN ${KEY}`,
    { accountId, key },
  );
  return parseKey(row!);
}

function parseKey(row: Row): ApiKey {
  const key = row['key'] as Row;
  const optional = <Value>(name: string) => (key[name] ?? null) as Value | null;
  return {
    id: key['id'] as string,
    hint: key['hint'] as string,
    name: optional('name'),
    scopes: key['scopes'] as Scope[],
    userId: optional('userId'),
    createdAt: key['createdAt'] as number,
    expiresAt: optional('expiresAt'),
    revokedAt: optional('revokedAt'),
    lastUsedAt: optional('lastUsedAt'),
    replacedBy: optional('replacedBy'),
  };
}
