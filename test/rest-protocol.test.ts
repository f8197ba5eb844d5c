import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { deadlineIn } from '../src/deadline.ts';
import { generateApiKey } from '../src/modules/access/key.ts';
import type { Scope } from '../src/modules/access/principal.ts';
import { routes } from '../src/rest/routes.ts';
import { connectBreakable } from './testkit/breakable-database.ts';
import { byCommand } from './testkit/accounts.ts';
import { Client, type Reply } from './testkit/client.ts';
import { sendRaw } from './testkit/raw.ts';
import { startService, type TestService, useService } from './testkit/service.ts';

const ORIGIN = 'https://app.example';
const MISSING_ID = '018f0000-0000-7000-8000-000000000000';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const database = connectBreakable(inject('neo4j'));
const service = useService({ database, settings: { corsOrigins: [ORIGIN] } });
afterAll(() => database.close());

let agent: Client;
let id: string;
beforeAll(async () => {
  agent = await service.newAccount();
  id = await agent.store('A memory to ask for');
});

const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Expects the error body that is documented, no more and no less. */
function expectError(reply: Reply, status: number, code: string, fields?: string[]) {
  expect(reply.status, reply.story).toBe(status);
  expect(reply.headers.get('content-type'), reply.story).toBe('application/json; charset=utf-8');
  expect(reply.body, reply.story).toEqual({
    error: expect.stringMatching(/^[A-Z].{5,}/),
    status,
    code,
    request_id: reply.headers.get('x-request-id'),
    ...(reply.body.details ? { details: expect.any(Array) } : {}),
  });
  expect(JSON.stringify(reply.body), reply.story).not.toMatch(/node_modules|\bat .*\.[jt]s:\d|Neo4j|Cypher/);
  for (const detail of reply.body.details ?? []) expect(detail, reply.story).toEqual({ field: expect.any(String), message: expect.any(String) });
  if (fields) expect(reply.body.details?.map(({ field }: { field: string }) => field).toSorted(), reply.story).toEqual(fields.toSorted());
}

/** Every endpoint with what it needs; each call is one that succeeds for `client`. */
const ENDPOINTS: { name: string; scope: Scope | null; call: (client: Client, prefix?: string) => Promise<Reply> }[] = [
  { name: 'POST /memory', scope: 'memory:write', call: (client, prefix = '') => client.post(`${prefix}/memory`, { content: `${Math.random()}` }) },
  { name: 'GET /memory/search', scope: 'memory:read', call: (client, prefix = '') => client.get(`${prefix}/memory/search`, { q: 'memory' }) },
  { name: 'GET /memory/list', scope: 'memory:read', call: (client, prefix = '') => client.get(`${prefix}/memory/list`) },
  { name: 'GET /memory/{id}', scope: 'memory:read', call: (client, prefix = '') => client.get(`${prefix}/memory/${id}`) },
  { name: 'PATCH /memory/{id}', scope: 'memory:write', call: (client, prefix = '') => client.patch(`${prefix}/memory/${id}`, { tier: 2 }) },
  { name: 'GET /memory/{id}/history', scope: 'memory:read', call: (client, prefix = '') => client.get(`${prefix}/memory/${id}/history`) },
  {
    name: 'POST /memory/{id}/restore',
    scope: 'memory:write',
    call: async (client, prefix = '') => client.post(`${prefix}/memory/${id}/restore`, { version: (await agent.get(`/memory/${id}`)).body.version }),
  },
  {
    name: 'DELETE /memory/{id}',
    scope: 'memory:delete',
    call: async (client, prefix = '') => client.delete(`${prefix}/memory/${await agent.store(`To be deleted ${Math.random()}`)}`),
  },
  {
    name: 'POST /webhook/ci',
    scope: 'memory:write',
    call: (client, prefix = '') => client.post(`${prefix}/webhook/ci`, { content: 'Deployed', event_type: 'deployment' }),
  },
  { name: 'GET /usage', scope: 'memory:read', call: (client, prefix = '') => client.get(`${prefix}/usage`) },
  { name: 'GET /health', scope: null, call: (client, prefix = '') => client.get(`${prefix}/health`) },
];

describe('the paths', () => {
  it.each(ENDPOINTS)('$name works with and without /v1', async ({ call }) => {
    for (const prefix of ['', '/v1']) {
      const reply = await call(agent, prefix);
      expect(reply.status, reply.story).toBe(200);
      expect(reply.headers.get('content-type'), reply.story).toBe('application/json; charset=utf-8');
    }
  });

  it.each(['/livez', '/readyz', '/openapi.json', '/graphql?query={__typename}'])('%s works with and without /v1', async (path) => {
    for (const prefix of ['', '/v1']) {
      const reply = await agent.send('GET', prefix + path, undefined, { 'apollo-require-preflight': 'true' });
      expect(reply.status, reply.story).toBe(200);
    }
  });

  it.each(['/', '/livez', '/readyz', '/openapi.json'])('%s needs no key', async (path) => {
    const reply = await sendWithout('authorization', 'GET', path);
    expect(reply.status, reply.story).toBeLessThan(400);
  });

  it('of the probes say nothing but their state', async () => {
    for (const path of ['/livez', '/readyz']) {
      const reply = await agent.get(path);
      expect(reply.body, reply.story).toEqual({ status: 'ok' });
    }
  });

  it.each(['/nothing', '/v2/memory', '/v1/v1/memory/list', '/memory/a/b', '/Memory/list', '/memory/list/x', '/usage/x', '/v1x', '//memory/list'])(
    '%s is an unknown one: 404 with a key, 401 without',
    async (path) => {
      expectError(await agent.get(path), 404, 'not_found');
      expectError(await sendWithout('authorization', 'GET', path), 401, 'unauthenticated');
    },
  );

  it('answer HEAD as GET without its body', async () => {
    const response = await fetch(`${service.url}/memory/list`, { method: 'HEAD', headers: { authorization: `Bearer ${agent.key}` } });
    expect(response.status).toBe(200);
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(50);
  });
});

describe('a method that a path does not have', () => {
  it.each([
    ['GET', '/memory', 'POST'],
    ['DELETE', '/memory', 'POST'],
    ['PATCH', '/memory/search', 'GET'],
    ['DELETE', '/memory/search', 'GET'],
    ['POST', '/memory/list', 'GET'],
    ['PATCH', '/memory/list', 'GET'],
    ['PUT', `/memory/${MISSING_ID}`, 'GET, PATCH, DELETE'],
    ['POST', `/memory/${MISSING_ID}`, 'GET, PATCH, DELETE'],
    ['POST', '/health', 'GET'],
    ['POST', '/livez', 'GET'],
    ['DELETE', '/openapi.json', 'GET'],
    ['PROPFIND', '/memory', 'POST'],
    ['PROPFIND', '/memory/search', 'GET'],
    ['LOCK', `/memory/${MISSING_ID}`, 'GET, PATCH, DELETE'],
    ['SEARCH', '/health', 'GET'],
    ['QUERY', '/memory/list', 'GET'],
  ])('%s %s is a 405 with Allow: %s', async (method, path, allowed) => {
    for (const prefix of path === '/livez' || path === '/openapi.json' ? [''] : ['', '/v1']) {
      const reply = await agent.send(method, prefix + path);
      expectError(reply, 405, 'method_not_allowed');
      expect(reply.headers.get('allow'), reply.story).toBe(allowed);
    }
  });

  it('is a 405 for an OPTIONS that is no preflight of a browser', async () => {
    const reply = await agent.send('OPTIONS', '/memory');
    expectError(reply, 405, 'method_not_allowed');
    expect(reply.headers.get('allow'), reply.story).toBe('POST');
  });

  it('is a 405 also with a body', async () => {
    expectError(await agent.send('PUT', `/memory/${id}`, { content: 'x' }), 405, 'method_not_allowed');
    expectError(await agent.send('PATCH', '/memory/search', { content: 'x' }), 405, 'method_not_allowed');
  });
});

describe('unknown and misspelt names', () => {
  it.each([
    ['GET', '/memory/search?q=a&userId=ana', 'userId', 'q, limit, min_score, explain, reassemble, user_id'],
    ['GET', '/memory/list?user=ana', 'user', 'limit, sort, offset, cursor, count_only, user_id'],
    ['GET', '/memory/list?User_Id=ana', 'User_Id', 'user_id'],
    ['GET', '/memory/list?user_id%20=ana', 'user_id ', 'user_id'],
    ['GET', '/memory/list?__proto__=ana', '__proto__', 'user_id'],
    ['GET', '/memory/list?user_id[]=ana', 'user_id[]', 'user_id'],
    ['GET', '/memory/list?', null, ''],
    ['GET', `/memory/${MISSING_ID}?uid=ana`, 'uid', 'user_id'],
    ['DELETE', `/memory/${MISSING_ID}?userid=ana`, 'userid', 'user_id'],
    ['GET', '/health?verbose=true', 'verbose', 'none'],
  ])('in the query of %s %s are refused, with the known ones listed', async (method, path, name, known) => {
    const reply = await agent.send(method, path);
    if (name === null) return expect(reply.status, reply.story).toBe(200);
    expectError(reply, 400, 'invalid_parameter', [name]);
    expect(reply.body.details[0].message, reply.story).toContain(known);
  });

  it('in the query of a write are refused as well', async () => {
    expectError(await agent.send('POST', '/memory?user_id=ana', { content: 'Of whom?' }), 400, 'invalid_parameter', ['user_id']);
    expectError(await agent.send('PATCH', `/memory/${id}?userId=ana`, { tier: 2 }), 400, 'invalid_parameter', ['userId']);
  });

  it.each(['userId', 'USER_ID', 'user-id', 'userid', 'expiresAt', 'sessionId', 'Content', 'TAGS', 'meta_data', 'source-ids'])(
    'in the body of a write that mean a known one are refused: %s',
    async (name) => {
      for (const reply of [
        await agent.post('/memory', { content: 'Misspelt', [name]: 'x' }),
        ...(['userId', 'expiresAt', 'Content'].includes(name) ? [await agent.patch(`/memory/${id}`, { tier: 2, [name]: 'x' })] : []),
      ]) {
        expectError(reply, 400, 'invalid_parameter', [name]);
        expect(reply.body.details[0].message, reply.story).toMatch(
          /did you mean (user_id|expires_at|session_id|content|tags|metadata|source_ids)\?$/,
        );
      }
    },
  );

  it('in the body of a write that mean nothing are ignored, and the answer says so', async () => {
    const client = await service.newAccount();
    const warnings = ["unknown field 'colour' was ignored", "unknown field 'id' was ignored"];
    const stored = await client.post('/memory', { content: 'With more', colour: { deep: [1] }, id: MISSING_ID });
    expect(stored.body, stored.story).toEqual({ id: expect.stringMatching(UUID), stored: true, warnings });
    const again = await client.post('/memory', { content: 'With more', colour: null, id: MISSING_ID });
    expect(again.body, again.story).toEqual({ id: stored.body.id, stored: false, duplicate: true, warnings });
  });

  it('in headers are harmless', async () => {
    const reply = await agent.send('GET', '/memory/list', undefined, { 'x-workspace-id': 'w', 'x-user-id': 'u', accept: 'text/html', prefer: 'x' });
    expect(reply.status, reply.story).toBe(200);
  });
});

describe('wrong values', () => {
  it('are all named at once, each with what was expected and what came', async () => {
    const reply = await agent.post('/memory', { content: '', tier: 7, tags: ['ok', ''], type: 5, userId: 'x', expires_at: 'soon', metadata: [] });
    expectError(reply, 400, 'invalid_parameter', ['content', 'tier', 'tags.1', 'type', 'userId', 'expires_at', 'metadata']);
    expect(reply.body.details, reply.story).toContainEqual({ field: 'tier', message: 'must be 0, 1, 2 or 3; got 7' });
    expect(reply.body.details, reply.story).toContainEqual({ field: 'type', message: 'must be a string of 1 to 64 characters; got 5' });
    expect(reply.body.error, reply.story).toMatch(/content.*tier|tier.*content/);
  });

  it('of query and body together, too', async () => {
    const reply = await agent.patch(`/memory/${id}`, { tier: 9, content: 5 }, { user_id: '', x: 1 });
    expectError(reply, 400, 'invalid_parameter', ['user_id', 'x', 'tier', 'content']);
  });

  it('of a query, too', async () => {
    const reply = await agent.get('/memory/search', { limit: 0, min_score: 2, tier: 9, after: 'x', unknown: 1 });
    expectError(reply, 400, 'invalid_parameter', ['q', 'limit', 'min_score', 'tier', 'after', 'unknown']);
    expect(reply.body.details, reply.story).toContainEqual({ field: 'q', message: 'is required' });
  });

  it('given twice are refused', async () => {
    expectError(await agent.get('/memory/list?limit=1&limit=2'), 400, 'invalid_parameter', ['limit']);
    expectError(await agent.get('/memory/list?user_id=ana&user_id=ben'), 400, 'invalid_parameter', ['user_id']);
  });

  it.each(['GET /memory/list', 'GET /memory/search?q=a', 'GET /memory/ID', 'DELETE /memory/ID', 'PATCH /memory/ID', 'POST /memory'])(
    'an empty user_id is refused by %s',
    async (request) => {
      const [method = '', path = ''] = request.replace('ID', id).split(' ');
      const reply =
        method === 'POST'
          ? await agent.post(path, { content: 'Whose?', user_id: '' })
          : await agent.send(method, `${path}${path.includes('?') ? '&' : '?'}user_id=`, method === 'PATCH' ? { tier: 2 } : undefined);
      expectError(reply, 400, 'invalid_parameter', ['user_id']);
    },
  );

  it('are shown shortly, however long they are', async () => {
    const reply = await agent.post('/memory', { content: 'x', type: 'y'.repeat(100_000), metadata: [...Array(5_000).keys()] });
    expectError(reply, 400, 'invalid_parameter', ['type', 'metadata']);
    expect(JSON.stringify(reply.body).length, reply.story).toBeLessThan(600);
  });
});

describe('the request id', () => {
  it.each(['a', 'x'.repeat(128), '0.1_2-Z'])('of the caller is kept: %s', async (requestId) => {
    const [good, bad] = [
      await agent.send('GET', '/memory/list', undefined, { 'x-request-id': requestId }),
      await agent.send('GET', '/memory/nothing', undefined, { 'x-request-id': requestId }),
    ];
    expect(good.headers.get('x-request-id'), good.story).toBe(requestId);
    expect(bad.headers.get('x-request-id'), bad.story).toBe(requestId);
    expect(bad.body.request_id, bad.story).toBe(requestId);
  });

  it.each(['x'.repeat(129), 'a b', 'a/b', 'a"b', '<script>', ''])("is made when the caller's is not safe to repeat: %j", async (requestId) => {
    const reply = await agent.send('GET', '/memory/nothing', undefined, { 'x-request-id': requestId });
    expect(reply.headers.get('x-request-id'), reply.story).toMatch(UUID);
    expectError(reply, 404, 'not_found');
  });
});

describe('a request without a valid key', () => {
  const header = (authorization: string) => ({ authorization });

  it.each(ENDPOINTS)('is refused by $name', async ({ call }) => {
    const reply = await call(new Client(service.url, 'nonsense', agent.account, ''));
    expectError(reply, 401, 'unauthenticated');
    expect(reply.headers.get('www-authenticate'), reply.story).toBe('Bearer');
  });

  it('is told what is missing', async () => {
    const reply = await sendWithout('authorization', 'GET', '/memory/list');
    expectError(reply, 401, 'unauthenticated');
    expect(reply.body.error, reply.story).toContain('Authorization: Bearer');
    expect(reply.headers.get('www-authenticate'), reply.story).toBe('Bearer');
  });

  it.each(['Bearer', 'Bearer ', 'Basic YTpi', 'mem_abc', 'Bearer mem_', 'Bearer a b', `Bearer ${'x'.repeat(5_000)}`])(
    'is refused when its Authorization header is %s',
    async (authorization) => expectError(await agent.send('GET', '/memory/list', undefined, header(authorization)), 401, 'unauthenticated'),
  );

  it('is refused for a typo in the key, by its checksum', async () => {
    const last = agent.key.at(-1) === 'a' ? 'b' : 'a';
    const reply = await agent.send('GET', '/memory/list', undefined, header(`Bearer ${agent.key.slice(0, -1)}${last}`));
    expectError(reply, 401, 'unauthenticated');
    expect(reply.body.error, reply.story).toContain('checksum');
  });

  it('is refused for a key that nobody was given', async () =>
    expectError(await agent.send('GET', '/memory/list', undefined, header(`Bearer ${generateApiKey()}`)), 401, 'unauthenticated'));

  it('is refused within a second of revoking the key', async () => {
    const revoked = await service.newKey(agent, { scopes: ['memory:read'] });
    const before = await revoked.get('/memory/list');
    expect(before.status, before.story).toBe(200);
    await service.access.revokeKey(agent.account.id, revoked.keyId, byCommand(), deadlineIn(10_000));
    await wait(1_000);
    const after = await revoked.get('/memory/list');
    expectError(after, 401, 'unauthenticated');
    expect(after.body.error, after.story).toContain('revoked');
  });

  it('is refused from the moment that the key expires', async () => {
    const expiring = await service.newKey(agent, { scopes: ['memory:read'], expiresAt: Date.now() + 1_500 });
    const before = await expiring.get('/memory/list');
    expect(before.status, before.story).toBe(200);
    await wait(1_500);
    const after = await expiring.get('/memory/list');
    expectError(after, 401, 'unauthenticated');
    expect(after.body.error, after.story).toContain('expired');
  });

  it('may write the scheme as it likes', async () => {
    const reply = await agent.send('GET', '/memory/list', undefined, header(`bearer   ${agent.key} `));
    expect(reply.status, reply.story).toBe(200);
  });
});

describe('the scopes of a key', () => {
  const SCOPES: Scope[] = ['memory:read', 'memory:write', 'memory:delete'];

  it.each(ENDPOINTS)('$name needs $scope and nothing else', async ({ scope, call }) => {
    for (const own of SCOPES) {
      const reply = await call(await service.newKey(agent, { scopes: [own] }));
      if (scope === null || own === scope) {
        expect(reply.status, reply.story).toBe(200);
        continue;
      }
      expectError(reply, 403, 'forbidden');
      expect(reply.body.error, reply.story).toContain(scope);
    }
    const admin = await call(await service.newKey(agent, { scopes: ['admin'] }));
    expect(admin.status, admin.story).toBe(200);
  });

  it('are asked for before anything is looked up', async () => {
    const reader = await service.newKey(agent, { scopes: ['memory:read'] });
    expectError(await reader.delete(`/memory/${MISSING_ID}`), 403, 'forbidden');
    expectError(await reader.patch(`/memory/${MISSING_ID}`, { tier: 1 }), 403, 'forbidden');
  });
});

describe('a key that is bound to a user', () => {
  let bound: Client;
  const ids: Record<string, string> = {};
  beforeAll(async () => {
    const owner = await service.newAccount();
    bound = await service.newKey(owner, { scopes: ['memory:read', 'memory:write', 'memory:delete'], userId: 'ana' });
    ids['own'] = await owner.store({ content: 'Ana rows on Sundays', user_id: 'ana' });
    ids['other'] = await owner.store({ content: 'Ben rows on Mondays', user_id: 'ben' });
    ids['account'] = await owner.store({ content: 'Rowing is for the account' });
    ids['shared'] = await owner.store({ content: 'The rowing club opens at six', tier: 3 });
  });

  it("reads that user's memories and the shared ones, with and without the user_id", async () => {
    for (const query of [{}, { user_id: 'ana' }] as Record<string, string>[]) {
      expect((await bound.found('rowing', query)).toSorted()).toEqual(['Ana rows on Sundays', 'The rowing club opens at six']);
      const list = await bound.get('/memory/list', query);
      expect(list.body.total, list.story).toBe(2);
    }
    for (const [name, status] of [
      ['own', 200],
      ['shared', 200],
      ['other', 404],
      ['account', 404],
    ] as const) {
      const reply = await bound.get(`/memory/${ids[name]}`);
      expect(reply.status, reply.story).toBe(status);
    }
  });

  it('is refused for another user, by the name of the binding', async () => {
    for (const reply of [
      await bound.get('/memory/list', { user_id: 'ben' }),
      await bound.get('/memory/search', { q: 'rowing', user_id: 'ben' }),
      await bound.get(`/memory/${ids['own']}`, { user_id: 'ben' }),
      await bound.post('/memory', { content: 'For Ben', user_id: 'ben' }),
      await bound.patch(`/memory/${ids['own']}`, { tier: 0 }, { user_id: 'ben' }),
      await bound.delete(`/memory/${ids['own']}`, { user_id: 'ben' }),
    ]) {
      expectError(reply, 403, 'forbidden');
      expect(reply.body.error, reply.story).toContain("bound to user_id 'ana'");
    }
  });

  it('is refused when it changes or deletes a shared memory, and finds no other to change', async () => {
    for (const reply of [await bound.patch(`/memory/${ids['shared']}`, { tier: 2 }), await bound.delete(`/memory/${ids['shared']}`)]) {
      expectError(reply, 403, 'forbidden');
      expect(reply.body.error, reply.story).toContain("bound to user_id 'ana'");
    }
    for (const name of ['other', 'account']) {
      expectError(await bound.patch(`/memory/${ids[name]}`, { tier: 2 }), 404, 'not_found');
      expectError(await bound.delete(`/memory/${ids[name]}`), 404, 'not_found');
    }
  });

  it('stores for that user, and changes and deletes what is theirs', async () => {
    const stored = await bound.store('Ana rows on Tuesdays, too');
    const got = await bound.get(`/memory/${stored}`);
    expect(got.body.user_id, got.story).toBe('ana');
    const shared = await bound.store({ content: 'Not shared by this key', tier: 3 });
    const notShared = await bound.get(`/memory/${shared}`);
    expect(notShared.body.user_id, notShared.story).toBe('ana');
    for (const reply of [await bound.patch(`/memory/${stored}`, { tier: 0 }), await bound.delete(`/memory/${stored}`)])
      expect(reply.status, reply.story).toBe(200);
  });
});

describe('a body', () => {
  const json = { 'content-type': 'application/json' };

  it.each(['{"content":', '{content:1}', "{'content':'x'}", '{"content":"x"} trailing', '{"content":"x"}{}', 'content=x', '\u0000'])(
    'that is not JSON is refused: %j',
    async (body) => {
      const reply = await agent.send('POST', '/memory', body, json);
      expectError(reply, 400, 'invalid_parameter', ['body']);
      expect(reply.body.details[0].message, reply.story).toMatch(/^must be JSON/);
    },
  );

  it.each(['[]', '[{"content":"x"}]', '"content"', '5', 'true', 'null', ''])('that is no JSON object is refused: %j', async (body) => {
    expectError(await agent.send('POST', '/memory', body, json), 400, 'invalid_parameter', ['body']);
    expectError(await agent.send('PATCH', `/memory/${id}`, body, json), 400, 'invalid_parameter', ['body']);
  });

  it.each([
    '{"content":"x","__proto__":{"a":1}}',
    '{"content":"x","metadata":{"__proto__":{"a":1}}}',
    '{"content":"x","constructor":{"prototype":{}}}',
  ])('that reaches for a prototype is refused: %s', async (body) =>
    expectError(await agent.send('POST', '/memory', body, json), 400, 'invalid_parameter'),
  );

  it('that is not UTF-8 is refused', async () => {
    for (const bytes of [Buffer.from('{"content":"caf\xe9"}', 'latin1'), Buffer.from('{"content":"x"}', 'utf16le')]) {
      const head = `POST /memory HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${agent.key}\r\nContent-Type: application/json\r\nContent-Length: ${bytes.length}\r\nConnection: close\r\n\r\n`;
      expectError(await sendRaw(service.port, Buffer.concat([Buffer.from(head), bytes])), 400, 'invalid_parameter', ['body']);
    }
  });

  it('nested without end is refused and harms nothing', async () => {
    const deep = `{"content":"x","metadata":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`;
    expectError(await agent.send('POST', '/memory', deep, json), 400, 'invalid_parameter', ['metadata']);
  });

  it('larger than 1 MiB is a 413, with or without its length told', async () => {
    const large = JSON.stringify({ content: 'x', filler: 'y'.repeat(1024 * 1024) });
    expectError(await agent.send('POST', '/memory', large, json), 413, 'payload_too_large');
    const chunks = `${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n`;
    const head = `POST /memory HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${agent.key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n`;
    expectError(await sendRaw(service.port, head + chunks), 413, 'payload_too_large');
  });

  it('of almost 1 MiB is read', async () => {
    const reply = await agent.post('/memory', { content: 'Just so', filler: 'y'.repeat(1024 * 1024 - 100) });
    expect(reply.status, reply.story).toBe(200);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/xml', 'application/jsonp', 'nonsense'])(
    'of type %s is a 415',
    async (type) => {
      expectError(await agent.send('POST', '/memory', '{"content":"x"}', { 'content-type': type }), 415, 'unsupported_media_type');
      expectError(await agent.send('PATCH', `/memory/${id}`, '{"tier":2}', { 'content-type': type }), 415, 'unsupported_media_type');
    },
  );

  it('without a type is a 415', async () =>
    expectError(
      await sendRaw(
        service.port,
        `POST /memory HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${agent.key}\r\nContent-Length: 15\r\nConnection: close\r\n\r\n{"content":"x"}`,
      ),
      415,
      'unsupported_media_type',
    ));

  it.each(['application/json; charset=utf-8', 'Application/JSON', 'application/json;charset="UTF-8"'])('of type %s is read', async (type) => {
    const reply = await agent.send('PATCH', `/memory/${id}`, '{"tier":2}', { 'content-type': type });
    expect(reply.status, reply.story).toBe(200);
  });

  it('may be empty with Content-Type: application/json on GET and DELETE', async () => {
    for (const [method, path] of [
      ['GET', '/memory/list'],
      ['GET', `/memory/${id}`],
      ['GET', '/health'],
      ['DELETE', `/memory/${await agent.store('Short')}`],
    ] as const) {
      const reply = await agent.send(method, path, undefined, json);
      expect(reply.status, reply.story).toBe(200);
    }
    const gone = await agent.store('Shorter');
    const reply = await sendRaw(
      service.port,
      `DELETE /memory/${gone} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${agent.key}\r\nContent-Type: application/json\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
    );
    expect(reply.body, reply.story).toEqual({ id: gone, deleted: true });
  });
});

describe('a request that can hardly be read', () => {
  it.each(['/memory/%zz', '/memory/%', '/memory/%ff', '/%c0%ae/x', '/v1/memory/%E0%A4%A'])('for the path %s is a 400', async (path) =>
    expectError(await agent.get(path), 400, 'invalid_parameter'),
  );

  it.each(['/memory/search?q=%ff', '/memory/search?q=%', '/memory/search?q=a&user_id=%E0%A4%A', '/memory/list?%zz=1'])(
    'for %s is a 400',
    async (path) => {
      const reply = await agent.get(path);
      expectError(reply, 400, 'invalid_parameter');
      expect(JSON.stringify(reply.body.details), reply.story).toContain('must be percent-encoded UTF-8');
    },
  );

  it.each([
    ['is no HTTP at all', 'HELLO\r\n\r\n'],
    ['has a method that does not exist', 'FETCH /memory/list HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['has a version that does not exist', 'GET /memory/list HTTP/7.7\r\nHost: x\r\n\r\n'],
    ['has a header without a name', 'GET /memory/list HTTP/1.1\r\n: x\r\n\r\n'],
    ['has two lengths', 'POST /memory HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
    ['has a length and chunks', 'POST /memory HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['has a line break in its path', 'GET /memory\rlist HTTP/1.1\r\nHost: x\r\n\r\n'],
  ])('because it %s is a 400', async (_, request) => {
    const reply = await sendRaw(service.port, request);
    expectError(reply, 400, 'invalid_parameter');
    expect(reply.headers.get('x-request-id'), reply.story).toMatch(UUID);
  });

  it('because its headers are too long is a 413', async () =>
    expectError(
      await sendRaw(service.port, `GET /memory/list HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(200_000)}\r\n\r\n`),
      413,
      'payload_too_large',
    ));

  it('has no Host and is read all the same', async () => {
    const reply = await sendRaw(service.port, 'GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n');
    expect(reply.status, reply.story).toBe(200);
  });
});

describe('what goes wrong on our side', () => {
  it('is masked, and only the request id leads to it', async () => {
    database.broken = true;
    const reply = await agent.get('/memory/search', { q: 'anything' });
    database.broken = false;
    expectError(reply, 500, 'internal');
    expect(reply.body.error, reply.story).not.toMatch(/zero|secret/);
  });
});

describe('a page of another origin', () => {
  const preflight = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,content-type,x-request-id' };

  it('may read answers when the configuration names its origin', async () => {
    for (const reply of [
      await agent.send('GET', '/memory/list', undefined, { origin: ORIGIN }),
      await agent.send('GET', '/memory/none', undefined, { origin: ORIGIN }),
      await sendWithout('authorization', 'GET', '/memory/list', { origin: ORIGIN }),
    ]) {
      expect(reply.headers.get('access-control-allow-origin'), reply.story).toBe(ORIGIN);
      expect(reply.headers.get('vary'), reply.story).toMatch(/origin/i);
      expect(reply.headers.get('access-control-expose-headers')?.toLowerCase(), reply.story).toContain('x-request-id');
    }
    const asked = await sendWithout('authorization', 'OPTIONS', '/memory', { origin: ORIGIN, ...preflight });
    expect(asked.status, asked.story).toBe(204);
    expect(asked.headers.get('access-control-allow-origin'), asked.story).toBe(ORIGIN);
  });

  it('may change and delete when the configuration names its origin', async () => {
    const change = await sendWithout('authorization', 'OPTIONS', `/memory/${id}`, {
      origin: ORIGIN,
      ...preflight,
      'access-control-request-method': 'PATCH',
    });
    for (const method of ['PATCH', 'DELETE', 'POST', 'GET'])
      expect(change.headers.get('access-control-allow-methods'), change.story).toContain(method);
  });

  it('may not when it does not', async () => {
    for (const origin of ['https://evil.example', `${ORIGIN}.evil.example`, 'null', 'http://app.example']) {
      const reply = await agent.send('GET', '/memory/list', undefined, { origin });
      expect(reply.headers.get('access-control-allow-origin'), reply.story).toBeNull();
      const asked = await sendWithout('authorization', 'OPTIONS', '/memory', { origin, ...preflight });
      expect(asked.headers.get('access-control-allow-origin'), asked.story).toBeNull();
    }
  });

  describe('without a configuration', () => {
    let closed: TestService;
    beforeAll(async () => {
      closed = await startService();
    });
    afterAll(() => closed.close());

    it('may not', async () => {
      const client = await closed.newAccount();
      const reply = await client.send('GET', '/memory/list', undefined, { origin: ORIGIN });
      expect(reply.headers.get('access-control-allow-origin'), reply.story).toBeNull();
    });
  });
});

describe('GET /health', () => {
  it('says how the service is, to any key', async () => {
    const key = await service.newKey(agent, { scopes: [] });
    const reply = await key.get('/health');
    expect(reply.body, reply.story).toEqual({
      status: 'ok',
      version: '0.0.0-test',
      uptime_seconds: expect.any(Number),
      checks: { database: 'ok', embedding: 'ok', cache: 'off' },
    });
    expect(Number.isInteger(reply.body.uptime_seconds), reply.story).toBe(true);
  });
});

describe('the OpenAPI document', () => {
  let document: any;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  beforeAll(async () => {
    formats.default(ajv);
    ({ body: document } = await agent.get('/openapi.json'));
    ajv.addSchema(document, 'openapi.json');
  });

  /** Expects that the document has this status of this endpoint, and that the answer is as it says. */
  function expectDocumented(reply: Reply, method: string, path: string) {
    const response = document.paths[path]?.[method]?.responses[reply.status];
    expect(response, `${method} ${path} has no ${reply.status}: ${reply.story}`).toBeDefined();
    const pointer = ['paths', path, method, 'responses', String(reply.status), 'content', 'application/json', 'schema']
      .map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')))
      .join('/');
    const validate = ajv.compile({ $ref: `openapi.json#/${pointer}` });
    expect(validate(reply.body), `${JSON.stringify(validate.errors)}: ${reply.story}`).toBe(true);
  }

  it('is one of OpenAPI 3.1 with every endpoint and its own operationId', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d$/);
    const operations = Object.entries<any>(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(operations.toSorted()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).toSorted());
    expect(operations.toSorted()).toEqual(ENDPOINTS.map(({ name }) => name).toSorted());
    const ids = Object.values<any>(document.paths).flatMap((methods) => Object.values<any>(methods).map(({ operationId }) => operationId));
    expect(new Set(ids).size).toBe(operations.length);
  });

  it('names every query parameter with a description, and the path parameter', () => {
    for (const { method, path, query } of routes) {
      const parameters: any[] = document.paths[path][method.toLowerCase()].parameters;
      expect(parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name)).toEqual(Object.keys(query));
      for (const { name, in: place, description, schema } of parameters) {
        expect(schema.type, `${path} ${name}`).toBeDefined();
        if (place === 'query') expect(description, `${path} ${name}`).toMatch(/\.$/);
      }
      expect(parameters.some((parameter) => parameter.in === 'path' && parameter.name === 'id')).toBe(path.includes('{id}'));
    }
  });

  it.each(ENDPOINTS)('describes what $name answers, refuses and forbids', async ({ name, call }) => {
    const [method = '', path = ''] = name.toLowerCase().split(' ');
    expectDocumented(await call(agent), method, path);
    expectDocumented(await call(new Client(service.url, 'nonsense', agent.account, '')), method, path);
    if (name !== 'GET /health') expectDocumented(await call(await service.newKey(agent, { scopes: [] })), method, path);
    const wrong = await agent.send(
      method.toUpperCase(),
      `${path.replace('{id}', id)}?unknown=1`,
      ['post', 'patch'].includes(method) ? {} : undefined,
    );
    expect(wrong.status, wrong.story).toBe(400);
    expectDocumented(wrong, method, path);
    if (path.includes('{id}')) {
      const body = { patch: { tier: 1 }, post: { version: 1 } }[method];
      const missing = await agent.send(method.toUpperCase(), path.replace('{id}', MISSING_ID), body);
      expect(missing.status, missing.story).toBe(404);
      expectDocumented(missing, method, path);
    }
    if (['post', 'patch'].includes(method))
      for (const [body, type] of [
        ['{}', 'text/plain'],
        ['x'.repeat(1024 * 1024 + 1), 'application/json'],
      ] as const)
        expectDocumented(await agent.send(method.toUpperCase(), path.replace('{id}', id), body, { 'content-type': type }), method, path);
  });

  it('describes the other shapes of a list, a search, a store and a change', async () => {
    const client = await service.newAccount();
    expectDocumented(await client.post('/memory', { content: 'Twice', metadata: { a: [1, { b: null }] }, tags: ['t'], extra: 1 }), 'post', '/memory');
    expectDocumented(await client.post('/memory', { content: 'Twice', tier: 2 }), 'post', '/memory');
    expectDocumented(await client.get('/memory/list', { count_only: true }), 'get', '/memory/list');
    expectDocumented(await client.get('/memory/list', { limit: 1 }), 'get', '/memory/list');
    expectDocumented(await client.get('/memory/search', { q: 'twice', explain: true }), 'get', '/memory/search');
    const memory = await client.store({ content: 'Expiring', tier: 1, user_id: 'ana', session_id: 's' });
    expectDocumented(await client.patch(`/memory/${memory}`, { tier: 1, extra: 1 }), 'patch', '/memory/{id}');
    expectDocumented(await client.get(`/memory/${memory}`), 'get', '/memory/{id}');
  });

  it('describes a limit that is used up', async () => {
    const client = await service.newAccount({ plan: 'free' });
    for (let request = 0; request < 30; request++) await client.get('/health');
    const reply = await client.get('/memory/search', { q: 'anything' });
    expect(reply.status, reply.story).toBe(429);
    expectDocumented(reply, 'get', '/memory/search');
  });

  it("describes a search's failure on our side", async () => {
    database.broken = true;
    const reply = await agent.get('/memory/search', { q: 'anything' });
    database.broken = false;
    expectDocumented(reply, 'get', '/memory/search');
  });
});

/** A request without one of the headers that a client sends. */
async function sendWithout(header: string, method: string, path: string, headers: Record<string, string> = {}): Promise<Reply> {
  const lines = Object.entries({ host: 'x', connection: 'close', authorization: `Bearer ${agent.key}`, ...headers })
    .filter(([name]) => name !== header)
    .map(([name, value]) => `${name}: ${value}\r\n`);
  return sendRaw(service.port, `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
}
