import type { FieldProblem } from '../errors.ts';

/** The strong entity tag of a memory's version. */
export function etagOf(version: number): string {
  return `"${version}"`;
}

/** One entity tag and the comma after it; a comma within quotes belongs to its tag. */
const TAG = /\s*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*(?:,|$)/gy;

/** Whether the caller of If-None-Match has this tag already; a weak one counts too. */
export function isKnown(header: string | undefined, etag: string): boolean {
  return header !== undefined && (header.trim() === '*' || (tagsOf(header)?.some(({ tag }) => `"${tag}"` === etag) ?? false));
}

/** The versions that If-Match asks for; null: any. A tag that names no version, or is weak, fits none. */
export function versionsOf(header: string | undefined): { versions: number[] | null } | { problem: FieldProblem } {
  if (header === undefined || header.trim() === '*') return { versions: null };
  const tags = tagsOf(header);
  if (!tags) return { problem: { path: ['If-Match'], message: `must be * or ETags such as "3", comma-separated; got ${header.slice(0, 60)}` } };
  return { versions: tags.flatMap(({ weak, tag }) => (!weak && /^[1-9]\d{0,8}$/.test(tag) ? [Number(tag)] : [])) };
}

function tagsOf(header: string): { weak: boolean; tag: string }[] | null {
  const tags = [...header.matchAll(TAG)];
  const isWhole = tags.reduce((length, [all]) => length + all.length, 0) === header.length && !/,\s*$/.test(header);
  return tags.length > 0 && isWhole ? tags.map(([, weak, tag]) => ({ weak: weak !== undefined, tag: tag! })) : null;
}
