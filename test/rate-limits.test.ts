import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { generateApiKey } from '../src/modules/access/key.ts';
import { createPlans } from '../src/modules/usage/plans.ts';
import { connectBreakable } from './testkit/breakable-database.ts';
import type { Client, Reply } from './testkit/client.ts';
import { sendRaw } from './testkit/raw.ts';
import { startService, type TestService, useService } from './testkit/service.ts';

const ORIGIN = 'https://app.example';
const MISSING_ID = '018f0000-0000-7000-8000-000000000000';
const LARGE = 'x'.repeat(1024 * 1024);
const PLAN = createPlans().of('pro').requestsPerMinute;
const POWER = createPlans().of('power').requestsPerMinute;
/** A plan with few requests a minute, to be used up. */
const FEW = 5;
const plans = createPlans({ free: { stores: null, retrievals: null, requests_per_minute: FEW, overage: null } });

const database = connectBreakable(inject('neo4j'));
const service = useService({ database, plans, settings: { corsOrigins: [ORIGIN] }, addressLimit: 1_000 });
afterAll(() => database.close());

let agent: Client;
let id: string;
beforeAll(async () => {
  agent = await service.newAccount({ plan: 'pro' });
  id = await agent.store('A memory to ask for');
});

/** What the three headers say. */
function rateOf({ headers, story }: Pick<Reply, 'headers' | 'story'>) {
  const values = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'].map((name) => headers.get(name));
  for (const value of values) expect(value, story).toMatch(/^\d+$/);
  const [limit, remaining, reset] = values.map(Number) as [number, number, number];
  expect(remaining, story).toBeLessThanOrEqual(limit);
  const seconds = reset - Date.now() / 1_000;
  expect(seconds, `the reset is not in the past: ${story}`).toBeGreaterThan(-1);
  expect(seconds, `the reset is within the minute: ${story}`).toBeLessThanOrEqual(61);
  return { limit, remaining, reset };
}

/** Expects the specified body, and a Retry-After that leads to the reset. */
function expectSpent(reply: Reply, limit: number) {
  expect(reply.status, reply.story).toBe(429);
  const { remaining, reset, ...rate } = rateOf(reply);
  expect({ ...rate, remaining }, reply.story).toEqual({ limit, remaining: 0 });
  expect(reply.headers.get('content-type'), reply.story).toBe('application/json; charset=utf-8');
  const { message, retry_after, ...rest } = reply.body;
  expect(rest, reply.story).toEqual({ error: 'rate_limit_exceeded' });
  expect(message, reply.story).toMatch(/^[A-Z].{10,}/);
  expect(Number.isInteger(retry_after) && retry_after >= 1 && retry_after <= 60, reply.story).toBe(true);
  expect(reply.headers.get('retry-after'), reply.story).toBe(String(retry_after));
  expect(Math.abs(retry_after - (reset - Date.now() / 1_000)), reply.story).toBeLessThanOrEqual(2);
}

const raw = (request: string, port = service.port) => sendRaw(port, request);
const rawAs = (client: Client, request: string) =>
  raw(`${request}\r\nHost: x\r\nAuthorization: Bearer ${client.key}\r\nConnection: close\r\n\r\n`, Number(new URL(client.url).port));
const withoutKey = (request: string, headers = '', port = service.port) =>
  raw(`${request} HTTP/1.1\r\nHost: x\r\n${headers}Connection: close\r\n\r\n`, port);

/** What is left of a window that does not end before the next request. */
async function rateBefore(ask: () => Promise<Reply>) {
  for (;;) {
    const rate = rateOf(await ask());
    const left = 1_000 * rate.reset - Date.now();
    if (left > 5_000) return rate;
    await delay(left + 1_000);
  }
}

const json = { 'content-type': 'application/json' };

async function whileBroken(call: () => Promise<Reply>): Promise<Reply> {
  database.broken = true;
  try {
    return await call();
  } finally {
    database.broken = false;
  }
}

type Way = [status: number, what: string, call: (client: Client) => Promise<Reply>, cost?: number];

const WITH_A_KEY: Way[] = [
  [200, 'a store', (client) => client.post('/memory', { content: `${Math.random()}` })],
  [200, 'a search', (client) => client.get('/memory/search', { q: 'memory' })],
  [200, 'the prefix /v1', (client) => client.get('/v1/memory/list')],
  [200, 'health', (client) => client.get('/health')],
  [200, 'HEAD', (client) => client.send('HEAD', '/memory/list')],
  [200, 'a change', (client) => client.patch(`/memory/${id}`, { tier: 2 })],
  [304, 'a memory that is known', (client) => client.send('GET', `/memory/${id}`, undefined, { 'if-none-match': '*' })],
  [400, 'a parameter that is missing', (client) => client.get('/memory/search')],
  [400, 'a body that does not parse', (client) => client.send('POST', '/memory', '{"content"', json)],
  [400, 'a path that is not percent-encoded', (client) => client.get('/memory/%zz')],
  [400, 'an expectation that nobody can meet', (client) => rawAs(client, 'GET /memory/list HTTP/1.1\r\nExpect: miracles')],
  [404, 'a memory that is not there', (client) => client.get(`/memory/${MISSING_ID}`)],
  [404, 'a path that is unknown', (client) => client.get('/nothing')],
  [405, 'a method that the path does not have', (client) => client.send('PUT', '/memory/list')],
  [405, "a method that Fastify's router does not know", (client) => client.send('PROPFIND', '/memory')],
  [405, 'an OPTIONS that is no preflight', (client) => client.send('OPTIONS', '/memory')],
  [412, 'another version', (client) => client.send('PATCH', `/memory/${id}`, { tier: 0 }, { 'if-match': '"99"' })],
  [413, 'a body beyond 1 MiB', (client) => client.post('/memory', { content: LARGE })],
  [415, 'a body of another type', (client) => client.send('POST', '/memory', 'x', { 'content-type': 'text/plain' })],
  [500, 'a statement that fails', (client) => whileBroken(() => client.get('/memory/search', { q: 'a' }))],
  [200, 'another origin', (client) => client.send('GET', '/memory/list', undefined, { origin: ORIGIN })],
  [200, 'GraphQL', (client) => client.graphql('{ health { status } }')],
  [200, 'GraphQL by GET', (client) => client.send('GET', '/graphql?query={__typename}', undefined, { 'apollo-require-preflight': 'true' })],
  [200, 'GraphQL that fails', (client) => client.graphql('{ searchMemories(query: "") { count } }')],
  [200, 'GraphQL with two root fields', (client) => client.graphql('{ health { status } __typename }'), 2],
  [400, 'GraphQL that does not parse', (client) => client.graphql('{')],
  [400, 'GraphQL that is too long', (client) => client.graphql(`{ ${'health { status } '.repeat(1_000)} }`)],
  [400, 'a GraphQL body that does not parse', (client) => client.send('POST', '/graphql', '{"query"', json)],
  [
    405,
    'a mutation by GET',
    (client) =>
      client.send('GET', `/graphql?query=mutation{a:deleteMemory(id:"a"){id}b:__typename}`, undefined, { 'apollo-require-preflight': 'true' }),
  ],
  [413, 'a GraphQL body beyond 1 MiB', (client) => client.graphql(`{ __typename } # ${LARGE}`)],
];

describe('a request with a key', () => {
  it.each(WITH_A_KEY)('costs one of the minute, and says so with its %d: %s', async (status, _, call, cost = 1) => {
    const before = await rateBefore(() => agent.get('/memory/list', { count_only: true }));
    const reply = await call(agent);
    expect(reply.status, reply.story).toBe(status);
    const after = rateOf(reply);
    expect(after, reply.story).toEqual({ limit: PLAN, remaining: before.remaining - cost, reset: expect.any(Number) });
    expect(Math.abs(after.reset - before.reset), 'one window').toBeLessThanOrEqual(1);
  });

  it('has the limit of its own plan, and each key one of its own', async () => {
    const first = await service.newAccount({ plan: 'power' });
    expect(rateOf(await first.get('/memory/list'))).toMatchObject({ limit: POWER, remaining: POWER - 1 });
    const second = await service.newKey(first, { scopes: [] });
    const forbidden = await second.get('/memory/list');
    expect(forbidden.status, forbidden.story).toBe(403);
    expect(rateOf(forbidden)).toMatchObject({ limit: POWER, remaining: POWER - 1 });
    expect(rateOf(await first.get('/memory/list'))).toMatchObject({ remaining: POWER - 2 });
  });

  it('is refused when the minute is used up, whatever it asks for, and nothing of it is done', async () => {
    const client = await service.newAccount({ plan: 'free' });
    for (let left = FEW - 1; left >= 0; left--) expect(rateOf(await client.get('/memory/list'))).toMatchObject({ limit: FEW, remaining: left });
    expectSpent(await client.post('/memory', { content: 'One too many' }), FEW);
    for (const [, what, call] of WITH_A_KEY) {
      const reply = await call(client);
      if (what === 'HEAD') expect(reply.status, reply.story).toBe(429);
      else expectSpent(reply, FEW);
    }
    const other = await service.newKey(client, {});
    expect((await other.get('/memory/list')).body.total).toBe(0);
  });

  it('is never limited by its address, and an address never by the keys that are used there', async () => {
    const narrow = await startService({ addressLimit: 1 });
    const client = await narrow.newAccount();
    expect((await withoutKey('GET /memory/list', '', narrow.port)).status).toBe(401);
    expectSpent(await withoutKey('GET /memory/list', '', narrow.port), 1);
    const reply = await client.get('/memory/list');
    expect(reply.status, reply.story).toBe(200);
    await narrow.close();
  });
});

const WITHOUT_A_KEY: Way[] = [
  [401, 'no key', () => withoutKey('GET /memory/list')],
  [401, 'a key that nobody was given', () => withoutKey('GET /memory/list', `Authorization: Bearer ${generateApiKey()}\r\n`)],
  [401, 'a key with a typo', () => withoutKey('GET /memory/list', 'Authorization: Bearer mem_x\r\n')],
  [401, 'HEAD', () => withoutKey('HEAD /memory/list')],
  [401, 'an unknown path', () => withoutKey('GET /nothing')],
  [401, 'a path that is not percent-encoded', () => withoutKey('GET /memory/%zz')],
  [401, 'GraphQL', () => withoutKey('GET /graphql?query={__typename}')],
  [401, 'OPTIONS', () => withoutKey('OPTIONS *')],
  [400, 'what is no HTTP', () => raw('HELLO\r\n\r\n')],
  [400, 'TLS', () => raw('\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03')],
  [400, 'a method that does not exist', () => raw('FETCH /memory/list HTTP/1.1\r\nHost: x\r\n\r\n')],
  [413, 'headers beyond 64 KiB', () => raw(`GET /livez HTTP/1.1\r\nHost: x\r\nX-Long: ${LARGE.slice(0, 200_000)}\r\n\r\n`)],
];

describe('a request without a valid key', () => {
  it.each(WITHOUT_A_KEY)('costs one of the minute of its address, and says so with its %d: %s', async (status, _, call) => {
    const before = await rateBefore(() => withoutKey('GET /memory/list'));
    const reply = await call(agent);
    expect(reply.status, reply.story).toBe(status);
    expect(rateOf(reply), reply.story).toMatchObject({ limit: 1_000, remaining: before.remaining - 1 });
  });

  it('that does not end is answered with the headers as well', async () => {
    const slow = await startService({ addressLimit: 10 });
    Object.assign(slow.app.server, { headersTimeout: 300, requestTimeout: 300 });
    const reply = await raw('GET /livez HTTP/1.1\r\nX-A: ', slow.port);
    expect(reply.status, reply.story).toBe(400);
    expect(rateOf(reply)).toMatchObject({ limit: 10, remaining: 9 });
    await slow.close();
  });

  it('is a 429 when the minute of its address is used up, and 60 requests are a minute', async () => {
    const fresh = await startService({ addressLimit: 60 });
    const ask = (line: string) => withoutKey(line, '', fresh.port);
    for (let left = 59; left >= 0; left--) {
      const reply = await ask('GET /memory/list');
      expect(reply.status, reply.story).toBe(401);
      expect(rateOf(reply), reply.story).toMatchObject({ limit: 60, remaining: left });
    }
    for (const line of [
      'GET /memory/list',
      'POST /memory',
      'GET /nothing',
      'GET /memory/%zz',
      'GET /graphql?query={__typename}',
      'PROPFIND /graphql',
    ])
      expectSpent(await ask(line), 60);
    expectSpent(await raw('HELLO\r\n\r\n', fresh.port), 60);
    for (const path of PUBLIC) {
      const reply = await ask(`GET ${path}`);
      expect(reply.status, reply.story).toBe(200);
      expect(rateOf(reply), reply.story).toMatchObject({ limit: 60, remaining: 0 });
    }
    await fresh.close();
  });
});

const PUBLIC = ['/', '/graphiql', '/docs', '/assets/page.css', '/openapi.json', '/livez', '/readyz'];
const PREFLIGHT = `Origin: ${ORIGIN}\r\nAccess-Control-Request-Method: POST\r\n`;

describe('what needs no key', () => {
  it.each([
    ...PUBLIC.flatMap((path): [number, string, string][] => [
      [200, `GET ${path}`, ''],
      [200, `HEAD ${path}`, ''],
    ]),
    [200, 'GET /graphql', 'Accept: text/html\r\n'],
    [204, 'OPTIONS /memory', PREFLIGHT],
    [204, 'OPTIONS /nothing', PREFLIGHT],
  ])('costs nothing and carries the headers of the address with its %d: %s', async (status, line, headers) => {
    const before = await rateBefore(() => withoutKey('GET /memory/list'));
    const reply = await withoutKey(line, headers);
    expect(reply.status, reply.story).toBe(status);
    const { remaining } = rateOf(reply);
    expect(remaining, reply.story).toBe(before.remaining);
  });

  it.each(PUBLIC)('costs one with a 405: POST %s', async (path) => {
    const before = await rateBefore(() => withoutKey('GET /memory/list'));
    const reply = await withoutKey(`POST ${path}`);
    expect(reply.status, reply.story).toBe(405);
    expect(rateOf(reply).remaining, reply.story).toBe(before.remaining - 1);
  });

  it('carries them with a 304', async () => {
    const etag = (await withoutKey('GET /docs')).headers.get('etag');
    const reply = await withoutKey('GET /docs', `If-None-Match: ${etag}\r\n`);
    expect(reply.status, reply.story).toBe(304);
    rateOf(reply);
  });

  it('and browsers of other origins may read them', async () => {
    const reply = await agent.send('GET', '/memory/list', undefined, { origin: ORIGIN });
    expect(reply.headers.get('access-control-expose-headers')).toBe(
      'x-request-id, retry-after, location, etag, idempotency-replayed, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset',
    );
  });
});

describe('a 503', () => {
  let cutOff: TestService;
  beforeAll(async () => {
    cutOff = await startService({ databaseUri: 'bolt://127.0.0.1:1', settings: { requestTimeout: 500 } });
  });
  afterAll(() => cutOff.close());

  it('carries the headers of the address, and costs nothing, as long as nobody can know whose key it is', async () => {
    const unknown = `Authorization: Bearer ${generateApiKey()}\r\n`;
    const [first, second] = [await withoutKey('GET /memory/list', unknown, cutOff.port), await withoutKey('GET /memory/list', unknown, cutOff.port)];
    expect([first.status, second.status], first.story).toEqual([503, 503]);
    expect(rateOf(second)).toMatchObject({ remaining: rateOf(first).remaining });
    const probe = await withoutKey('GET /readyz', '', cutOff.port);
    expect(probe.status, probe.story).toBe(503);
    rateOf(probe);
  });

  it('of a service that shuts down carries them, too', async () => {
    const closing = await startService();
    const client = await closing.newAccount();
    await client.get('/memory/list');
    const reply = await new Promise<Reply>((resolve) => {
      let text = '';
      const socket = connect(closing.port, '127.0.0.1', () => {
        socket.write(`GET /memory/list HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${client.key}\r\n`);
        setTimeout(() => {
          void closing.close();
          setTimeout(() => socket.write('\r\n'), 100);
        }, 100);
      });
      socket.on('data', (data) => (text += data.toString()));
      socket.on('close', () => {
        const [head = '', body = ''] = text.split('\r\n\r\n');
        const lines = head.split('\r\n').slice(1);
        const headers = new Headers(lines.map((line): [string, string] => [line.split(': ')[0]!, line.slice(line.indexOf(': ') + 2)]));
        resolve({ status: Number(head.split(' ')[1]), headers, body: JSON.parse(body), story: text });
      });
    });
    expect(reply.status, reply.story).toBe(503);
    expect(reply.body, reply.story).toMatchObject({ code: 'unavailable' });
    expect(reply.headers.get('retry-after'), reply.story).toBe('1');
    expect(rateOf(reply)).toMatchObject({ limit: 60_000, remaining: 59_998 });
  });
});
