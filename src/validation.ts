import { z } from 'zod';
import { type FieldProblem, invalidParameter } from './errors.ts';

/** Parses `value` or throws a 400 that lists every wrong field, what was expected and what came. */
export function parseOrThrow<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalidParameter(problemsOf(parsed.error, value));
}

/** The problems of a failed parse of `value`, each with what came. */
export function problemsOf(error: z.ZodError, value: unknown): FieldProblem[] {
  return error.issues.map((issue) => {
    const path = issue.path.filter((part) => typeof part !== 'symbol');
    const came = path.reduce<unknown>((parent, part) => (parent as Record<string | number, unknown> | null | undefined)?.[part], value);
    return { path, message: came === undefined ? issue.message : `${issue.message}; got ${show(came)}` };
  });
}

/** A value for an error message: short, and never the whole of a long text. */
function show(value: unknown): string {
  if (typeof value === 'string' && value.length > 60) return `a string of ${codePoints(value)} characters`;
  if (Array.isArray(value) && value.length > 5) return `a list of ${value.length}`;
  if (typeof value === 'bigint' || typeof value === 'number') return String(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'an invalid date' : value.toISOString();
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (value !== null && typeof value === 'object') return 'an object';
  return JSON.stringify(value)?.toWellFormed() ?? typeof value;
}

/** The length of a text in code points. */
export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** Valid Unicode without NUL: what the database, the index and JSON can all hold. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

const required =
  (expected: string) =>
  ({ input }: { input?: unknown }) =>
    input === undefined ? 'is required' : expected;

/** A string of `minimum` to `maximum` code points. */
export function text(minimum: number, maximum: number) {
  const expected = `must be a string of ${minimum} to ${maximum.toLocaleString('en')} characters`;
  return z
    .string({ error: required(expected) })
    .refine((value) => value.length <= maximum * 2 && inRange(codePoints(value), minimum, maximum), { error: expected })
    .refine(isStorable, { error: 'must be valid Unicode without NUL' })
    .meta({ minLength: minimum, maxLength: maximum, pattern: '^[^\\x00]*$' });
}

/** A text of which leading and trailing white space does not count. */
export function trimmedText(minimum: number, maximum: number) {
  const expected = `must be a string of ${minimum} to ${maximum.toLocaleString('en')} characters, not counting white space around it`;
  return z
    .string({ error: required(expected) })
    .transform((value) => value.trim())
    .refine((value) => value.length <= maximum * 2 && inRange(codePoints(value), minimum, maximum), { error: expected })
    .refine(isStorable, { error: 'must be valid Unicode without NUL' })
    .meta({ minLength: minimum, maxLength: maximum, pattern: String.raw`^[^\x00]*[^\s\x00][^\x00]*$` });
}

/** A whole number within bounds. */
export function whole(minimum: number, maximum: number, expected = `must be a whole number from ${minimum} to ${maximum.toLocaleString('en')}`) {
  return z
    .int({ error: required(expected) })
    .min(minimum, { error: expected })
    .max(maximum, { error: expected });
}

/** A page size: above `maximum` it is taken as the maximum. */
export function pageSize(maximum: number, standard: number) {
  const expected = 'must be a whole number of 1 or more';
  return z
    .number({ error: required(expected) })
    .refine((value) => value >= 1 && Number.isInteger(value), { error: expected })
    .transform((value) => Math.min(value, maximum))
    .default(standard)
    .meta({ openapi: { type: 'integer', minimum: 1, default: standard } });
}

const ISO_TIME = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;
const EXPECTED_TIME = 'must be an ISO 8601 time such as 2026-03-01T09:30:00Z, before the year 9999';
/** In UTC years of four digits; from the year 9999 on a time means never. */
const EARLIEST = Date.parse('0000-01-01T00:00:00Z');
const LATEST = Date.parse('9999-01-01T00:00:00Z');

/** A time: an ISO 8601 text (UTC unless it carries an offset) or a Date. */
export const time = z
  .union([z.string(), z.date()], { error: required(EXPECTED_TIME) })
  .transform((value, issue) => {
    const milliseconds = value instanceof Date ? value.getTime() : parseTime(value);
    if (milliseconds >= EARLIEST && milliseconds < LATEST) return new Date(milliseconds);
    issue.addIssue({ code: 'custom', message: EXPECTED_TIME });
    return z.NEVER;
  })
  .meta({ openapi: { type: 'string', format: 'date-time', pattern: '^(?!9999)' } });

function parseTime(text: string): number {
  const match = ISO_TIME.exec(text);
  if (!match) return NaN;
  const [, year, month, day, hour = '00', minute = '00', second = '00', fraction = '', offset = 'Z'] = match;
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`);
  if (date.getUTCDate() !== Number(day)) return NaN; // 30 February
  const zone = offset.toUpperCase() === 'Z' ? 'Z' : `${offset.slice(0, 3)}:${offset.slice(3).replace(':', '') || '00'}`;
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.padEnd(3, '0').slice(0, 3)}${zone}`);
}

/** A JSON object of at most `bytes` as JSON text and `levels` deep, of which every string can be stored and every number is finite. */
export function jsonObject(bytes: number, levels: number) {
  return z
    .custom<Record<string, unknown>>((value) => value !== null && typeof value === 'object' && !Array.isArray(value), {
      error: required('must be a JSON object'),
    })
    .superRefine((value, issue) => {
      const problem = findJsonProblem(value, levels);
      if (problem) return issue.addIssue({ code: 'custom', message: problem });
      if (Buffer.byteLength(JSON.stringify(value)) > bytes)
        issue.addIssue({ code: 'custom', message: `must be at most ${bytes / 1024} KiB as JSON` });
    })
    .meta({ openapi: { type: 'object', additionalProperties: true } });
}

/** Walks without recursion, because the depth is the caller's to choose. */
function findJsonProblem(root: unknown, levels: number): string | null {
  const waiting: [value: unknown, level: number][] = [[root, 1]];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [value, level] = next;
    if (typeof value === 'string' && !isStorable(value)) return 'must hold only valid Unicode without NUL';
    if (typeof value === 'number' && !Number.isFinite(value)) return 'must hold only finite numbers';
    if (value === null || typeof value !== 'object') continue;
    if (level > levels) return `must be at most ${levels} levels deep`;
    for (const [key, child] of Object.entries(value)) {
      if (!isStorable(key)) return 'must have keys of valid Unicode without NUL';
      waiting.push([child, level + 1]);
    }
  }
  return null;
}

function inRange(value: number, minimum: number, maximum: number): boolean {
  return value >= minimum && value <= maximum;
}

/** The parts of a comma-separated text, without white space around them and without empty ones. */
export function commaSeparated(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** An explicit null of one of the fields (absent: of any) means absent, except where a change says so. */
export function withoutNulls(value: object, fields?: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([name, entry]) => entry !== null || fields?.includes(name) === false));
}
