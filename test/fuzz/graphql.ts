import fc from 'fast-check';
import {
  getNamedType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLSchema,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { STATUS_OF_CODE } from '../../src/errors.ts';
import { createSchema } from '../../src/graphql/schema.ts';
import type { Client, Reply } from '../testkit/client.ts';
import { naughty } from '../testkit/naughty.ts';

interface GraphQLRequest {
  readonly query: string;
  readonly variables: Record<string, unknown>;
}

const DEEPEST = 5;
const CODES = Object.keys(STATUS_OF_CODE).map((code) => code.toUpperCase());
const STATUSES = [200, 400];

/**
 * Sends documents that the schema allows, with whatever arguments, and looks at each answer. Returns how often there was data, and each code of an
 * error; throws with the shortest document that is wrongly answered.
 */
export async function fuzzGraphQL(client: Client, runs: number): Promise<Record<string, number>> {
  const known = await Promise.all(['First', 'Second'].map((content) => client.store({ content, user_id: 'maya', tags: ['x'] })));
  const requests = requestsOf(createSchema(), known);
  const answered: Record<string, number> = {};
  await fc.assert(
    fc.asyncProperty(requests, async ({ query, variables }) => {
      const reply = await client.graphql(query, variables);
      const problem = problemOf(reply);
      if (problem) throw new Error(`${problem}: ${query} ${JSON.stringify(variables)} → ${reply.story}`);
      const codes = reply.body.errors?.map(({ extensions }: { extensions: { code: string } }) => extensions.code) ?? [];
      for (const outcome of new Set<string>(reply.body.data ? ['data', ...codes] : codes)) answered[outcome] = (answered[outcome] ?? 0) + 1;
    }),
    { numRuns: runs, interruptAfterTimeLimit: 30 * 60_000, markInterruptAsFailure: true },
  );
  return answered;
}

function problemOf({ status, body }: Reply): string | null {
  if (!STATUSES.includes(status)) return `answered ${status}`;
  if (body === null || typeof body !== 'object') return 'is no JSON object';
  if (Object.keys(body).some((key) => !['data', 'errors'].includes(key))) return 'has more than data and errors';
  if (status === 400 && 'data' in body) return 'has data although it was refused';
  if (!('data' in body) && !body.errors) return 'has neither data nor errors';
  if (body.errors?.length === 0) return 'has an empty list of errors';
  for (const { message, extensions } of body.errors ?? []) {
    if (typeof message !== 'string' || message === '') return 'has an error without a message';
    if (!CODES.includes(extensions?.code) || extensions.status !== STATUS_OF_CODE[extensions.code.toLowerCase() as keyof typeof STATUS_OF_CODE])
      return `has an error of the code ${extensions?.code} and the status ${extensions?.status}`;
    if (extensions.code === 'INTERNAL') return 'failed';
    if (typeof extensions.requestId !== 'string') return 'has an error without a request id';
  }
  return null;
}

/** Documents of one operation with some of its root fields, arguments as literals and as variables. */
function requestsOf(schema: GraphQLSchema, ids: readonly string[]): fc.Arbitrary<GraphQLRequest> {
  const scalars = scalarsOf(ids);
  const scalarOf = (name: string) => scalars[name]!;
  return fc.gen().map((draw) => {
    const pick = <T>(values: readonly T[]) => values[draw(fc.nat, { max: values.length - 1 })]!;
    const chance = (share: number) => draw(fc.integer, { min: 1, max: 100 }) <= 100 * share;
    const variables: Record<string, unknown> = {};
    const declarations: string[] = [];

    function selectionOf(type: GraphQLObjectType, depth: number): string {
      const fields = Object.values(type.getFields()).filter((field) => depth < DEEPEST || !isCompositeType(getNamedType(field.type)));
      const chosen = fields.filter(() => chance(0.4));
      return `{ __typename ${chosen.map((field) => fieldOf(field, depth, '')).join(' ')} }`;
    }

    function fieldOf(field: GraphQLField<unknown, unknown>, depth: number, alias: string): string {
      const given = field.args.filter((argument) => (isNonNullType(argument.type) && argument.defaultValue === undefined) || chance(0.5));
      const type = getNamedType(field.type);
      const list = given.length > 0 ? `(${given.map(argumentOf).join(', ')})` : '';
      return `${alias}${field.name}${list}${isObjectType(type) ? ` ${selectionOf(type, depth + 1)}` : ''}`;
    }

    function argumentOf(argument: GraphQLArgument): string {
      if (chance(0.5)) return `${argument.name}: ${literalOf(argument.type)}`;
      const name = `v${declarations.length}`;
      declarations.push(`$${name}: ${String(argument.type)}`);
      // Now and then a value of any kind, which the type may not allow.
      variables[name] = chance(0.1) ? draw(fc.jsonValue) : valueOf(argument.type);
      return `${argument.name}: $${name}`;
    }

    function valueOf(type: GraphQLInputType): unknown {
      if (isNonNullType(type)) return valueOf(type.ofType);
      if (chance(0.1)) return null;
      if (isListType(type)) return Array.from({ length: draw(fc.integer, { min: 0, max: 4 }) }, () => valueOf(type.ofType));
      if (isEnumType(type)) return pick(type.getValues()).name;
      if (isInputObjectType(type)) return Object.fromEntries(inputFieldsOf(type.getFields()).map((field) => [field.name, valueOf(field.type)]));
      return draw(scalarOf, type.name);
    }

    function literalOf(type: GraphQLInputType): string {
      return literal(valueOf(type), type);
    }

    function inputFieldsOf(fields: Readonly<Record<string, GraphQLInputField>>): GraphQLInputField[] {
      return Object.values(fields).filter((field) => isNonNullType(field.type) || chance(0.4));
    }

    const root = (chance(0.6) ? schema.getQueryType() : schema.getMutationType())!;
    const fields = Object.values(root.getFields());
    const chosen = Array.from({ length: draw(fc.integer, { min: 1, max: 3 }) }, (_, at) => fieldOf(pick(fields), 0, `f${at}: `));
    const head = declarations.length > 0 ? ` Fuzz(${declarations.join(', ')})` : '';
    return { query: `${root === schema.getQueryType() ? 'query' : 'mutation'}${head} { ${chosen.join(' ')} }`, variables };
  });
}

/** A value as it is written in a document. */
function literal(value: unknown, type: GraphQLInputType): string {
  if (isNonNullType(type)) return literal(value, type.ofType);
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return `[${value.map((entry) => literal(entry, isListType(type) ? type.ofType : type)).join(', ')}]`;
  if (isEnumType(type)) return value as string;
  if (typeof value === 'object') {
    const fields = isInputObjectType(type) ? type.getFields() : {};
    const entries = Object.entries(value).filter(([name]) => /^[A-Za-z_]\w*$/.test(name));
    return `{${entries.map(([name, entry]) => `${name}: ${literal(entry, fields[name]?.type ?? type)}`).join(', ')}}`;
  }
  return JSON.stringify(value);
}

/** Values of each scalar: such as clients send, such as lie at an edge, and such as nobody should send. */
function scalarsOf(ids: readonly string[]): Readonly<Record<string, fc.Arbitrary<unknown>>> {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.constantFrom(...naughty),
    fc.constantFrom('maya', 'fact', 'x', 'First', '', '\0', '\ud800', 'x'.repeat(60_000)),
  );
  const whole = fc.oneof(fc.constantFrom(0, 1, 2, 3, -1, 20, 100, 101, 10_000, 2 ** 31 - 1, -(2 ** 31)), fc.integer());
  return {
    Boolean: fc.boolean(),
    Int: whole,
    SafeInt: fc.oneof(whole, fc.maxSafeInteger()),
    Float: fc.oneof(fc.constantFrom(0, 0.5, 1, -0, 1.1, 1e308), fc.double({ noNaN: true, noDefaultInfinity: true })),
    String: text,
    ID: fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...ids) }, fc.uuid(), text),
    DateTimeISO: fc.oneof(
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
      fc.constantFrom('2999-12-31T23:59:59Z', '2026-02-30T00:00:00Z', 'now'),
      text,
    ),
    JSONObject: fc.oneof(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.object(),
      fc.constant(JSON.parse('{"__proto__": {"a": 1}, "constructor": {}}')),
    ),
  };
}
