import { createHash } from 'node:crypto';

/**
 * One word of letters and digits that stands for its parts. It ends in a digit, so that no full-text analyzer stems or
 * splits it, and it is a hash, so that nothing a caller sends can be read as Lucene syntax.
 */
export function token(kind: string, ...parts: readonly string[]): string {
  return `${kind}${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)}0`;
}

export const accountToken = (accountId: string) => token('a', accountId);
export const tagToken = (accountId: string, tag: string) => token('t', accountId, tag);
export const typeToken = (accountId: string, type: string) => token('k', accountId, type);
export const tierToken = (tier: number) => `tier${tier}`;
export const sessionToken = (accountId: string, sessionId: string) => token('s', accountId, sessionId);
export const archivedToken = (archived: boolean) => `archived${archived ? 1 : 0}`;

/** Who sees a memory: a user, everyone of the account (shared), or the account as a whole alone. */
export function scopeOf({ accountId, userId, tier }: { accountId: string; userId: string | null; tier: number }): string {
  if (userId !== null) return userScope(accountId, userId);
  return tier === 3 ? sharedScope(accountId) : token('w', accountId);
}

export const userScope = (accountId: string, userId: string) => token('u', accountId, userId);
export const sharedScope = (accountId: string) => token('o', accountId);

/**
 * What a request may see; every statement is bound to one. `scopes` null: the whole account. The account id is always
 * there and always checked, whatever the scopes.
 */
export interface Visibility {
  readonly accountId: string;
  readonly scopes: readonly string[] | null;
}

/** A request for a user sees that user's memories and the account's shared ones; one without sees the whole account. */
export function visibilityOf(accountId: string, userId: string | null): Visibility {
  return { accountId, scopes: userId === null ? null : [userScope(accountId, userId), sharedScope(accountId)] };
}
