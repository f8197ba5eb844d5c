import type { FieldProblem } from '../errors.ts';

/** The strong entity tag of a memory's version. */
export function etagOf(version: number): string {
  return `"${version}"`;
}

/** One entity tag; a comma within quotes belongs to it. */
const TAG = String.raw`(?:W/)?"[!#-~\x80-\xff]*"`;
/** What an If-Match is: any version, or one of these. */
export const IF_MATCH = new RegExp(String.raw`^(?:\*|${TAG}(?:\s*,\s*${TAG})*)$`);

/** Whether the caller of If-None-Match has this tag already; a weak one counts too. */
export function isKnown(header: string | undefined, etag: string): boolean {
  return header !== undefined && (header === '*' || (tagsOf(header)?.some(({ tag }) => `"${tag}"` === etag) ?? false));
}

/** The versions that If-Match asks for; null: any. A tag that names no version, or is weak, fits none. */
export function versionsOf(header: string | undefined): { versions: number[] | null } | { problem: FieldProblem } {
  if (header === undefined || header === '*') return { versions: null };
  const tags = tagsOf(header);
  if (!tags) return { problem: { path: ['If-Match'], message: `must be * or ETags such as "3", comma-separated; got ${header.slice(0, 60)}` } };
  return { versions: tags.flatMap(({ weak, tag }) => (!weak && /^[1-9]\d{0,8}$/.test(tag) ? [Number(tag)] : [])) };
}

function tagsOf(header: string): { weak: boolean; tag: string }[] | null {
  if (!IF_MATCH.test(header)) return null;
  return [...header.matchAll(/(W\/)?"([^"]*)"/g)].map(([, weak, tag]) => ({ weak: weak !== undefined, tag: tag! }));
}
