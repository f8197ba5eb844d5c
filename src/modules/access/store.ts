import type { Database, Row } from '../../graph/database.ts';
import type { Deadline } from '../../deadline.ts';
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
}

export interface NewApiKey extends Omit<ApiKey, 'revokedAt'> {
  readonly hash: string;
}

const KEY_FIELDS = 'k { .id, .hint, .name, .scopes, .userId, .createdAt, .expiresAt, .revokedAt, .hash } AS key';

/** Accounts and keys in the graph. */
export function createAccessStore(database: Database) {
  return {
    /** The key with this hash and its account, revoked and expired ones included. */
    async findKey(hash: string, deadline: Deadline): Promise<{ key: ApiKey; hash: string; account: Account } | null> {
      const [row] = await database.read(
        `MATCH (k:ApiKey {hash: $hash})-[:OF]->(a:Account) RETURN ${KEY_FIELDS}, a { .id, .name, .plan } AS account`,
        { hash },
        deadline,
      );
      if (!row) return null;
      return { key: parseKey(row), hash: (row['key'] as Row)['hash'] as string, account: row['account'] as Account };
    },

    async listAccounts(deadline: Deadline): Promise<(Account & { createdAt: number; keys: number })[]> {
      const rows = await database.read(
        `MATCH (a:Account)
         RETURN a { .id, .name, .plan, .createdAt, keys: COUNT { (k:ApiKey)-[:OF]->(a) WHERE k.revokedAt IS NULL } } AS account ORDER BY a.createdAt, a.id`,
        {},
        deadline,
      );
      return rows.map((row) => row['account'] as Account & { createdAt: number; keys: number });
    },

    /** Creates the account unless the name is taken; the account of that name and whether it is new. */
    async createAccount(account: Account, now: number, deadline: Deadline): Promise<{ account: Account; created: boolean }> {
      const [row] = await database.write(
        `MERGE (a:Account {name: $account.name})
         ON CREATE SET a.id = $account.id, a.plan = $account.plan, a.createdAt = $now
         RETURN a { .id, .name, .plan } AS account`,
        { account, now },
        deadline,
      );
      const stored = row!['account'] as Account;
      return { account: stored, created: stored.id === account.id };
    },

    /** False when there is no such account, or the key belongs to another one. A repeat changes nothing. */
    async createKey(accountName: string, key: NewApiKey, deadline: Deadline): Promise<boolean> {
      const rows = await database.write(
        `MATCH (a:Account {name: $accountName})
         MERGE (k:ApiKey {hash: $key.hash})
         ON CREATE SET k += $key, k.accountId = a.id
         WITH a, k WHERE k.accountId = a.id
         MERGE (k)-[:OF]->(a)
         RETURN k.id`,
        { accountName, key },
        deadline,
      );
      return rows.length > 0;
    },

    async listKeys(accountName: string, deadline: Deadline): Promise<ApiKey[]> {
      const rows = await database.read(
        `MATCH (k:ApiKey)-[:OF]->(:Account {name: $accountName}) RETURN ${KEY_FIELDS} ORDER BY k.createdAt, k.id`,
        { accountName },
        deadline,
      );
      return rows.map(parseKey);
    },

    /** Revokes by id; false when the account has no such key. */
    async revokeKey(accountName: string, id: string, now: number, deadline: Deadline): Promise<boolean> {
      const rows = await database.write(
        `MATCH (k:ApiKey {id: $id})-[:OF]->(:Account {name: $accountName})
         SET k.revokedAt = coalesce(k.revokedAt, $now)
         RETURN k.id`,
        { accountName, id, now },
        deadline,
      );
      return rows.length > 0;
    },
  };
}

export type AccessStore = ReturnType<typeof createAccessStore>;

function parseKey(row: Row): ApiKey {
  const key = row['key'] as Row;
  return {
    id: key['id'] as string,
    hint: key['hint'] as string,
    name: (key['name'] as string | null) ?? null,
    scopes: key['scopes'] as Scope[],
    userId: (key['userId'] as string | null) ?? null,
    createdAt: key['createdAt'] as number,
    expiresAt: (key['expiresAt'] as number | null) ?? null,
    revokedAt: (key['revokedAt'] as number | null) ?? null,
  };
}
