import { forbidden } from '../../errors.ts';

export const SCOPES = ['memory:read', 'memory:write', 'memory:delete', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly plan: string;
}

/** Who is calling: an account, through one of its keys. */
export interface Principal {
  readonly account: Account;
  readonly keyId: string;
  readonly keyHint: string;
  readonly scopes: readonly Scope[];
  /** The user that the key is bound to: then every request is that user's. */
  readonly boundUserId: string | null;
}

/** The user a request speaks for: the one given, or the one the key is bound to. Throws 403 when they differ. */
export function effectiveUserId(principal: Principal, userId: string | null | undefined): string | null {
  if (principal.boundUserId === null) return userId ?? null;
  if (userId != null && userId !== principal.boundUserId)
    throw forbidden(`This key is bound to user_id '${principal.boundUserId}' and can't be used for another user`);
  return principal.boundUserId;
}
