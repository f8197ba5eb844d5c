import { z } from 'zod';
import { rules } from '../modules/memory/input.ts';

/** A query parameter that holds a number, checked by the rule of its field. */
export function number<Rule extends z.ZodType<unknown, number>>(rule: Rule) {
  return z
    .string()
    .transform((text) => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text))
    .pipe(rule as unknown as z.ZodType<z.output<Rule>, string | number>)
    .meta({ type: 'number' });
}

/** A page size, with its default. */
export function limit(rule: z.ZodType<number, number | undefined>) {
  return z
    .string()
    .optional()
    .transform((text) => (text !== undefined && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text))
    .pipe(rule as unknown as z.ZodType<number, string | number | undefined>);
}

export const flag = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((text) => text === 'true')
  .meta({ type: 'boolean' });

const numbers = (text: string): (string | number)[] => commaSeparated(text).map((part) => (/^\d+$/.test(part) ? Number(part) : part));

export const tier = number(rules.tier);
export const tiers = z
  .string()
  .transform(numbers)
  .pipe(z.array(rules.tier as z.ZodType<number, string | number>).min(1, { error: 'must name at least one tier' }));
export const tags = z
  .string()
  .transform(commaSeparated)
  .pipe(rules.tags.min(1, { error: 'must name at least one tag' }));

function commaSeparated(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
