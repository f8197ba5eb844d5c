import type { FastifyReply, FastifyRequest } from 'fastify';
import { type DocumentNode, execute, type GraphQLSchema, Kind, validate } from 'graphql';
import { z } from 'zod';
import type { Context } from '../context.ts';
import { type FieldProblem, invalidParameter, type ServiceError } from '../errors.ts';
import { serviceErrorOf } from '../graphql/errors.ts';
import { rules } from '../modules/memory/input.ts';
import { problemsOf, withoutNulls } from '../validation.ts';
import { etagOf, isKnown, versionsOf } from './conditional.ts';
import { inRestNames, unknownFields, unknownNames } from './names.ts';
import type { Call, Input, Route } from './route.ts';

export type Handler = (request: FastifyRequest, reply: FastifyReply, context: Context) => Promise<unknown>;

/** Turns a route into a handler: reads the request, runs the operation in process, writes the answer. Throws ServiceErrors. */
export function createHandler(route: Route, schema: GraphQLSchema): Handler {
  const read = createReader(route);
  return async (request, reply, context) => {
    const { input, warnings } = read(request);
    const data = await run(route.call(input), schema, context);
    const { body, status, headers, version } = route.answer(data, input);
    if (version !== undefined) reply.header('etag', etagOf(version));
    if (version !== undefined && route.conditional === 'If-None-Match' && isKnown(request.headers['if-none-match'], etagOf(version)))
      return reply.code(304).send();
    return reply
      .code(status ?? 200)
      .headers(headers ?? {})
      .send(warnings.length > 0 ? { ...body, warnings } : body);
  };
}

/** Throws unless every operation that the REST API runs fits the schema: called at start, so that a drift never waits for a request. */
export function validateOperations(documents: Iterable<DocumentNode>, schema: GraphQLSchema): void {
  for (const document of documents) {
    if (document.definitions[0]?.kind !== Kind.OPERATION_DEFINITION) continue;
    const [error] = validate(schema, document);
    if (error) throw new Error(`An operation of the REST API does not fit the schema: ${error.message}`);
  }
}

async function run({ document, variables }: Call<unknown>, schema: GraphQLSchema, contextValue: Context): Promise<unknown> {
  const { data, errors } = await execute({ schema, document, variableValues: variables, contextValue });
  if (errors?.[0]) throw inRestTerms(serviceErrorOf(errors[0]));
  return data;
}

/** The domain's error with REST's names for the fields. */
function inRestTerms(failure: ServiceError): ServiceError {
  return failure.problems.length > 0 ? invalidParameter(failure.problems.map(inRestNames)) : failure;
}

const Key = rules.idempotencyKey.optional();
const NO_PROBLEMS = { problems: [], warnings: [] };

function createReader(route: Route): (request: FastifyRequest) => { input: Input<unknown, unknown>; warnings: string[] } {
  const Query = z.object(route.query);
  const Body = route.body && (route.otherFields === 'kept' ? z.looseObject(route.body) : z.object(route.body));
  const queryNames = Object.keys(route.query);
  const bodyNames = Object.keys(route.body ?? {});

  return (request) => {
    const given = request.query as Record<string, unknown>;
    const query = Query.safeParse(given);
    const problems = [
      ...malformedQuery(request.url),
      ...unknownNames(Object.keys(given), queryNames, 'parameter'),
      ...repeated(given),
      ...(query.success ? [] : problemsOf(query.error, given).filter(({ path }) => !Array.isArray(given[path[0] as string]))),
    ];
    const match = route.conditional === 'If-Match' ? versionsOf(request.headers['if-match']) : { versions: null };
    if ('problem' in match) problems.push(match.problem);
    const key = Key.safeParse(route.idempotent ? request.headers['idempotency-key'] : undefined);
    if (!key.success)
      problems.push(...problemsOf(key.error, request.headers['idempotency-key']).map((problem) => ({ ...problem, path: ['Idempotency-Key'] })));
    let body: unknown;
    let warnings: string[] = [];
    if (Body) {
      const received = request.body;
      if (received === null || typeof received !== 'object' || Array.isArray(received))
        throw invalidParameter([...problems, { path: [], message: 'must be a JSON object' }]);
      const fields = route.nulls === 'absent' ? withoutNulls(received, bodyNames) : (received as Record<string, unknown>);
      const names = route.otherFields === 'kept' ? NO_PROBLEMS : unknownFields(Object.keys(received), bodyNames);
      const parsed = Body.safeParse(fields);
      problems.push(...names.problems, ...(parsed.success ? [] : problemsOf(parsed.error, fields)));
      warnings = names.warnings;
      body = parsed.data;
    }
    if (problems.length > 0 || 'problem' in match) throw invalidParameter(problems);
    return {
      input: {
        id: (request.params as { id?: string }).id ?? '',
        query: query.data,
        body,
        ifVersion: match.versions,
        idempotencyKey: key.data ?? null,
      },
      warnings,
    };
  };
}

function repeated(query: Record<string, unknown>): FieldProblem[] {
  return Object.entries(query).flatMap(([name, value]) => (Array.isArray(value) ? [{ path: [name], message: 'must be given once' }] : []));
}

/** Percent-encoding that is not UTF-8 would otherwise be taken as the text that it is written in. */
function malformedQuery(url: string): FieldProblem[] {
  try {
    decodeURIComponent(url.slice(url.indexOf('?') + 1));
    return [];
  } catch {
    return [{ path: ['query string'], message: 'must be percent-encoded UTF-8' }];
  }
}
