import { v7 as uuid } from 'uuid';
import { deadlineIn } from '../../src/deadline.ts';
import type { Author } from '../../src/modules/access/audit.ts';
import { generateApiKey, hashApiKey, hintOf } from '../../src/modules/access/key.ts';
import type { Scope } from '../../src/modules/access/principal.ts';
import type { AccessStore } from '../../src/modules/access/store.ts';
import { Client } from './client.ts';

export interface KeyOptions {
  readonly scopes?: readonly Scope[];
  readonly userId?: string | null;
  readonly expiresAt?: number | null;
}

/** The author of what a test changes without going through the API. */
export const byCommand = (): Author => ({ actor: 'command', at: Date.now() });

/** A client with a key of a new account. */
export async function addAccount(access: AccessStore, url: string, options: KeyOptions & { plan?: string } = {}): Promise<Client> {
  const account = { id: uuid(), name: `test-${uuid()}`, plan: options.plan ?? 'self_hosted' };
  await access.createAccount(account, byCommand(), deadlineIn(30_000));
  return addKey(access, url, account, options);
}

/** A client with a further key of an account. */
export async function addKey(
  access: AccessStore,
  url: string,
  account: Client['account'],
  { scopes = ['admin'], userId = null, expiresAt = null }: KeyOptions,
): Promise<Client> {
  const key = generateApiKey();
  const id = uuid();
  const author = byCommand();
  const created = { id, hash: hashApiKey(key), hint: hintOf(key), name: null, scopes, userId, createdAt: author.at, expiresAt };
  await access.createKey(account.id, created, author, deadlineIn(30_000));
  return new Client(url, key, account, id);
}
