import { createHash } from 'node:crypto';
import { z } from 'zod';
import * as cursors from '../../cursor.ts';
import type { MemoryFilter } from './filter.ts';
import type { Position } from './store.ts';

/** An opaque text that names a place in one list: it fits no other filter, order or account. */
export function encodeCursor({ createdAt, id }: Position, filter: MemoryFilter, newestFirst: boolean): string {
  return cursors.encodeCursor([listOf(filter, newestFirst), createdAt, id]);
}

/** The place that a cursor names. Throws 400 when it is not a cursor of this list. */
export function decodeCursor(cursor: string, filter: MemoryFilter, newestFirst: boolean): Position {
  const place = z.tuple([z.literal(listOf(filter, newestFirst)), z.int(), z.string()]);
  const [, createdAt, id] = cursors.decodeCursor(cursor, place, 'must be a cursor that this list gave, with the same filters and order');
  return { createdAt, id };
}

function listOf(filter: MemoryFilter, newestFirst: boolean): string {
  const { visibility, sessionId, tiers, type, tags, createdAfter, createdBefore, archived } = filter;
  const parts = [visibility.accountId, visibility.scopes, sessionId, tiers, type, tags, createdAfter, createdBefore, archived, newestFirst];
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 16);
}
