import type { z } from 'zod';
import { invalidParameter } from './errors.ts';

/** An opaque text that holds a place in a list. */
export function encodeCursor(place: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** The place that a cursor names. Throws 400 when it is not a place in this list. */
export function decodeCursor<Place>(cursor: string, place: z.ZodType<Place>, expected = 'must be a cursor that this list gave'): Place {
  const parsed = place.safeParse(jsonOf(Buffer.from(cursor, 'base64url').toString()));
  if (!parsed.success) throw invalidParameter([{ path: ['after'], message: expected }]);
  return parsed.data;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
