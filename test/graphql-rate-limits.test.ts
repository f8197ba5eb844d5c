import { afterAll, describe, expect, inject, it } from 'vitest';
import { rateLimitExceeded } from '../src/errors.ts';
import { connectDatabase } from '../src/graph/database.ts';
import { createPlans } from '../src/modules/usage/plans.ts';
import { Client, type Reply } from './testkit/client.ts';
import { useService } from './testkit/service.ts';

const TEN = { stores: null, retrievals: null, requests_per_minute: 10, overage: null };
const service = useService({ plans: createPlans({ free: TEN }) });
const newClient = () => service.newAccount({ plan: 'free' });
const remaining = ({ headers }: Reply) => Number(headers.get('x-ratelimit-remaining'));

/** A root field by a name of its own. */
const count = (name: string, directive = '') => `${name}: memories ${directive} { totalCount }`;

describe('the cost of a document', () => {
  it.each([
    [1, '{ health { status } }', {}],
    [1, '{ health { status } health { version } ... on Query { health { version } } }', {}],
    [2, '{ health { status } __typename }', {}],
    [3, `{ ${count('a')} ${count('b')} ${count('c')} }`, {}],
    [2, '{ __schema { queryType { name } } __type(name: "Memory") { name } }', {}],
    [
      4,
      `query { ...F ... on Query { ${count('c')} ...G } } fragment F on Query { ${count('a')} ...G } fragment G on Query { ${count('b')} d: __typename }`,
      {},
    ],
    [
      1,
      `query ($no: Boolean!) { __typename ${count('a', '@include(if: $no)')} ... @include(if: $no) { ${count('b')} } ...F @skip(if: true) } fragment F on Query { ${count('c')} }`,
      { no: false },
    ],
    [3, `query ($no: Boolean!) { __typename ${count('a', '@skip(if: $no)')} ... @skip(if: $no) { ${count('b')} } }`, { no: false }],
    [2, `query ($yes: Boolean = true) { __typename ${count('a', '@include(if: $yes)')} }`, {}],
    [1, `query ($no: Boolean = false) { ${count('a', '@include(if: $no)')} }`, {}],
    [1, '{ memories { nodes { id content tags } totalCount } }', {}],
    [2, 'mutation { a: storeMemory(input: { content: "one" }) { id } b: storeMemory(input: { content: "two" }) { id } }', {}],
  ])('is %d: %s', async (cost, document, variables) => {
    const client = await newClient();
    const reply = await client.graphql(document, variables);
    expect(reply.status, reply.story).toBe(200);
    expect(reply.body.errors, reply.story).toBeUndefined();
    expect(remaining(reply), reply.story).toBe(10 - cost);
  });

  it('is that of the operation that runs', async () => {
    const client = await newClient();
    const query = `query A { __typename } query B { ${count('a')} ${count('b')} }`;
    expect(remaining(await client.send('POST', '/graphql', { query, operationName: 'B' }))).toBe(8);
    expect(remaining(await client.send('POST', '/graphql', { query, operationName: 'A' }))).toBe(7);
  });

  it.each([
    ['does not parse', '{ a: __typename b: __typename'],
    ['is not valid', '{ a: __typename b: nothing }'],
    [
      'costs too much to compute',
      `{ ${Array.from({ length: 4 }, (_, at) => `a${at}: memories(first: 100) { nodes { history { content tags tier type metadata } } }`).join(' ')} }`,
    ],
    ['lacks a variable', `query ($no: Boolean!) { a: __typename b: __typename @include(if: $no) }`],
  ])('is one when it %s', async (_, document) => {
    const reply = await (await newClient()).graphql(document);
    expect(reply.status, reply.story).toBe(400);
    expect(remaining(reply), reply.story).toBe(9);
  });
});

describe('a document that costs more than is left', () => {
  const stores = (number: number) =>
    `mutation { ${Array.from({ length: number }, (_, at) => `s${at}: storeMemory(input: { content: "Stored by number ${at}" }) { id }`).join(' ')} }`;

  it('is a 429 in GraphQL, of which nothing is executed, and what was left is left but for the request itself', async () => {
    const client = await newClient();
    for (let request = 0; request < 5; request++) await client.get('/memory/list');
    const reply = await client.graphql(stores(6));
    expect(reply.status, reply.story).toBe(429);
    expect(reply.headers.get('content-type'), reply.story).toMatch(/^application\/json/);
    const retryAfter = Number(reply.headers.get('retry-after'));
    expect(retryAfter, reply.story).toBeGreaterThanOrEqual(1);
    expect(retryAfter, reply.story).toBeLessThanOrEqual(60);
    expect(reply.body, reply.story).toEqual({
      errors: [
        {
          message: expect.stringContaining('has 4 of its 10 requests a minute left'),
          extensions: { code: 'RATE_LIMIT_EXCEEDED', status: 429, retryAfter, requestId: reply.headers.get('x-request-id') },
        },
      ],
    });
    expect(remaining(reply), reply.story).toBe(4);
    const listed = await client.get('/memory/list');
    expect(listed.body.total, listed.story).toBe(0);
    expect(remaining(listed)).toBe(3);
    const fitting = await client.graphql(stores(3));
    expect(fitting.status, fitting.story).toBe(200);
    expect(remaining(fitting), fitting.story).toBe(0);
  });

  it('is a 429 also when the limit is too small for it at any time, and by GET', async () => {
    const client = await newClient();
    const query = `{ ${Array.from({ length: 12 }, (_, at) => `a${at}: __typename`).join(' ')} }`;
    const reply = await client.send('GET', `/graphql?query=${encodeURIComponent(query)}`, undefined, { 'apollo-require-preflight': 'true' });
    expect(reply.status, reply.story).toBe(429);
    expect(reply.body.errors[0].extensions, reply.story).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    expect(remaining(reply), reply.story).toBe(9);
  });

  it('and not one of several that come at once takes what another was refused', async () => {
    const client = await newClient();
    const replies = await Promise.all(Array.from({ length: 4 }, () => client.graphql(stores(4))));
    const done = replies.filter(({ status }) => status === 200);
    // Each request costs one, and only one more document fits into what the four have left.
    expect(done, replies.map(({ story }) => story).join('\n')).toHaveLength(2);
    expect(Math.min(...replies.map(remaining))).toBe(0);
  });
});

describe('a limit that is spent already', () => {
  it('is a 429 with the body of REST on /graphql too', async () => {
    const client = await newClient();
    for (let request = 0; request < 10; request++) await client.graphql('{ __typename }');
    const reply = await client.graphql('{ __typename }');
    expect(reply.status, reply.story).toBe(429);
    expect(reply.body, reply.story).toEqual({
      error: 'rate_limit_exceeded',
      message: expect.any(String),
      retry_after: Number(reply.headers.get('retry-after')),
    });
  });
});

describe('a limit that is found spent while a document is executed', () => {
  const message = 'The stores of this month are used up';
  /** As services throw it for a month's limit. */
  const spent = () => Promise.reject(rateLimitExceeded(message, 86_400));
  const database = connectDatabase(inject('neo4j'));
  const metered = useService({
    database: {
      ...database,
      write: spent,
      transaction: spent,
      read: (statement, ...rest) => (statement.includes('ApiKey') || statement === 'RETURN 1' ? database.read(statement, ...rest) : spent()),
    },
  });
  afterAll(() => database.close());
  // Keys are made past the service that is not able to.
  const client = async () => {
    const { key, account, keyId } = await service.newAccount();
    return new Client(metered.url, key, account, keyId);
  };

  it('is the status of a response without data', async () => {
    const reply = await (await client()).graphql('{ memories { totalCount } health { status } }');
    expect(reply.status, reply.story).toBe(429);
    expect(reply.headers.get('retry-after'), reply.story).toBe('86400');
    expect(reply.body.data, reply.story).toBeNull();
    expect(reply.body.errors, reply.story).toMatchObject([
      { message, path: ['memories', 'totalCount'], extensions: { code: 'RATE_LIMIT_EXCEEDED', status: 429, retryAfter: 86_400 } },
    ]);
    expect(remaining(reply), reply.story).toBe(59_998);
  });

  it('leaves a response with a part of the data a 200', async () => {
    const reply = await (await client()).graphql(`{ memory(id: "018f0000-0000-7000-8000-000000000000") { id } health { status } }`);
    expect(reply.status, reply.story).toBe(200);
    expect(reply.headers.get('retry-after'), reply.story).toBeNull();
    expect(reply.body, reply.story).toMatchObject({
      data: { memory: null, health: { status: 'OK' } },
      errors: [{ path: ['memory'], extensions: { code: 'RATE_LIMIT_EXCEEDED', retryAfter: 86_400 } }],
    });
  });

  it('is the specified body over REST', async () => {
    const reply = await (await client()).get('/memory/list');
    expect(reply.status, reply.story).toBe(429);
    expect(reply.headers.get('retry-after'), reply.story).toBe('86400');
    expect(reply.body, reply.story).toEqual({ error: 'rate_limit_exceeded', message, retry_after: 86_400 });
    expect(remaining(reply), reply.story).toBe(59_999);
  });
});
