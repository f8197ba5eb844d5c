import { buildClientSchema, getIntrospectionQuery, type IntrospectionQuery } from 'graphql';
import neo4jDriver from 'neo4j-driver';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { connectDatabase, type Database } from '../src/graph/database.ts';
import type { Client, Reply } from './testkit/client.ts';
import { countStatements } from './testkit/counting-database.ts';
import { sendRaw } from './testkit/raw.ts';
import { startService, type TestService, useService } from './testkit/service.ts';

const MISSING_ID = '018f0000-0000-7000-8000-000000000000';

/** What a search asks of the database instead: to divide by zero, or to count for minutes. */
let replaced: string | null = null;
const neo4j = connectDatabase(inject('neo4j'));
const replacing: Database = {
  ...neo4j,
  read: (statement, parameters, deadline) => neo4j.read(replaced && statement.includes('VECTOR INDEX') ? replaced : statement, parameters, deadline),
};
const database = countStatements(replacing);
const service = useService({ database });
afterAll(() => neo4j.close());

let agent: Client;
beforeAll(async () => {
  agent = await service.newAccount();
});

/** Runs a document that succeeds and answers its data. */
async function data(client: Client, query: string, variables: Record<string, unknown> = {}) {
  const reply = await client.graphql(query, variables);
  expect(reply.status, reply.story).toBe(200);
  expect(reply.body.errors, reply.story).toBeUndefined();
  return reply.body.data;
}

/** Expects one error with exactly our extensions. */
function expectError(reply: Reply, code: string, status: number, details?: { field: string; message: unknown }[]) {
  expect(reply.body.errors, reply.story).toHaveLength(1);
  const [{ message, extensions, ...place }] = reply.body.errors;
  expect(message, reply.story).toEqual(expect.any(String));
  expect(extensions, reply.story).toEqual({ code, status, requestId: reply.headers.get('x-request-id'), ...(details ? { details } : {}) });
  expect(
    Object.keys(place).filter((key) => !['locations', 'path'].includes(key)),
    reply.story,
  ).toEqual([]);
  expect(JSON.stringify(reply.body), reply.story).not.toMatch(/node_modules|\bat .*\.[jt]s:\d|stacktrace|Neo4j/);
}

const STORE = 'mutation ($input: StoreMemoryInput!) { storeMemory(input: $input) { id stored duplicate memory { id content version } } }';
const UPDATE =
  'mutation ($id: ID!, $userId: String, $input: UpdateMemoryInput!) { updateMemory(id: $id, userId: $userId, input: $input) { id updated version memory { content tags version } } }';
const DELETE = 'mutation ($id: ID!, $userId: String) { deleteMemory(id: $id, userId: $userId) { id deleted } }';
const GET = 'query ($id: ID!, $userId: String) { memory(id: $id, userId: $userId) { id content } }';
const PAGE = `query ($filter: MemoryFilter, $sort: MemorySort! = RECENT, $first: Int! = 20, $after: String, $offset: Int) {
  memories(filter: $filter, sort: $sort, first: $first, after: $after, offset: $offset) {
    nodes { content }
    edges { cursor node { content } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}`;

describe('mutations', () => {
  it('store a memory and show it with all its fields', async () => {
    const input = {
      content: ' Maya plays the cello ',
      userId: 'maya',
      tier: 0,
      type: 'context',
      tags: ['music', 'music'],
      metadata: { a: { b: [1, null] } },
      sessionId: 's',
      occurredAt: '2026-05-04T10:00:00+02:00',
      expiresAt: '2999-01-01T00:00:00Z',
    };
    const { storeMemory } = await data(
      agent,
      `mutation ($input: StoreMemoryInput!) { storeMemory(input: $input) { id stored duplicate memory {
         id content userId tier type tags metadata sessionId sourceIds occurredAt createdAt updatedAt expiresAt archived version salience } } }`,
      { input },
    );
    expect(storeMemory).toEqual({
      id: expect.any(String),
      stored: true,
      duplicate: false,
      memory: {
        ...input,
        id: storeMemory.id,
        content: 'Maya plays the cello',
        tags: ['music'],
        sourceIds: [],
        occurredAt: '2026-05-04T08:00:00.000Z',
        expiresAt: '2999-01-01T00:00:00.000Z',
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        updatedAt: storeMemory.memory.createdAt,
        archived: false,
        version: 1,
        salience: expect.any(Number),
      },
    });
    const again = await data(agent, STORE, { input });
    expect(again.storeMemory).toMatchObject({ id: storeMemory.id, stored: false, duplicate: true, memory: { version: 1 } });
  });

  it('change a memory, and say when nothing changed', async () => {
    const id = await agent.store({ content: 'Before', tags: ['a'], user_id: 'ana' });
    const { updateMemory } = await data(agent, UPDATE, { id, userId: 'ana', input: { content: 'After', tags: [] } });
    expect(updateMemory).toEqual({ id, updated: true, version: 2, memory: { content: 'After', tags: [], version: 2 } });
    const again = await data(agent, UPDATE, { id, input: { content: 'After' } });
    expect(again.updateMemory).toMatchObject({ updated: false, version: 2 });
  });

  it('delete a memory', async () => {
    const id = await agent.store('To be deleted');
    expect(await data(agent, DELETE, { id })).toEqual({ deleteMemory: { id, deleted: true } });
    expect(await data(agent, GET, { id })).toEqual({ memory: null });
  });

  it('answer NOT_FOUND for a memory that is not there or not to be seen', async () => {
    const id = await agent.store({ content: "Ana's", user_id: 'ana' });
    for (const reply of [
      await agent.graphql(UPDATE, { id: MISSING_ID, input: { tier: 1 } }),
      await agent.graphql(UPDATE, { id, userId: 'ben', input: { tier: 1 } }),
      await agent.graphql(DELETE, { id: MISSING_ID }),
      await agent.graphql(DELETE, { id, userId: 'ben' }),
    ]) {
      expect(reply.status, reply.story).toBe(200);
      expectError(reply, 'NOT_FOUND', 404);
    }
  });
});

describe('queries', () => {
  it('show one memory, or null for one that is not to be seen', async () => {
    const id = await agent.store({ content: "Ana's violin", user_id: 'ana' });
    expect(await data(agent, GET, { id, userId: 'ana' })).toEqual({ memory: { id, content: "Ana's violin" } });
    expect(await data(agent, GET, { id, userId: 'ben' })).toEqual({ memory: null });
    expect(await data(agent, GET, { id: 'no-uuid' })).toEqual({ memory: null });
    expect(await data(await service.newAccount(), GET, { id })).toEqual({ memory: null });
  });

  it('find memories with their score and its explanation', async () => {
    const client = await service.newAccount();
    await client.store({ content: 'The lighthouse is painted every May', tier: 0, tags: ['sea'] });
    await client.store('Tomatoes need sun');
    const { searchMemories } = await data(
      client,
      `{ searchMemories(query: "when is the lighthouse painted?", filter: { tags: ["sea"] }, first: 5, minScore: 0.2) {
           count hits { score salience memory { content tier salience } explanation { relevance semantic cosine lexical tierWeight textCut } } } }`,
    );
    expect(searchMemories.count).toBe(1);
    const [{ memory, score, salience, explanation }] = searchMemories.hits;
    expect(memory).toEqual({ content: 'The lighthouse is painted every May', tier: 0, salience: expect.any(Number) });
    expect(salience).toBeCloseTo(memory.salience, 2);
    const { relevance: r, tierWeight: w } = explanation;
    expect(explanation).toMatchObject({ tierWeight: 1.5, textCut: false });
    expect(score).toBeCloseTo(r + 0.5 * (w - 1) * r * (1 - r), 5);
  });

  it('say how the service is', async () => {
    const key = await service.newKey(agent, { scopes: [] });
    const { health } = await data(key, '{ health { status version uptimeSeconds checks { database embedding cache disk } } }');
    expect(health).toEqual({
      status: 'OK',
      version: '0.0.0-test',
      uptimeSeconds: expect.any(Number),
      checks: { database: 'OK', embedding: 'OK', cache: 'OFF', disk: 'OFF' },
    });
  });

  it('may come as GET, and mutations may not', async () => {
    const ask = (query: string) =>
      agent.send('GET', `/graphql?query=${encodeURIComponent(query)}`, undefined, { 'apollo-require-preflight': 'true' });
    const reply = await ask('{ health { status } }');
    expect(reply.body, reply.story).toEqual({ data: { health: { status: 'OK' } } });
    const refused = await ask('mutation { storeMemory(input: { content: "x" }) { id } }');
    expect(refused.status, refused.story).toBe(405);
    expect(refused.headers.get('allow'), refused.story).toContain('POST');
  });
});

describe('a connection', () => {
  let client: Client;
  beforeAll(async () => {
    client = await service.newAccount();
    for (let index = 1; index <= 5; index++) await client.store({ content: `${index}`, tags: [index % 2 ? 'odd' : 'even'] });
  });
  const page = async (variables: Record<string, unknown>) => (await data(client, PAGE, variables)).memories;
  const contents = ({ nodes }: { nodes: { content: string }[] }) => nodes.map(({ content }) => content).join('');

  it('has cursors and says whether it goes on', async () => {
    const first = await page({ first: 2, sort: 'OLDEST' });
    expect(first.edges.map(({ node }: any) => node)).toEqual(first.nodes);
    expect(contents(first)).toBe('12');
    expect(first.pageInfo).toEqual({
      hasNextPage: true,
      hasPreviousPage: false,
      startCursor: first.edges[0].cursor,
      endCursor: first.edges[1].cursor,
    });
    const second = await page({ first: 2, sort: 'OLDEST', after: first.pageInfo.endCursor });
    expect(contents(second)).toBe('34');
    expect(second.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true });
    const last = await page({ first: 2, sort: 'OLDEST', after: second.pageInfo.endCursor });
    expect(contents(last)).toBe('5');
    expect(last.pageInfo.hasNextPage).toBe(false);
    expect(contents(await page({ first: 2, sort: 'OLDEST', after: first.edges[0].cursor }))).toBe('23');
  });

  it('has null cursors on an empty page', async () => {
    for (const variables of [{ filter: { tags: ['none'] } }, { offset: 10 }]) {
      const empty = await page(variables);
      expect(empty).toMatchObject({ nodes: [], edges: [], pageInfo: { hasNextPage: false, startCursor: null, endCursor: null } });
    }
  });

  it('can be filtered, turned around and begun at an offset', async () => {
    expect(contents(await page({}))).toBe('54321');
    expect(contents(await page({ filter: { tags: ['odd'], tiers: [2], type: 'fact', archived: false } }))).toBe('531');
    expect(contents(await page({ offset: 3 }))).toBe('21');
    expect(contents(await page({ first: 1_000_000 }))).toBe('54321');
    expect(contents(await page({ filter: null, after: null, offset: null }))).toBe('54321');
  });

  it('refuses what REST refuses, under its own names', async () => {
    const first = await page({ first: 1 });
    const after = first.pageInfo.endCursor;
    for (const [variables, field] of [
      [{ first: 0 }, 'first'],
      [{ first: -1 }, 'first'],
      [{ after: 'made-up' }, 'after'],
      [{ after: '' }, 'after'],
      [{ after, sort: 'OLDEST' }, 'after'],
      [{ after, filter: { tags: ['odd'] } }, 'after'],
      [{ after, offset: 1 }, 'offset'],
      [{ filter: { userId: '' } }, 'userId'],
      [{ filter: { tiers: [] } }, 'tiers'],
    ] as const) {
      const reply = await client.graphql(PAGE, variables);
      expectError(reply, 'INVALID_PARAMETER', 400, [{ field, message: expect.any(String) }]);
    }
  });

  it('names a wrong argument that stands by itself', async () => {
    for (const [query, variables, field] of [
      [PAGE, { offset: 10_001 }, 'offset'],
      [GET, { id: MISSING_ID, userId: '' }, 'userId'],
    ] as const) {
      const reply = await client.graphql(query, variables);
      expectError(reply, 'INVALID_PARAMETER', 400, [{ field, message: expect.any(String) }]);
    }
  });

  it('is read in one statement, and counted in another only when that is asked for', async () => {
    const statements = async (fields: string, variables: Record<string, unknown> = {}) => {
      database.takeStatements();
      await data(client, `query ($first: Int! = 20) { memories(first: $first) { ${fields} } }`, variables);
      return database.takeStatements();
    };
    const whole = 'nodes { content } edges { cursor node { id salience } } pageInfo { hasNextPage endCursor }';
    expect(await statements(whole)).toHaveLength(1);
    expect(await statements(`${whole} totalCount`)).toHaveLength(2);
    const [counting, ...others] = await statements('totalCount');
    expect(counting).toContain('count(m)');
    expect(others).toEqual([]);
    const { memories } = await data(client, '{ memories(first: 1, filter: { tags: ["odd"] }) { totalCount nodes { id } } }');
    expect(memories).toMatchObject({ totalCount: 3, nodes: [{}] });
  });
});

describe('the number of statements', () => {
  it('of a page and of a search stays the same as rows grow', async () => {
    const client = await service.newAccount();
    const both = async () => {
      database.takeStatements();
      await data(
        client,
        '{ memories(first: 100) { totalCount nodes { content tags salience } } searchMemories(query: "note", first: 100) { hits { memory { content } explanation { relevance } } } }',
      );
      // Keys are looked up, and recalls written, when their time has come.
      return database.takeStatements().filter((statement) => !/:ApiKey|m\.recalls \+/.test(statement)).length;
    };
    await client.store('Note 0');
    const few = await both();
    await client.storeAll(Array.from({ length: 40 }, (_, index) => `Note ${index + 1}`));
    expect(await both()).toBe(few);
  });

  it('of mutations has a read only for the payloads that show their memory', async () => {
    const client = await service.newAccount();
    const store = async (fields: string, topic: string) => {
      database.takeStatements();
      const fieldsOf = (index: number) => `m${index}: storeMemory(input: { content: "${topic} ${index}" }) { ${fields} }`;
      await data(client, `mutation { ${Array.from({ length: 20 }, (_, index) => fieldsOf(index)).join(' ')} }`);
      return database.takeStatements().filter((statement) => !/\b(CREATE|MERGE|SET)\b/.test(statement)).length;
    };
    expect(await store('id stored', 'Without')).toBe(0);
    // One each: GraphQL runs the mutations of a document one after the other, so there is never more than one to load.
    expect(await store('memory { id content version }', 'With')).toBe(20);
  });
});

describe('a document that asks for too much is refused before anything of it is done', () => {
  const refused = async (query: string, message: RegExp) => {
    const client = await service.newAccount();
    database.takeStatements();
    const reply = await client.graphql(query);
    expect(reply.status, reply.story).toBe(400);
    expectError(reply, 'INVALID_PARAMETER', 400);
    expect(reply.body.errors[0].message, reply.story).toMatch(message);
    expect(reply.body.data, reply.story).toBeUndefined();
    expect(database.takeStatements()).toEqual([]);
  };

  it('for its tokens', () => refused(`{ ${'health { status } '.repeat(1_000)} }`, /4,?000 tokens/));

  it('for its aliases', () => {
    const aliases = Array.from({ length: 31 }, (_, index) => `a${index}: storeMemory(input: { content: "${index}" }) { id }`);
    return refused(`mutation { ${aliases.join(' ')} }`, /31 aliases; the limit is 30/);
  });

  it('for aliases in fragments that are used again and again', () =>
    refused(
      `fragment A on Health { a: status b: status c: status d: status }
       { ${Array.from({ length: 8 }, () => 'health { ...A ...A }').join(' ')} }`,
      /aliases; the limit is 30/,
    ));

  it('for its cost', () => {
    const pages = Array.from(
      { length: 9 },
      (_, index) => `p${index}: memories(first: 100) { nodes { id content tags metadata userId tier type version archived createdAt updatedAt } }`,
    );
    return refused(`{ ${pages.join(' ')} }`, /costs [\d,]+; the limit is 10,?000/);
  });

  it('for its cost by way of a variable and of a default', async () => {
    const fields = 'nodes { id content tags metadata userId tier type version archived createdAt updatedAt }';
    const pages = Array.from({ length: 12 }, (_, index) => `p${index}: memories(first: $n) { ${fields} }`).join(' ');
    await refused(`query ($n: Int! = 100) { ${pages} }`, /costs/);
    const reply = await agent.graphql(`query ($n: Int!) { ${pages} }`, { n: 100 });
    expectError(reply, 'INVALID_PARAMETER', 400);
    expect((await data(agent, `query ($n: Int!) { ${pages} }`, { n: 10 })).p11.nodes).toEqual(expect.any(Array));
  });

  it('for introspection that goes round in circles', () =>
    refused(`{ __schema { types { ${'fields { type { '.repeat(8)} name ${'} }'.repeat(8)} } } }`, /introspection/i));

  it('for fragments that unfold without end', async () => {
    const started = performance.now();
    const fragments = Array.from({ length: 40 }, (_, index) => `fragment F${index} on Query { ...F${index + 1} ... { ...F${index + 1} } }`);
    const reply = await agent.graphql(`{ ...F0 } ${fragments.join('\n')} fragment F40 on Query { health { status } }`);
    expect([200, 400], reply.story).toContain(reply.status);
    expect(performance.now() - started, reply.story).toBeLessThan(3_000);
  });

  it('but 30 aliases and a page of 100 with every field pass', async () => {
    const aliases = Array.from({ length: 30 }, (_, index) => `a${index}: health { status }`);
    expect(Object.keys(await data(agent, `{ ${aliases.join(' ')} }`))).toHaveLength(30);
    await data(
      agent,
      '{ memories(first: 100) { nodes { id content userId tier type tags metadata sessionId sourceIds occurredAt createdAt updatedAt expiresAt archived version salience } totalCount } }',
    );
  });
});

describe('introspection', () => {
  let schema: IntrospectionQuery;
  beforeAll(async () => {
    schema = await data(agent, getIntrospectionQuery({ inputValueDeprecation: true, specifiedByUrl: true, schemaDescription: true }));
  });

  it('passes the limits and gives the whole schema', () => {
    const client = buildClientSchema(schema);
    expect(Object.keys(client.getQueryType()!.getFields())).toEqual(expect.arrayContaining(['memory', 'memories', 'searchMemories', 'health']));
    expect(Object.keys(client.getMutationType()!.getFields())).toEqual(expect.arrayContaining(['storeMemory', 'updateMemory', 'deleteMemory']));
  });

  it('describes every type, field, argument and value', () => {
    const missing: string[] = [];
    const look = (name: string, described: { description?: string | null }) => {
      if (!described.description?.trim()) missing.push(name);
    };
    for (const type of schema.__schema.types) {
      if (type.name.startsWith('__') || ['String', 'Int', 'Float', 'Boolean', 'ID'].includes(type.name)) continue;
      look(type.name, type);
      if (type.kind === 'OBJECT')
        for (const field of type.fields) {
          look(`${type.name}.${field.name}`, field);
          for (const argument of field.args) look(`${type.name}.${field.name}(${argument.name})`, argument);
        }
      if (type.kind === 'INPUT_OBJECT') for (const field of type.inputFields) look(`${type.name}.${field.name}`, field);
      if (type.kind === 'ENUM') for (const value of type.enumValues) look(`${type.name}.${value.name}`, value);
    }
    expect(missing).toEqual([]);
  });
});

describe('errors', () => {
  it('name every wrong field at once, in the names of the schema', async () => {
    const reply = await agent.graphql(STORE, { input: { content: ' ', userId: '', tier: 9, expiresAt: '2001-01-01T00:00:00Z', tags: [''] } });
    expect(reply.status, reply.story).toBe(200);
    expectError(reply, 'INVALID_PARAMETER', 400, [
      { field: 'content', message: expect.stringContaining('1 to 50,000 characters') },
      { field: 'userId', message: 'must be a string of 1 to 256 characters; got ""' },
      { field: 'tier', message: 'must be 0, 1, 2 or 3; got 9' },
      { field: 'tags.0', message: expect.stringContaining('1 to 100 characters') },
    ]);
    expect(reply.body.errors[0].path, reply.story).toEqual(['storeMemory']);
  });

  it('of a field that may be null leave the others their data', async () => {
    const reply = await agent.graphql('query ($id: ID!) { memory(id: $id, userId: "") { content } health { status } }', { id: MISSING_ID });
    expect(reply.status, reply.story).toBe(200);
    expect(reply.body.data, reply.story).toEqual({ memory: null, health: { status: 'OK' } });
    expect(reply.body.errors, reply.story).toMatchObject([{ path: ['memory'], extensions: { code: 'INVALID_PARAMETER' } }]);
  });

  it.each<[what: string, query: string, variables: Record<string, unknown>]>([
    ['a syntax error', '{ health { status }', {}],
    ['an empty document', '', {}],
    ['an unknown field', '{ health { mood } }', {}],
    ['an unknown argument', '{ memories(user: "ana") { totalCount } }', {}],
    ['an unknown field of an input', '{ memories(filter: { user_id: "ana" }) { totalCount } }', {}],
    ['a variable that is missing', GET, {}],
    ['a variable of a wrong type', GET, { id: { a: 1 } }],
    ['an unknown field in a variable', PAGE, { filter: { userid: 'ana' } }],
    ['a time that is none', PAGE, { filter: { createdAfter: 'yesterday' } }],
    ['metadata that is no object', STORE, { input: { content: 'x', metadata: [1] } }],
    ['a number that does not fit', PAGE, { first: 3_000_000_000 }],
    ['an unknown sort', PAGE, { sort: 'NEWEST' }],
  ])('of a malformed request are a 400 with our extensions: %s', async (_, query, variables) => {
    database.takeStatements();
    const reply = await agent.graphql(query, variables);
    expect(reply.status, reply.story).toBe(400);
    expectError(reply, 'INVALID_PARAMETER', 400);
    expect(database.takeStatements()).toEqual([]);
  });

  it.each<[what: string, body: unknown, headers: Record<string, string>, status: number, code: string]>([
    ['an unknown operation', { query: 'query A { __typename }', operationName: 'B' }, {}, 400, 'INVALID_PARAMETER'],
    ['no JSON', '{"query"', { 'content-type': 'application/json' }, 400, 'INVALID_PARAMETER'],
    ['another type of body', '{ __typename }', { 'content-type': 'application/graphql' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['a body beyond 1 MiB', { query: `{ __typename } # ${'x'.repeat(1024 * 1024)}` }, {}, 413, 'PAYLOAD_TOO_LARGE'],
  ])('of a request that can not be read have our extensions, too: %s', async (_, body, headers, status, code) => {
    const reply = await agent.send('POST', '/graphql', body, headers);
    expect(reply.status, reply.story).toBe(status);
    expect(reply.body.errors[0].extensions, reply.story).toMatchObject({ code, status, requestId: reply.headers.get('x-request-id') });
  });

  const WITHOUT_DOCUMENT: [what: string, body: unknown][] = [
    ['no query', {}],
    ['a query that is no text', { query: 5 }],
    ['variables that are no object', { query: '{ __typename }', variables: 'x' }],
    ['a list of requests', [{ query: '{ __typename }' }]],
  ];
  it.each(WITHOUT_DOCUMENT)('of a request without a document are a 400 that names the field: %s', async (_, body) => {
    const reply = await agent.send('POST', '/graphql', body);
    expect(reply.status, reply.story).toBe(400);
    const { requestId, details } = reply.body.errors[0].extensions;
    expect(reply.body.errors[0].extensions, reply.story).toMatchObject({ code: 'INVALID_PARAMETER', status: 400 });
    expect(requestId, reply.story).toBe(reply.headers.get('x-request-id'));
    expect(details, reply.story).toHaveLength(1);
  });

  it('of what goes wrong on our side are masked', async () => {
    replaced = 'UNWIND [0] AS secret RETURN 1 / secret';
    const reply = await agent.graphql('{ searchMemories(query: "a") { count } }');
    replaced = null;
    expect(reply.status, reply.story).toBe(200);
    expectError(reply, 'INTERNAL', 500);
    expect(reply.body.errors[0].message, reply.story).not.toMatch(/zero|secret/);
  });

  it('of a method are a 405', async () => {
    const reply = await agent.send('DELETE', '/graphql');
    expect(reply.status, reply.story).toBe(405);
    expect(reply.headers.get('allow'), reply.story).toBe('GET, POST');
  });
});

describe('a key', () => {
  it('that is missing or wrong is a 401 with errors, also for introspection', async () => {
    const body = JSON.stringify({ query: '{ __typename }' });
    const head = `POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n`;
    for (const reply of [
      await sendRaw(service.port, `${head}\r\n${body}`),
      await agent.send('POST', '/graphql', body, { authorization: 'Bearer nonsense', 'content-type': 'application/json' }),
      await agent.send('GET', '/graphql?query={__typename}', undefined, { authorization: '', 'apollo-require-preflight': '1' }),
    ]) {
      expect(reply.status, reply.story).toBe(401);
      expect(reply.headers.get('www-authenticate'), reply.story).toBe('Bearer');
      expectError(reply, 'UNAUTHENTICATED', 401);
    }
  });

  it.each([
    ['memory:read', 'memory:write', 'storing', STORE, { input: { content: 'x' } }],
    ['memory:write', 'memory:read', 'getting', GET, { id: MISSING_ID }],
    ['memory:write', 'memory:read', 'listing', PAGE, {}],
    ['memory:write', 'memory:read', 'searching', '{ searchMemories(query: "a") { count } }', {}],
    ['memory:delete', 'memory:write', 'changing', UPDATE, { id: MISSING_ID, input: { tier: 0 } }],
    ['memory:write', 'memory:delete', 'deleting', DELETE, { id: MISSING_ID }],
  ] as const)('with only %s is FORBIDDEN what needs %s: %s', async (own, needed, _, query, variables) => {
    const key = await service.newKey(agent, { scopes: [own] });
    const reply = await key.graphql(query, variables);
    expect(reply.status, reply.story).toBe(200);
    expectError(reply, 'FORBIDDEN', 403);
    expect(reply.body.errors[0].message, reply.story).toContain(needed);
  });

  it('that only writes stores, and is not shown what it stored', async () => {
    const key = await service.newKey(agent, { scopes: ['memory:write'] });
    const reply = await key.graphql(STORE, { input: { content: 'Written blindly' } });
    expect(reply.body.data.storeMemory, reply.story).toMatchObject({ stored: true, memory: null });
    expectError(reply, 'FORBIDDEN', 403);
  });

  it('that is bound to a user is FORBIDDEN another one', async () => {
    const key = await service.newKey(agent, { scopes: ['memory:read', 'memory:write'], userId: 'ana' });
    for (const [query, variables] of [
      [PAGE, { filter: { userId: 'ben' } }],
      [STORE, { input: { content: 'For Ben', userId: 'ben' } }],
      [GET, { id: MISSING_ID, userId: 'ben' }],
    ] as const) {
      const reply = await key.graphql(query, variables);
      expectError(reply, 'FORBIDDEN', 403);
      expect(reply.body.errors[0].message, reply.story).toContain("bound to user_id 'ana'");
    }
  });
});

describe('a browser at /graphql', () => {
  const browse = (path: string, accept: string) =>
    sendRaw(service.port, `GET ${path} HTTP/1.1\r\nHost: x\r\nAccept: ${accept}\r\nConnection: close\r\n\r\n`);

  it('is shown a page without a key', async () => {
    const reply = await browse('/graphql', 'text/html,application/xhtml+xml');
    expect(reply.status, reply.story).toBe(200);
    expect(reply.headers.get('content-type'), reply.story).toContain('text/html');
    expect(reply.body, reply.story).toContain('<html');
  });

  it('needs a key to ask for something', async () => {
    for (const [path, accept] of [
      ['/graphql?query={__typename}', 'text/html'],
      ['/graphql', 'application/json'],
    ] as const) {
      const reply = await browse(path, accept);
      expect(reply.status, reply.story).toBe(401);
    }
  });
});

describe('a service with little time and without introspection', () => {
  const TIMEOUT = 1_500;
  const driver = neo4jDriver.driver(inject('neo4j').uri, neo4jDriver.auth.basic(inject('neo4j').username, inject('neo4j').password));
  let hurried: TestService;
  let client: Client;
  beforeAll(async () => {
    hurried = await startService({ database: replacing, settings: { requestTimeout: TIMEOUT, introspection: false } });
    client = await hurried.newAccount();
  });
  afterAll(async () => {
    await hurried.close();
    await driver.close();
  });

  /** Expects that the call answers at its deadline and not much later. */
  async function inTime(call: () => Promise<Reply>): Promise<Reply> {
    const started = performance.now();
    const reply = await call();
    expect(performance.now() - started, reply.story).toBeGreaterThan(TIMEOUT - 100);
    expect(performance.now() - started, reply.story).toBeLessThan(TIMEOUT + 1_500);
    return reply;
  }

  /** How many transactions of the server run a statement with this text. */
  async function running(text: string): Promise<number> {
    const rows = await neo4j.read(
      'SHOW TRANSACTIONS YIELD currentQuery RETURN currentQuery',
      {},
      { signal: new AbortController().signal, remaining: () => 10_000 },
    );
    return rows.filter(({ currentQuery }) => String(currentQuery).includes(text) && !String(currentQuery).includes('SHOW TRANSACTIONS')).length;
  }

  const untilNone = (text: string) => expect.poll(() => running(text), { timeout: 5_000, interval: 100 }).toBe(0);

  it('answers introspection with an error', async () => {
    for (const query of ['{ __schema { types { name } } }', '{ __type(name: "Memory") { name } }']) {
      const reply = await client.graphql(query);
      expectError(reply, 'INVALID_PARAMETER', 400);
    }
    expect(await data(client, '{ __typename }')).toEqual({ __typename: 'Query' });
  });

  it('answers UNAVAILABLE at the deadline of a search that takes minutes, and ends its transaction', async () => {
    replaced = 'UNWIND range(1, 1000000000000) AS minutes WITH minutes WHERE minutes < 0 RETURN minutes';
    const graphql = await inTime(() => client.graphql('{ searchMemories(query: "a") { count } }'));
    const rest = await inTime(() => client.get('/memory/search', { q: 'a' }));
    replaced = null;
    expect(graphql.status, graphql.story).toBe(200);
    expectError(graphql, 'UNAVAILABLE', 503);
    expect(rest.status, rest.story).toBe(503);
    expect(rest.body, rest.story).toMatchObject({ code: 'unavailable', status: 503 });
    expect(Number(rest.headers.get('retry-after')), rest.story).toBeGreaterThan(0);
    await untilNone('minutes');
    expect(await client.found('anything')).toEqual([]);
  });

  it('answers 503 at the deadline of a change that waits for a lock, ends its transaction, and changes nothing later', async () => {
    const id = await client.store({ content: 'Locked', metadata: { a: 1 } });
    const session = driver.session();
    const holder = session.beginTransaction();
    await holder.run('MATCH (m:Memory {id: $id}) SET m.held = true REMOVE m.held', { id });
    const [rest, graphql] = await Promise.all([
      inTime(() => client.patch(`/memory/${id}`, { tier: 0 })),
      inTime(() => client.graphql(UPDATE, { id, input: { tier: 0 } })),
    ]);
    expect(rest.status, rest.story).toBe(503);
    expect(Number(rest.headers.get('retry-after')), rest.story).toBeGreaterThan(0);
    expectError(graphql, 'UNAVAILABLE', 503);
    const deleted = await inTime(() => client.delete(`/memory/${id}`));
    expect(deleted.status, deleted.story).toBe(503);
    await untilNone('m.lock');
    await holder.rollback();
    await session.close();
    const memory = await client.get(`/memory/${id}`);
    expect(memory.body, memory.story).toMatchObject({ tier: 2, version: 1 });
    const changed = await client.patch(`/memory/${id}`, { tier: 0 });
    expect(changed.body, changed.story).toMatchObject({ updated: true, version: 2 });
  });
});
