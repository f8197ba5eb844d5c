import { createHash } from 'node:crypto';

export type AuditAction = 'account.created' | 'account.plan_changed' | 'key.created' | 'key.rotated' | 'key.revoked' | 'memory.deleted';

/** Who changes something, and when: a key's id, `command` for the commands of the service, `start` for what its start sets up. */
export interface Author {
  readonly actor: string;
  readonly at: number;
}

/** A change that goes into an account's chain. Never a key, a content or a vector in it. */
export interface AuditEvent {
  readonly action: AuditAction;
  /** The id of what was changed. */
  readonly target: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** An entry of an account's chain. Each holds the hash of the one before, so that none can be changed, taken out or put in unseen. */
export interface AuditEntry {
  readonly id: string;
  readonly accountId: string;
  /** 1 for the first of the account. */
  readonly sequence: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  /** JSON text. */
  readonly details: string;
  readonly previousHash: string;
  readonly hash: string;
}

/** Where a chain ends: the number of its entries, and the hash of the last. */
export type ChainHead = Pick<AuditEntry, 'sequence' | 'hash'>;

/** Of a chain without entries. */
export const EMPTY_CHAIN: ChainHead = { sequence: 0, hash: '0'.repeat(64) };

/** An entry that waits for its place in the chain. */
export type AuditRecord = Omit<AuditEntry, 'sequence' | 'previousHash' | 'hash'>;

/** `id` is made before the transaction: by it a repeat of one that had committed knows that it is a repeat. */
export function recordOf(id: string, accountId: string, { actor, at }: Author, { action, target, details }: AuditEvent): AuditRecord {
  const sorted = Object.entries(details).sort(([a], [b]) => (a < b ? -1 : 1));
  return { id, accountId, at, actor, action, target, details: JSON.stringify(Object.fromEntries(sorted)) };
}

/** The record as the entry that follows on `head`. */
export function entryAfter(head: ChainHead, record: AuditRecord): AuditEntry {
  const entry = { ...record, sequence: head.sequence + 1, previousHash: head.hash };
  return { ...entry, hash: hashOf(entry) };
}

/** SHA-256, in hex, of the JSON array of all fields but the hash itself, in this order. */
export function hashOf(entry: Omit<AuditEntry, 'hash'>): string {
  const { accountId, sequence, id, at, actor, action, target, details, previousHash } = entry;
  return createHash('sha256')
    .update(JSON.stringify([accountId, sequence, id, at, actor, action, target, details, previousHash]))
    .digest('hex');
}
