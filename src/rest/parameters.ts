import { z } from 'zod';
import { commaSeparated, pageSize } from '../validation.ts';
import { rules } from '../modules/memory/input.ts';

/** A query parameter that holds a number, checked by the rule of its field; `openapi` is what the document says of it. */
export function number<Rule extends z.ZodType>(rule: Rule, openapi: object) {
  return z
    .string()
    .transform(numeric)
    .pipe(rule as unknown as z.ZodType<z.output<Rule>, string | number>)
    .meta({ openapi });
}

/** A page size, with its default. */
export function limit(maximum: number, standard: number) {
  return z
    .string()
    .optional()
    .transform((text) => (text === undefined ? undefined : numeric(text)))
    .pipe(pageSize(maximum, standard))
    .meta({ openapi: { type: 'integer', minimum: 1, default: standard }, description: `How many; above ${maximum} it is taken as ${maximum}.` });
}

export const flag = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((text) => text === 'true')
  .meta({ openapi: { type: 'boolean' } });

export const tier = number(rules.tier, { type: 'integer', enum: [0, 1, 2, 3] });
export const tiers = z
  .string()
  .transform((text) => commaSeparated(text).map(numeric))
  .pipe(z.array(rules.tier as unknown as z.ZodType<0 | 1 | 2 | 3, string | number>).min(1, { error: 'must name at least one tier' }))
  .meta({ openapi: { type: 'string', pattern: listOf('[0-3]') } });
export const tags = z
  .string()
  .transform(commaSeparated)
  .pipe(rules.tags.min(1, { error: 'must name at least one tag' }))
  .meta({ openapi: { type: 'string', pattern: listOf(String.raw`[^\s,\x00](?:[^,\x00]{0,98}[^\s,\x00])?`, 50) } });

/** The pattern of a comma-separated list. White space around an entry does not count, nor does an empty one. */
function listOf(entry: string, maximum?: number): string {
  return String.raw`^[\s,]*${entry}(?:\s*,[\s,]*${entry})${maximum === undefined ? '*' : `{0,${maximum - 1}}`}[\s,]*$`;
}

/** The number that a text writes, or the text, for the field's rule to refuse. */
function numeric(text: string): string | number {
  return /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) ? Number(text) : text;
}
