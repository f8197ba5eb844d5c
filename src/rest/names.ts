import type { FieldProblem } from '../errors.ts';

/** REST's names for what the domain calls otherwise than in snake_case. */
const REST_NAMES: Readonly<Record<string, string>> = {
  query: 'q',
  first: 'limit',
  after: 'cursor',
  createdAfter: 'after',
  createdBefore: 'before',
  ifVersion: 'If-Match',
  idempotencyKey: 'Idempotency-Key',
};

/** `userId` as `user_id`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** `user_id` as `userId`. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The keys of an object one level deep in snake_case. */
export function snakeCaseKeys<Value>(object: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [snakeCase(key), value]));
}

/** The keys of an object one level deep in camelCase. */
export function camelCaseKeys<Value>(object: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [camelCase(key), value]));
}

/** A problem that the domain found, under REST's name for the field. */
export function inRestNames({ path, message }: FieldProblem): FieldProblem {
  const [first, ...others] = path;
  return { path: first === undefined ? [] : [typeof first === 'string' ? (REST_NAMES[first] ?? snakeCase(first)) : first, ...others], message };
}

/** Parameters and fields of reads: whatever is not known is refused, because a filter that is ignored widens what is seen. */
export function unknownNames(given: readonly string[], known: readonly string[], what: string): FieldProblem[] {
  return given
    .filter((name) => !known.includes(name))
    .map((name) => ({ path: [name], message: `is not a known ${what}; known are ${known.length > 0 ? known.join(', ') : 'none'}` }));
}

/** Fields of writes: a misspelt one is refused, any other unknown one is ignored with a warning. */
export function unknownFields(given: readonly string[], known: readonly string[]): { problems: FieldProblem[]; warnings: string[] } {
  const problems: FieldProblem[] = [];
  const warnings: string[] = [];
  const byCanonical = new Map(known.map((name) => [canonical(name), name]));
  for (const name of given) {
    if (known.includes(name)) continue;
    const meant = byCanonical.get(canonical(name));
    if (meant) problems.push({ path: [name], message: `is not a known field; did you mean ${meant}?` });
    else warnings.push(`unknown field '${name}' was ignored`);
  }
  return { problems, warnings };
}

function canonical(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '');
}
