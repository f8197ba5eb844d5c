import type { z } from 'zod';
import { invalidParameter } from '../../errors.ts';

/** A page of a list that is read forward. */
export interface Page<Node> {
  readonly nodes: readonly Node[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  /** Names the node's place in the list. */
  readonly cursorOf: (node: Node) => string;
}

/** An opaque text that holds a place in a list. */
export function encodeCursor(place: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** The place that a cursor names; null without a cursor. Throws 400 when it is not a place in this list. */
export function decodeCursor<Place>(cursor: string | null, place: z.ZodType<Place>): Place | null {
  if (cursor === null) return null;
  const parsed = place.safeParse(jsonOf(Buffer.from(cursor, 'base64url').toString()));
  if (!parsed.success) throw invalidParameter([{ path: ['after'], message: 'must be a cursor that this list gave' }]);
  return parsed.data;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
