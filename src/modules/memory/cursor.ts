import { createHash } from 'node:crypto';
import { invalidParameter } from '../../errors.ts';
import type { MemoryFilter } from './filter.ts';
import type { Position } from './store.ts';

/** An opaque text that names a place in one list: it fits no other filter, order or account. */
export function encodeCursor({ createdAt, id }: Position, filter: MemoryFilter, newestFirst: boolean): string {
  return Buffer.from(JSON.stringify([listOf(filter, newestFirst), createdAt, id])).toString('base64url');
}

/** The place that a cursor names. Throws 400 when it is not a cursor of this list. */
export function decodeCursor(cursor: string, filter: MemoryFilter, newestFirst: boolean): Position {
  let decoded: unknown;
  try {
    decoded = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    decoded = null;
  }
  const [list, createdAt, id] = Array.isArray(decoded) ? (decoded as unknown[]) : [];
  if (list === listOf(filter, newestFirst) && Number.isSafeInteger(createdAt) && typeof id === 'string')
    return { createdAt: createdAt as number, id };
  throw invalidParameter([{ path: ['after'], message: 'must be a cursor that this list gave, with the same filters and order' }]);
}

function listOf(filter: MemoryFilter, newestFirst: boolean): string {
  const { visibility, sessionId, tiers, type, tags, createdAfter, createdBefore, archived } = filter;
  const parts = [visibility.accountId, visibility.scopes, sessionId, tiers, type, tags, createdAfter, createdBefore, archived, newestFirst];
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 16);
}
