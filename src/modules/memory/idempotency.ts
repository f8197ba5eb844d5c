import { createHash } from 'node:crypto';

/** Milliseconds for which a key stands for its first request. */
export const KEYS_KEPT = 24 * 3_600_000;

/** What a write is told apart from others by, so that its repeat answers what the first one did. */
export interface Idempotency {
  /** The caller's key, within the account. */
  readonly id: string;
  /** Of the whole request: another one under the same key is a conflict. */
  readonly fingerprint: string;
}

/** The key of an account as it is kept. */
export function idempotencyOf(accountId: string, key: string, request: readonly unknown[]): Idempotency {
  return { id: digest([accountId, key]), fingerprint: digest(request) };
}

function digest(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
