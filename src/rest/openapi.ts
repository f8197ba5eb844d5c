import { z } from 'zod';
import { type ErrorCode, STATUS_OF_CODE } from '../errors.ts';
import { SCOPE_OF } from '../modules/access/scopes.ts';
import { IF_MATCH } from './conditional.ts';
import * as responses from './responses.ts';
import type { Route } from './route.ts';

const REASONS: Readonly<Record<ErrorCode, string>> = {
  invalid_parameter: 'Invalid parameters; `details` names every wrong field.',
  unauthenticated: 'Missing or invalid API key.',
  forbidden: 'The key lacks the scope, or is bound to another user.',
  not_found: 'There is no such memory that you can see.',
  method_not_allowed: 'The path has no such method.',
  conflict: 'The Idempotency-Key was used for another request.',
  precondition_failed: 'The memory has another version.',
  payload_too_large: 'The body is larger than 1 MiB.',
  unsupported_media_type: 'The body is not application/json.',
  rate_limit_exceeded: 'The requests of this minute are used up, or what the plan has for a month.',
  internal: 'Something went wrong on our side.',
  unavailable: 'The database is away, the deadline passed, or there is more to do than can be done; see Retry-After.',
};

const CONDITIONS = {
  'If-None-Match': { description: '* or ETags, comma-separated: 304 when the memory still has one of them.', schema: { type: 'string' } },
  'If-Match': {
    description: '* or ETags, comma-separated: 412 when the memory has another version.',
    schema: { type: 'string', pattern: IF_MATCH.source },
  },
} as const;
const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'A text of your own. For 24 hours the same request under the same key is answered as the first time, with Idempotency-Replayed: true, and does nothing; another request under it is a 409.',
  schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
};
const RETRY_AFTER = { description: 'Seconds after which to try again.', schema: { type: 'integer' } };
const LOCATION = { description: 'The path of the memory.', schema: { type: 'string' } };
const REPLAYED = {
  description: 'true when the first request under the same Idempotency-Key is answered once more.',
  schema: { type: 'string', enum: ['true'] },
};
const ETag = { description: "The memory's version, in quotes.", schema: { type: 'string' } };

/** What every response carries. */
const RATE_LIMIT = {
  'X-RateLimit-Limit': 'Requests a minute: of the key, or of the address when there is no valid key.',
  'X-RateLimit-Remaining': 'How many of them are left.',
  'X-RateLimit-Reset': 'When they begin anew, in seconds since 1970.',
};
const rateLimitHeaders = Object.fromEntries(Object.keys(RATE_LIMIT).map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** The OpenAPI 3.1 document of the routes. */
export function createOpenApi(routes: readonly Route[], version: string): Record<string, unknown> {
  const schemas: Record<string, unknown> = {};
  const toSchema = (schema: z.ZodType, io: 'input' | 'output') => {
    const {
      $defs = {},
      $schema: _,
      ...rest
    } = z.toJSONSchema(schema, {
      target: 'draft-2020-12',
      io,
      unrepresentable: 'any',
      override: ({ jsonSchema }) => publish(jsonSchema as Record<string, unknown>),
    }) as Record<string, unknown>;
    for (const [name, definition] of Object.entries($defs as Record<string, Record<string, unknown>>)) schemas[name] = definition;
    return withComponentReferences(rest);
  };

  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = {
      summary: route.summary,
      operationId: operationIdOf(route),
      tags: [route.path.split('/')[1]],
      ...(route.description ? { description: route.description } : {}),
      security: [{ apiKey: [SCOPE_OF[route.operation]].filter((scope) => scope !== null) }],
      parameters: [
        ...(route.path.includes('{id}') ? [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }] : []),
        ...Object.entries(route.query).map(([name, rule]) => parameterOf(name, rule, toSchema(rule, 'input'))),
        ...(route.conditional ? [{ name: route.conditional, in: 'header', ...CONDITIONS[route.conditional] }] : []),
        ...(route.idempotent ? [IDEMPOTENCY_KEY] : []),
      ],
      ...(route.body
        ? { requestBody: { required: true, content: json({ ...toSchema(bodyOf(route.body, route.nulls), 'input'), ...oneOf(route.atLeastOneOf) }) } }
        : {}),
      responses: {
        200: {
          description: 'Success.',
          headers: {
            ...rateLimitHeaders,
            ...(route.conditional ? { ETag } : {}),
            ...(route.idempotent ? { Location: LOCATION, 'Idempotency-Replayed': REPLAYED } : {}),
          },
          content: json(toSchema(route.response, 'output')),
        },
        ...(route.conditional === 'If-None-Match'
          ? { 304: { description: 'The memory still has that version.', headers: { ...rateLimitHeaders, ETag } } }
          : {}),
        ...(route.path === '/health'
          ? { 503: { description: 'The database is away.', headers: rateLimitHeaders, content: json(toSchema(route.response, 'output')) } }
          : {}),
        ...Object.fromEntries(
          (
            [
              ...route.errors,
              'unauthenticated',
              'rate_limit_exceeded',
              'internal',
              ...(route.path === '/health' ? [] : ['unavailable']),
            ] as ErrorCode[]
          ).map((code) => [
            STATUS_OF_CODE[code],
            {
              description: REASONS[code],
              headers: { ...rateLimitHeaders, ...(code === 'rate_limit_exceeded' || code === 'unavailable' ? { 'Retry-After': RETRY_AFTER } : {}) },
              content: json(toSchema(code === 'rate_limit_exceeded' ? responses.rateLimitError : responses.error, 'output')),
            },
          ]),
        ),
      },
    };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Memory service',
      version,
      description: 'Stores what agents should remember and finds it again. Every path works with and without the prefix /v1.',
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: withComponentReferences(schemas),
      headers: Object.fromEntries(Object.entries(RATE_LIMIT).map(([name, description]) => [name, { description, schema: { type: 'integer' } }])),
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: `Authorization: Bearer mem_…`' } },
    },
  };
}

/** Open, because other fields are ignored or kept. Where a null means absent, each field that may be absent may be null. */
function bodyOf(shape: NonNullable<Route['body']>, nulls: Route['nulls']) {
  const mayBeNull = (rule: z.ZodType) => nulls === 'absent' && rule.safeParse(undefined).success;
  return z.looseObject(Object.fromEntries(Object.entries(shape).map(([name, rule]) => [name, mayBeNull(rule) ? z.nullable(rule) : rule])));
}

const oneOf = (names: Route['atLeastOneOf']) => (names ? { anyOf: names.map((name) => ({ required: [name] })) } : {});

function parameterOf(name: string, rule: z.ZodType, schema: Record<string, unknown>) {
  const { description, ...rest } = schema;
  return { name, in: 'query', required: !rule.safeParse(undefined).success, ...(description ? { description } : {}), schema: rest };
}

function operationIdOf({ method, path }: Route): string {
  return method.toLowerCase() + path.replace(/[{}]/g, '').replace(/\/(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** A rule that reads text says with `openapi` in its metadata what clients send. */
function publish(schema: Record<string, unknown>): void {
  const { openapi, description, default: standard } = schema;
  if (!openapi) return;
  for (const key of Object.keys(schema)) delete schema[key];
  Object.assign(schema, openapi, description === undefined ? {} : { description }, standard === undefined ? {} : { default: standard });
}

const json = (schema: unknown) => ({ 'application/json': { schema } });

/** zod refers to `#/$defs/X` and OpenAPI keeps shared schemas under components. */
function withComponentReferences<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value).replaceAll('"#/$defs/', '"#/components/schemas/')) as Value;
}
