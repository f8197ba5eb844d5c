import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type BoltProxy, startBoltProxy } from './testkit/bolt-proxy.ts';
import type { Client, Reply } from './testkit/client.ts';
import { startService, type TestService, useService } from './testkit/service.ts';

const clock = { time: 0, now: () => clock.time || Date.now() };
const service = useService({ now: clock.now });
let agent: Client;
beforeAll(async () => {
  agent = await service.newAccount();
});

const send = (client: Client, key: string, body: unknown, path = '/memory') => client.send('POST', path, body, { 'idempotency-key': key });
const isReplay = ({ headers }: Reply) => headers.get('idempotency-replayed') === 'true';
const count = async (client: Client) => (await client.get('/memory/list', { count_only: true })).body.count as number;

function expectReplayOf(first: Reply, again: Reply): void {
  expect(again.status, again.story).toBe(200);
  expect(again.body, again.story).toEqual(first.body);
  expect(again.headers.get('location')).toBe(first.headers.get('location'));
  expect(isReplay(again), again.story).toBe(true);
}

describe('a repeat under an idempotency key', () => {
  it('is answered as the first request was, and does nothing', async () => {
    const own = await service.newAccount();
    const memory = { content: 'Stored under a key', tags: ['x'], mood: 'unknown' };
    const first = await send(own, 'a-key!', memory);
    expect(first.body, first.story).toEqual({ id: expect.any(String), stored: true, warnings: ["unknown field 'mood' was ignored"] });
    expect(isReplay(first)).toBe(false);
    for (let time = 0; time < 3; time++) expectReplayOf(first, await send(own, 'a-key!', memory));
    expect(await count(own)).toBe(1);
  });

  it('works with and without /v1 alike', async () => {
    const first = await send(agent, 'versions', { content: 'By version' }, '/v1/memory');
    expectReplayOf(first, await send(agent, 'versions', { content: 'By version' }));
  });

  it('of a duplicate says that it was one', async () => {
    const id = await agent.store('There already');
    const first = await send(agent, 'duplicate', { content: 'There already' });
    expect(first.body, first.story).toEqual({ id, stored: false, duplicate: true });
    expectReplayOf(first, await send(agent, 'duplicate', { content: 'There already' }));
  });

  it('is answered although the memory is gone, or its expiry has passed', async () => {
    const memory = { content: 'Short-lived', expires_at: new Date(Date.now() + 2_000).toISOString() };
    const first = await send(agent, 'expiry', memory);
    expect((await agent.delete(`/memory/${first.body.id}`)).status).toBe(200);
    expectReplayOf(first, await send(agent, 'expiry', memory));
    clock.time = Date.now() + 3_000;
    try {
      expectReplayOf(first, await send(agent, 'expiry', memory));
    } finally {
      clock.time = 0;
    }
  });

  it.each([2, 20])('that comes at the same time waits and is a replay: %i at once', async (many) => {
    const own = await service.newAccount();
    const replies = await Promise.all(Array.from({ length: many }, () => send(own, 'twins', { content: 'Twins' })));
    for (const { status, body, story } of replies) {
      expect(status, story).toBe(200);
      expect(body, story).toEqual({ id: replies[0]!.body.id, stored: true });
    }
    expect(replies.filter(isReplay)).toHaveLength(many - 1);
    expect(await count(own)).toBe(1);
  });

  it('is over after 24 hours', async () => {
    const first = await send(agent, 'a-day', { content: 'Of a day' });
    try {
      clock.time = Date.now() + 24 * 3_600_000 - 10_000;
      expectReplayOf(first, await send(agent, 'a-day', { content: 'Of a day' }));
      clock.time = Date.now() + 24 * 3_600_000 + 10_000;
      const later = await send(agent, 'a-day', { content: 'Of another day' });
      expect(later.body, later.story).toEqual({ id: expect.any(String), stored: true });
      expect(isReplay(later)).toBe(false);
      expectReplayOf(later, await send(agent, 'a-day', { content: 'Of another day' }));
    } finally {
      clock.time = 0;
    }
  });

  it('over GraphQL is one too', async () => {
    const mutation = 'mutation ($input: StoreMemoryInput!, $key: String) { storeMemory(input: $input, idempotencyKey: $key) { id stored replayed } }';
    const input = { content: 'Over GraphQL', occurredAt: '2026-01-01T00:00:00Z' };
    const first = (await agent.graphql(mutation, { input, key: 'graphql' })).body.data.storeMemory;
    expect(first).toEqual({ id: expect.any(String), stored: true, replayed: false });
    const again = await agent.graphql(mutation, { input, key: 'graphql' });
    expect(again.body, again.story).toEqual({ data: { storeMemory: { ...first, replayed: true } } });
    const other = await agent.graphql(mutation, { input: { ...input, tier: 3 }, key: 'graphql' });
    expect(other.body.errors[0].extensions, other.story).toMatchObject({ code: 'CONFLICT', status: 409 });
  });

  it('of an event is one, while events without a key never are', async () => {
    const event = { content: 'Deployed 1.2', event_type: 'deployment', commit: 'abc' };
    const first = await send(agent, 'event', event, '/webhook/ci');
    expectReplayOf(first, await send(agent, 'event', event, '/webhook/ci'));
    const others = await Promise.all([agent.post('/webhook/ci', event), agent.post('/webhook/ci', event)]);
    expect(new Set([first, ...others].map(({ body }) => body.id)).size).toBe(3);
  });
});

describe('another request under the key is a conflict', () => {
  let first: Reply;
  let bound: Client;
  beforeAll(async () => {
    first = await send(agent, 'taken', { content: 'Of the first' });
    expect(first.status, first.story).toBe(200);
    bound = await service.newKey(agent, { userId: 'maya' });
  });

  it.each<[string, () => Promise<Reply>]>([
    ['of another content', () => send(agent, 'taken', { content: 'Of the second' })],
    ['of the same fields written otherwise', () => send(agent, 'taken', '{ "content": "Of the first" }')],
    ['of another path', () => send(agent, 'taken', { content: 'Of the first' }, '/webhook/ci')],
    ['of a key that is bound to a user', () => send(bound, 'taken', { content: 'Of the first' })],
  ])('%s', async (_, call) => {
    const reply = await call();
    expect(reply.status, reply.story).toBe(409);
    expect(reply.body, reply.story).toMatchObject({ code: 'conflict', error: expect.stringContaining('another request') });
    expectReplayOf(first, await send(agent, 'taken', { content: 'Of the first' }));
  });

  it('also when both come at the same time, and one of them is stored', async () => {
    const own = await service.newAccount();
    const replies = await Promise.all(Array.from({ length: 12 }, (_, index) => send(own, 'race', { content: `Racer ${index % 2}` })));
    const winners = replies.filter(({ status }) => status === 200);
    expect(winners).toHaveLength(6);
    expect(replies.filter(({ status }) => status === 409)).toHaveLength(6);
    expect(new Set(winners.map(({ body }) => body.id)).size).toBe(1);
    expect(await count(own)).toBe(1);
  });
});

describe('a key', () => {
  it('stands for nothing in another account', async () => {
    const other = await service.newAccount();
    const [one, two] = [await send(agent, 'shared-word', { content: 'Mine' }), await send(other, 'shared-word', { content: 'Mine' })];
    expect(isReplay(two), two.story).toBe(false);
    expect(two.body.id).not.toBe(one.body.id);
  });

  it('is not used up by a request that fails', async () => {
    for (const body of [{ content: '' }, { content: 'Derived', source_ids: [randomUUID()] }]) {
      const reply = await send(agent, 'unlucky', body);
      expect(reply.status, reply.story).toBe(400);
    }
    const reply = await send(agent, 'unlucky', { content: 'Lucky in the end' });
    expect(reply.body, reply.story).toEqual({ id: expect.any(String), stored: true });
    expect(isReplay(reply)).toBe(false);
  });

  it.each([
    ['is empty', ''],
    ['has white space', 'a b'],
    ['is longer than 255', 'x'.repeat(256)],
    ['is not ASCII', 'sch\u00f6n'],
  ])('that %s is a 400', async (_, key) => {
    const reply = await send(agent, key, { content: 'Never stored' });
    expect(reply.status, reply.story).toBe(400);
    expect(reply.body.details, reply.story).toEqual([
      { field: 'Idempotency-Key', message: expect.stringContaining('must be 1 to 255 visible ASCII characters') },
    ]);
    expect(await agent.found('Never stored', { min_score: 0.95 })).toEqual([]);
  });

  it('of 255 characters is fine, and on other paths it means nothing', async () => {
    expect((await send(agent, '~'.repeat(255), { content: 'With a long key' })).status).toBe(200);
    const id = await agent.store('Patched under a key');
    for (const tier of [0, 3]) {
      const reply = await agent.send('PATCH', `/memory/${id}`, { tier }, { 'idempotency-key': 'patch' });
      expect(reply.body, reply.story).toMatchObject({ updated: true });
      expect(isReplay(reply)).toBe(false);
    }
  });
});

describe('when the connection to the database is cut', () => {
  let proxy: BoltProxy;
  let cutOff: TestService;
  beforeAll(async () => {
    proxy = await startBoltProxy(inject('neo4j').uri);
    cutOff = await startService({ databaseUri: proxy.uri });
  });
  afterAll(async () => {
    await cutOff.close();
    await proxy.close();
  });

  it.each(['while running', 'before commit', 'after commit'] as const)('%s, key and memory are there both, and once', async (moment) => {
    const own = await cutOff.newAccount();
    const cut = proxy.cut(moment, 'CREATE (commit:Commit', own.account.id);
    const [first] = await Promise.all([send(own, 'cut', { content: 'Cut' }), cut]);
    expect(first.body, first.story).toEqual({ id: expect.any(String), stored: true });
    expectReplayOf(first, await send(own, 'cut', { content: 'Cut' }));
    expect(await count(own)).toBe(1);
  });

  it('all the time, clients that repeat until they are answered store each memory once', async () => {
    const own = await cutOff.newAccount();
    const cutting = setInterval(() => proxy.cutAll(), 120);
    setTimeout(() => clearInterval(cutting), 3_000);
    const untilAnswered = async (key: string, event: unknown): Promise<Reply> => {
      for (;;) {
        const reply = await send(own, key, event, '/webhook/ci');
        if (reply.status === 200) return reply;
        expect(reply.status, reply.story).toBe(503);
      }
    };
    const replies = await Promise.all(Array.from({ length: 40 }, (_, index) => untilAnswered(`event-${index}`, { content: `Event ${index}` })));
    expect(new Set(replies.map(({ body }) => body.id)).size).toBe(40);
    expect(await count(own)).toBe(40);
  });
});
