import type { z } from 'zod';
import type { Caller } from '../../context.ts';
import { decodeCursor, encodeCursor } from '../../cursor.ts';
import { forbidden, invalidParameter } from '../../errors.ts';
import { parseOrThrow, withoutNulls } from '../../validation.ts';
import type { Plan, Plans } from '../usage/plans.ts';
import type { AuditEntry } from './audit.ts';
import type { AuditLog } from './audit-log.ts';
import { AuditPlace, KeyPlace, NewKeyInput, PageInput, RotationInput } from './input.ts';
import { type IssuedKey, issueKey, keyNotFound, rotateKey } from './keys.ts';
import type { Page } from './page.ts';
import { authorise, type Operation } from './scopes.ts';
import type { AccessStore, ApiKey, StoredAccount } from './store.ts';

export interface AccessDependencies {
  readonly store: AccessStore;
  readonly auditLog: AuditLog;
  readonly plans: Plans;
  readonly now: () => number;
}

export interface AccountView extends StoredAccount {
  readonly limits: Plan;
}

interface PageRequest {
  readonly first: number;
  readonly after: string | null;
}

/** The account of one caller, its keys and its audit log. Every method authorises, then validates, then acts. */
export function createAccessService({ store, auditLog, plans, now }: AccessDependencies, { principal, deadline }: Caller) {
  const accountId = principal.account.id;
  const author = () => ({ actor: principal.keyId, at: now() });

  /** A key that is bound to a user could otherwise make one that is not. */
  function administer(operation: Operation): void {
    authorise(principal, operation);
    if (principal.boundUserId !== null) throw forbidden(`This key is bound to user_id '${principal.boundUserId}' and can't manage the account`);
  }

  return {
    async account(): Promise<AccountView> {
      administer('account');
      const account = await store.findAccount(accountId, deadline);
      if (account === null) throw new Error(`The account ${accountId} is gone, and its key is still there`);
      return { ...account, limits: plans.of(account.plan) };
    },

    async listKeys({ first, after }: PageRequest): Promise<Page<ApiKey>> {
      administer('apiKeys');
      const limit = parseOrThrow(PageInput, { first }).first;
      const place = after === null ? null : decodeCursor(after, KeyPlace);
      const position = place && { createdAt: place[1], id: place[2] };
      return pageOf(await store.listKeys(accountId, position, limit + 1, deadline), limit, place, ({ createdAt, id }) => ['keys', createdAt, id]);
    },

    async createKey(input: object): Promise<IssuedKey> {
      administer('createApiKey');
      const { name, scopes, userId = null, expiresAt } = parseOrThrow(NewKeyInput, withoutNulls(input));
      const by = author();
      if (expiresAt && expiresAt.getTime() <= by.at)
        throw invalidParameter([{ path: ['expiresAt'], message: `must be in the future; got ${expiresAt.toISOString()}` }]);
      return issueKey(store, accountId, { name, scopes, userId, expiresAt: expiresAt?.getTime() ?? null }, by, deadline);
    },

    async rotateKey(id: string, given: z.input<typeof RotationInput>): Promise<IssuedKey & { previous: ApiKey }> {
      administer('rotateApiKey');
      const { graceSeconds } = parseOrThrow(RotationInput, given);
      return rotateKey(store, accountId, { id, grace: graceSeconds * 1_000 }, author(), deadline);
    },

    async revokeKey(id: string): Promise<ApiKey> {
      administer('revokeApiKey');
      const key = await store.revokeKey(accountId, id, author(), deadline);
      if (key === null) throw keyNotFound();
      return key;
    },

    async readAuditLog({ first, after }: PageRequest): Promise<Page<AuditEntry>> {
      administer('auditLog');
      const limit = parseOrThrow(PageInput, { first }).first;
      const place = after === null ? null : decodeCursor(after, AuditPlace);
      const entries = await auditLog.readPage(accountId, place?.[1] ?? Number.MAX_SAFE_INTEGER, limit + 1, deadline);
      return pageOf(entries, limit, place, ({ sequence }) => ['audit', sequence]);
    },
  };
}

export type AccessService = ReturnType<typeof createAccessService>;

/** `nodes` are one more than `limit` when the list goes on. */
function pageOf<Node>(nodes: readonly Node[], limit: number, after: unknown, placeOf: (node: Node) => readonly unknown[]): Page<Node> {
  return {
    nodes: nodes.slice(0, limit),
    hasNextPage: nodes.length > limit,
    hasPreviousPage: after !== null,
    cursorOf: (node) => encodeCursor(placeOf(node)),
  };
}
