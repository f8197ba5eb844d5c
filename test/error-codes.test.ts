import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type ErrorCode, STATUS_OF_CODE } from '../src/errors.ts';
import { generateApiKey } from '../src/modules/access/key.ts';
import { connectBreakable } from './testkit/breakable-database.ts';
import { Client, type Reply } from './testkit/client.ts';
import { sendRaw } from './testkit/raw.ts';
import { startService, type TestService, useService } from './testkit/service.ts';

/** Codes that clients may meet one day, and that nothing answers today. */
/** Codes whose answers are not of the common shape; rate-limits.test.ts has them. */
const OF_ANOTHER_SHAPE: ErrorCode[] = ['rate_limit_exceeded'];
/** Codes that GraphQL has no request for: it takes no If-Match. */
const NOT_IN_GRAPHQL: ErrorCode[] = ['precondition_failed'];

const MISSING_ID = '018f0000-0000-7000-8000-000000000000';
const LARGE = 'x'.repeat(1024 * 1024);
const json = { 'content-type': 'application/json' };

const database = connectBreakable(inject('neo4j'));
const service = useService({ database });
let cutOff: TestService;
let agent: Client;
let reader: Client;
let stranger: Client;
let strandedAgent: Client;
let id: string;
beforeAll(async () => {
  cutOff = await startService({ databaseUri: 'bolt://127.0.0.1:1' });
  agent = await service.newAccount();
  reader = await service.newKey(agent, { scopes: ['memory:read'] });
  stranger = new Client(service.url, generateApiKey(), agent.account, '');
  strandedAgent = new Client(cutOff.url, generateApiKey(), agent.account, '');
  id = await agent.store('A memory to ask for');
});
afterAll(async () => {
  await cutOff.close();
  await database.close();
});

async function whileBroken(call: () => Promise<Reply>): Promise<Reply> {
  database.broken = true;
  try {
    return await call();
  } finally {
    database.broken = false;
  }
}

const raw = (request: string) => sendRaw(service.port, `${request}\r\n\r\n`);
const withoutKey = (method: string, path: string) => raw(`${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close`);

/** What the second of two requests gets. */
async function repeated(call: () => Promise<Reply>): Promise<Reply> {
  await call();
  return call();
}

type Example = [code: ErrorCode, what: string, call: () => Promise<Reply>];

const OVER_REST: Example[] = [
  ['invalid_parameter', 'a parameter that is missing', () => agent.get('/memory/search')],
  ['invalid_parameter', 'fields with wrong values', () => agent.post('/memory', { content: '', tier: 9 })],
  ['invalid_parameter', 'a body that is no JSON', () => agent.send('POST', '/memory', '{"content"', json)],
  ['invalid_parameter', 'a body that is no object', () => agent.post('/memory', [])],
  ['invalid_parameter', 'a path that is not percent-encoded', () => agent.get('/memory/%zz')],
  ['invalid_parameter', 'a query that is not percent-encoded', () => agent.get('/memory/list?user_id=%ff')],
  ['invalid_parameter', 'a method that does not exist', () => raw('FETCH /memory/list HTTP/1.1\r\nHost: x')],
  ['invalid_parameter', 'what is no HTTP', () => raw('HELLO')],
  ['unauthenticated', 'no key', () => withoutKey('GET', '/memory/list')],
  ['unauthenticated', 'a key that nobody was given', () => stranger.get('/memory/list')],
  ['unauthenticated', 'no key, for a path that is unknown', () => withoutKey('GET', '/nothing')],
  ['forbidden', 'a scope that the key lacks', () => reader.delete(`/memory/${id}`)],
  ['not_found', 'a memory that is not there', () => agent.get(`/memory/${MISSING_ID}`)],
  ['not_found', 'a path that is unknown', () => agent.get('/nothing')],
  ['method_not_allowed', 'a method that the path does not have', () => agent.send('PUT', `/memory/${id}`)],
  ['method_not_allowed', "a method that Fastify's router does not know", () => agent.send('PROPFIND', '/memory')],
  ['method_not_allowed', 'a method that a page does not have', () => agent.send('POST', '/docs', {})],
  [
    'conflict',
    'a key of another request',
    () => repeated(() => agent.send('POST', '/memory', { content: `${Math.random()}` }, { 'idempotency-key': 'a' })),
  ],
  ['precondition_failed', 'another version', () => agent.send('PATCH', `/memory/${id}`, { tier: 0 }, { 'if-match': '"99"' })],
  ['payload_too_large', 'a body beyond 1 MiB', () => agent.post('/memory', { content: LARGE })],
  ['payload_too_large', 'headers beyond 64 KiB', () => raw(`GET /livez HTTP/1.1\r\nHost: x\r\nX-Long: ${LARGE.slice(0, 200_000)}`)],
  ['unsupported_media_type', 'a body of another type', () => agent.send('POST', '/memory', 'content=x', { 'content-type': 'text/plain' })],
  ['internal', 'a statement that fails', () => whileBroken(() => agent.get('/memory/search', { q: 'a' }))],
  ['unavailable', 'a database that is away', () => strandedAgent.get('/memory/list')],
];

const inAddress = (query: string, more = '', headers: Record<string, string> = { 'apollo-require-preflight': 'true' }) =>
  agent.send('GET', `/graphql?query=${encodeURIComponent(query)}${more}`, undefined, headers);

/** The status is that of the code for what is refused before anything is executed, else 200. */
const OVER_GRAPHQL: [...Example, status?: 200][] = [
  ['invalid_parameter', 'a document that can not be parsed', () => agent.graphql('{ health')],
  ['invalid_parameter', 'a document that is not valid', () => agent.graphql('{ health { mood } }')],
  ['invalid_parameter', 'a document that is too long', () => agent.graphql(`{ ${'health { status } '.repeat(1_000)} }`)],
  [
    'invalid_parameter',
    'a document with too many aliases',
    () => agent.graphql(`{ ${Array.from({ length: 31 }, (_, n) => `a${n}: health { status }`).join(' ')} }`),
  ],
  ['invalid_parameter', 'an unknown operation', () => agent.send('POST', '/graphql', { query: 'query A { __typename }', operationName: 'B' })],
  ['invalid_parameter', 'operations without a name to choose', () => agent.graphql('query A { __typename } query B { __typename }')],
  ['invalid_parameter', 'variables that do not fit', () => agent.graphql('query ($id: ID!) { memory(id: $id) { id } }')],
  ['invalid_parameter', 'no query', () => agent.send('POST', '/graphql', {})],
  ['invalid_parameter', 'no body', () => agent.send('POST', '/graphql')],
  ['invalid_parameter', 'a batch', () => agent.send('POST', '/graphql', [{ query: '{ __typename }' }])],
  ['invalid_parameter', 'a body that is no JSON', () => agent.send('POST', '/graphql', '{"query"', json)],
  ['invalid_parameter', 'what another page could send (CSRF)', () => inAddress('{ __typename }', '', {})],
  ['invalid_parameter', 'variables in the address that are no JSON', () => inAddress('{ __typename }', '&variables={')],
  ['invalid_parameter', 'an answer that may not be JSON', () => agent.send('POST', '/graphql', { query: '{ __typename }' }, { accept: 'text/csv' })],
  ['invalid_parameter', 'a subscription', () => agent.graphql('subscription { memories }'), 200],
  [
    'invalid_parameter',
    'a persisted query',
    () => agent.send('POST', '/graphql', { query: '{ __typename }', extensions: { persistedQuery: { version: 1, sha256Hash: 'x' } } }),
    200,
  ],
  ['invalid_parameter', 'a wrong value', () => agent.graphql('{ searchMemories(query: "") { count } }'), 200],
  ['unauthenticated', 'no key', () => withoutKey('GET', '/graphql?query={__typename}')],
  ['unauthenticated', 'a key that nobody was given', () => stranger.graphql('{ __typename }')],
  ['forbidden', 'a scope that the key lacks', () => reader.graphql(`mutation { deleteMemory(id: "${id}") { id } }`), 200],
  [
    'conflict',
    'a key of another request',
    () => repeated(() => agent.graphql(`mutation { storeMemory(input: { content: "${Math.random()}" }, idempotencyKey: "b") { id } }`)),
    200,
  ],
  ['not_found', 'a memory that is not there', () => agent.graphql(`mutation { deleteMemory(id: "${MISSING_ID}") { id } }`), 200],
  ['method_not_allowed', 'a method that the path does not have', () => agent.send('PUT', '/graphql', {})],
  ['method_not_allowed', "a method that Fastify's router does not know", () => agent.send('PROPFIND', '/graphql')],
  ['method_not_allowed', 'a mutation by GET', () => inAddress(`mutation { deleteMemory(id: "${MISSING_ID}") { id } }`)],
  ['payload_too_large', 'a body beyond 1 MiB', () => agent.graphql(`{ __typename } # ${LARGE}`)],
  [
    'unsupported_media_type',
    'a body of another type',
    () => agent.send('POST', '/graphql', '{ __typename }', { 'content-type': 'application/graphql' }),
  ],
  ['internal', 'a statement that fails', () => whileBroken(() => agent.graphql('{ searchMemories(query: "a") { count } }')), 200],
  ['unavailable', 'a database that is away', () => strandedAgent.graphql('{ __typename }')],
];

/** What the HTTP status asks for by way of headers. */
function expectHeaders({ status, headers, story }: Reply) {
  expect(headers.get('content-type'), story).toBe('application/json; charset=utf-8');
  expect(headers.get('x-request-id'), story).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
  expect(headers.get('www-authenticate'), story).toBe(status === 401 ? 'Bearer' : null);
  expect(headers.get('allow') !== null, story).toBe(status === 405);
  expect(headers.get('retry-after'), story).toEqual(status === 503 ? expect.stringMatching(/^[1-9]\d*$/) : null);
}

function expectDetails(details: unknown, code: ErrorCode, story: string) {
  if (details === undefined) return;
  expect(code, story).toBe('invalid_parameter');
  for (const detail of details as unknown[])
    expect(detail, story).toEqual({ field: expect.stringMatching(/./), message: expect.stringMatching(/./) });
}

describe('over REST', () => {
  it.each(OVER_REST)('%s: %s', async (code, _, call) => {
    const reply = await call();
    expect(reply.status, reply.story).toBe(STATUS_OF_CODE[code]);
    expectHeaders(reply);
    const { details, ...rest } = reply.body;
    expect(rest, reply.story).toEqual({
      error: expect.stringMatching(/^[A-Z].{5,}/),
      status: STATUS_OF_CODE[code],
      code,
      request_id: reply.headers.get('x-request-id'),
    });
    expectDetails(details, code, reply.story);
  });
});

describe('over GraphQL', () => {
  it.each(OVER_GRAPHQL)('%s: %s', async (code, _, call, status) => {
    const reply = await call();
    expect(reply.status, reply.story).toBe(status ?? STATUS_OF_CODE[code]);
    expectHeaders(reply);
    expect(reply.body.errors, reply.story).toHaveLength(1);
    const [{ message, extensions, ...place }] = reply.body.errors;
    expect(message, reply.story).toMatch(/.{5,}/);
    expect(['locations', 'path'], reply.story).toEqual(expect.arrayContaining(Object.keys(place)));
    const { details, ...rest } = extensions;
    expect(rest, reply.story).toEqual({
      code: code.toUpperCase(),
      status: STATUS_OF_CODE[code],
      requestId: reply.headers.get('x-request-id'),
    });
    expectDetails(details, code, reply.story);
  });
});

describe('the table of codes', () => {
  const codes = Object.keys(STATUS_OF_CODE) as ErrorCode[];
  const among = (examples: readonly (readonly [ErrorCode, ...unknown[]])[], more: ErrorCode[]) =>
    [...new Set([...examples.map(([code]) => code), ...more])].toSorted();

  it('has an example of each over REST, and over GraphQL', () => {
    expect(among(OVER_REST, OF_ANOTHER_SHAPE)).toEqual(codes.toSorted());
    expect(among(OVER_GRAPHQL, [...OF_ANOTHER_SHAPE, ...NOT_IN_GRAPHQL])).toEqual(codes.toSorted());
  });
});
