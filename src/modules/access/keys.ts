import { v7 as uuid } from 'uuid';
import type { Deadline } from '../../deadline.ts';
import { conflict, notFound } from '../../errors.ts';
import type { Author } from './audit.ts';
import { generateApiKey, hashApiKey, hintOf } from './key.ts';
import { type AccessStore, type ApiKey, MAXIMUM_ACTIVE_KEYS, type NewApiKey } from './store.ts';

export type KeyWish = Pick<NewApiKey, 'name' | 'scopes' | 'userId' | 'expiresAt'>;

/** A key that was just made: its text is nowhere else. */
export interface IssuedKey {
  readonly key: string;
  readonly apiKey: ApiKey;
}

export type KeyState = 'ACTIVE' | 'EXPIRED' | 'REVOKED';

export function stateOf({ revokedAt, expiresAt }: ApiKey, now: number): KeyState {
  if (revokedAt !== null) return 'REVOKED';
  return expiresAt !== null && expiresAt <= now ? 'EXPIRED' : 'ACTIVE';
}

/** Throws 409 when the account has as many active keys as it may have. */
export async function issueKey(store: AccessStore, accountId: string, wish: KeyWish, author: Author, deadline: Deadline): Promise<IssuedKey> {
  const key = generateApiKey();
  const created = await store.createKey(
    accountId,
    { ...wish, id: uuid(), hash: hashApiKey(key), hint: hintOf(key), createdAt: author.at },
    author,
    deadline,
  );
  if (created === 'full') throw tooManyKeys();
  if (created === 'taken') throw new Error('A random key was there already');
  return { key, apiKey: created };
}

/**
 * Replaces a key by a new one; both are valid for `grace` milliseconds. Throws 404, or 409 for a key that was revoked, has
 * expired or was replaced before.
 */
export async function rotateKey(
  store: AccessStore,
  accountId: string,
  { id, grace }: { id: string; grace: number },
  author: Author,
  deadline: Deadline,
): Promise<IssuedKey & { previous: ApiKey }> {
  const key = generateApiKey();
  const refuse = (old: ApiKey) => {
    const state = stateOf(old, author.at);
    if (state !== 'ACTIVE') throw conflict(`This key ${state === 'REVOKED' ? 'was revoked' : 'has expired'}; create a new one`);
    if (old.replacedBy !== null) throw conflict(`This key was replaced by ${old.replacedBy} already; rotate that one`);
  };
  const request = { id, hash: hashApiKey(key), hint: hintOf(key), oldUntil: author.at + grace, refuse };
  const rotated = await store.rotateKey(accountId, request, author, deadline);
  if (rotated === null) throw keyNotFound();
  if (rotated === 'full') throw tooManyKeys();
  return { key, apiKey: rotated.key, previous: rotated.previous };
}

/** 404, the same for a key of another account. */
export function keyNotFound(): Error {
  return notFound('API key not found');
}

function tooManyKeys(): Error {
  return conflict(`This account has ${MAXIMUM_ACTIVE_KEYS.toLocaleString('en')} active keys, the most it can have; revoke one first`);
}
