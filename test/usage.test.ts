import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { deadlineIn } from '../src/deadline.ts';
import { createRetrievalMeter } from '../src/modules/usage/meter.ts';
import { createPlans } from '../src/modules/usage/plans.ts';
import { createUsageStore } from '../src/modules/usage/store.ts';
import { type BoltProxy, startBoltProxy } from './testkit/bolt-proxy.ts';
import type { Client, Reply } from './testkit/client.ts';
import { startService, type TestService, useService } from './testkit/service.ts';

const overage = { usd_per_1000_stores: 2, usd_per_1000_retrievals: 1 };
/** Under names that a start on the database of all tests knows. */
const plans = createPlans({
  power: { stores: 6, retrievals: 45, requests_per_minute: 10_000, overage: null },
  pro: { stores: 3, retrievals: 2, requests_per_minute: 10_000, overage },
});
/** A clock that stands still until it is set. */
const clock = { time: 0, now: () => clock.time || Date.now() };
const service = useService({ plans, now: clock.now });

const at = (time: string) => void (clock.time = Date.parse(time));
const statuses = (replies: readonly Reply[]) => replies.map(({ status }) => status).sort();
const times = <T>(count: number, call: (index: number) => Promise<T>) => Promise.all(Array.from({ length: count }, (_, index) => call(index)));

async function usageOf(agent: Client) {
  const reply = await agent.get('/usage');
  expect(reply.status, reply.story).toBe(200);
  return reply.body;
}

async function used(agent: Client): Promise<{ stores: number; retrievals: number }> {
  const { stores, retrievals } = await usageOf(agent);
  return { stores: stores.used, retrievals: retrievals.used };
}

describe('GET /usage', () => {
  it('tells plan, month, use and limits', async () => {
    const agent = await service.newAccount({ plan: 'free' });
    await agent.store('One');
    const { start, end } = monthNow();
    expect(await usageOf(agent)).toEqual({
      plan: 'free',
      period: { start, end },
      stores: { used: 1, limit: 100, remaining: 99, overage: 0 },
      retrievals: { used: 0, limit: 500, remaining: 500, overage: 0 },
      overage_cost_usd: 0,
      rate_limit: { per_minute: 30 },
    });
  });

  it('knows no limit of a self-hosted account', async () => {
    const agent = await service.newAccount();
    const count = { used: 0, limit: null, remaining: null, overage: 0 };
    expect(await usageOf(agent)).toMatchObject({ plan: 'self_hosted', stores: count, retrievals: count, rate_limit: { per_minute: 60_000 } });
  });

  it('names what goes beyond the limits of a paid plan, and its price', async () => {
    const agent = await service.newAccount({ plan: 'pro' });
    await times(8, (index) => agent.store(`Memory ${index}`));
    await times(5, () => agent.get('/memory/list'));
    expect(await usageOf(agent)).toMatchObject({
      stores: { used: 8, limit: 3, remaining: 0, overage: 5 },
      retrievals: { used: 5, limit: 2, remaining: 0, overage: 3 },
      overage_cost_usd: 0.013,
    });
  });

  it('shows an account nothing of another', async () => {
    const [one, two] = [await service.newAccount(), await service.newAccount()];
    await one.store('Of one');
    await one.found('one');
    expect(await used(two)).toEqual({ stores: 0, retrievals: 0 });
  });
});

describe('a store', () => {
  it('is one memory committed: not a duplicate, a replay, an update, or what was refused', async () => {
    const agent = await service.newAccount();
    const id = await agent.store('One');
    await agent.post('/memory', { content: 'One' });
    await agent.patch(`/memory/${id}`, { content: 'Changed' });
    await agent.post('/memory', { content: '' });
    await agent.post('/memory', { content: 'Derived', source_ids: ['none'] });
    for (let time = 0; time < 2; time++) await agent.send('POST', '/memory', { content: 'Keyed' }, { 'idempotency-key': 'key' });
    await agent.post('/webhook/ci', { content: 'Deployed' });
    await agent.delete(`/memory/${id}`);
    await agent.graphql('mutation { a: storeMemory(input: { content: "A" }) { id } b: storeMemory(input: { content: "B" }) { id } }');
    expect((await used(agent)).stores).toBe(5);
  });

  it('is counted once, however many are stored at once for several accounts', async () => {
    const agents = await Promise.all(Array.from({ length: 4 }, () => service.newAccount({ plan: 'max' })));
    const ledger = new Map(agents.map((agent) => [agent, 0]));
    const store = async (index: number) => {
      const agent = agents[index % 4]!;
      // Every fifth is a duplicate.
      const { body, story } = await agent.post('/memory', { content: `Memory ${index - (index % 5 === 4 ? 4 : 0)}` });
      expect(body.id, story).toBeDefined();
      if (body.stored) ledger.set(agent, ledger.get(agent)! + 1);
    };
    for (let round = 0; round < 4; round++) await times(100, (index) => store(100 * round + index));
    for (const [agent, stored] of ledger) expect((await used(agent)).stores).toBe(stored);
  });
});

describe('a retrieval', () => {
  let agent: Client;
  let id: string;
  beforeAll(async () => {
    agent = await service.newAccount();
    id = await agent.store('Maya prefers window seats');
  });

  it.each<[string, number, () => Promise<Reply>]>([
    ['a search', 1, () => agent.get('/memory/search', { q: 'seats' })],
    ['a get', 1, () => agent.get(`/memory/${id}`)],
    ['a get that changed nothing for the caller (304)', 0, () => agent.send('GET', `/memory/${id}`, undefined, { 'if-none-match': '"1"' })],
    ['a get of what is not there', 0, () => agent.get('/memory/none')],
    ['a page of a list', 1, () => agent.get('/memory/list')],
    ['a count', 1, () => agent.get('/memory/list', { count_only: true })],
    ['a history', 1, () => agent.get(`/memory/${id}/history`)],
    ['a search that is refused', 0, () => agent.get('/memory/search')],
    ['a list with a wrong cursor', 0, () => agent.get('/memory/list', { cursor: 'x' })],
    ['a store', 0, () => agent.post('/memory', { content: `${Math.random()}` })],
    ['a change', 0, () => agent.patch(`/memory/${id}`, { tags: [`${Math.random()}`] })],
    ['usage', 0, () => agent.get('/usage')],
    ['health', 0, () => agent.get('/health')],
    [
      'three in one document',
      3,
      () =>
        agent.graphql(
          '{ memories { totalCount nodes { id } } a: memory(id: "none") { id } searchMemories(query: "x") { count } b: searchMemories(query: "y") { count } }',
        ),
    ],
    ['a document that is not valid', 0, () => agent.graphql('{ memories { nothing } }')],
    ['a memory that a mutation answers with', 0, () => agent.graphql(`mutation { updateMemory(id: "${id}", input: { tier: 2 }) { memory { id } } }`)],
  ])('%s counts %i', async (_, count, call) => {
    const before = (await used(agent)).retrievals;
    const reply = await call();
    expect((await used(agent)).retrievals - before, reply.story).toBe(count);
  });

  it('is written within seconds, for every process to see', async () => {
    const other = await service.newAccount();
    await times(3, () => other.get('/memory/list'));
    const store = createUsageStore(service.database);
    const read = async () => (await store.read(other.account.id, [new Date().toISOString().slice(0, 7)], deadlineIn(5_000)))[0]!.retrievals;
    await expect.poll(read, { timeout: 5_000, interval: 100 }).toBe(3);
  });
});

describe('an account with a hard limit', () => {
  it('stores as many as it may, and not one more', async () => {
    const agent = await service.newAccount({ plan: 'power' });
    const replies = await times(20, (index) => agent.post('/memory', { content: `Memory ${index}` }));
    expect(statuses(replies)).toEqual([...Array<number>(6).fill(200), ...Array<number>(14).fill(429)]);
    expect((await agent.get('/memory/list')).body.total).toBe(6);
    expect(await usageOf(agent)).toMatchObject({ stores: { used: 6, limit: 6, remaining: 0, overage: 0 }, overage_cost_usd: 0 });
  });

  it('is told when it may store again, over REST and GraphQL, and is still answered what needs no store', async () => {
    const agent = await service.newAccount({ plan: 'power' });
    const first = await agent.send('POST', '/memory', { content: 'Memory 0' }, { 'idempotency-key': 'first' });
    await times(5, (index) => agent.store(`Memory ${index + 1}`));
    at('2026-02-27T23:59:30.500Z');
    try {
      await times(6, (index) => agent.store(`In February ${index}`));
      const refused = await agent.post('/memory', { content: 'One more' });
      expect(refused.status, refused.story).toBe(429);
      const wait = 86_400 + 30;
      expect(refused.body, refused.story).toEqual({
        error: 'rate_limit_exceeded',
        message: 'The 6 stores of a month on the plan power are used up; it begins anew on 2026-03-01',
        retry_after: wait,
      });
      expect(refused.headers.get('retry-after')).toBe(String(wait));
      const overGraphql = await agent.graphql('mutation { storeMemory(input: { content: "One more" }) { id } }');
      expect(overGraphql.body.errors[0].extensions, overGraphql.story).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', status: 429, retryAfter: wait });
      const duplicate = await agent.post('/memory', { content: 'In February 0' });
      expect(duplicate.body, duplicate.story).toMatchObject({ stored: false, duplicate: true });
      expect((await agent.get('/memory/list')).status).toBe(200);
    } finally {
      clock.time = 0;
    }
    const replayed = await agent.send('POST', '/memory', { content: 'Memory 0' }, { 'idempotency-key': 'first' });
    expect(replayed.body, replayed.story).toEqual(first.body);
  });

  it('retrieves as often as it may, and not once more', async () => {
    const agent = await service.newAccount({ plan: 'power' });
    const replies = await times(70, () => agent.get('/memory/list'));
    expect(statuses(replies)).toEqual([...Array<number>(45).fill(200), ...Array<number>(25).fill(429)]);
    expect(await usageOf(agent)).toMatchObject({ retrievals: { used: 45, limit: 45, remaining: 0 } });
    const refused = await agent.get('/memory/search', { q: 'x' });
    expect(refused.body, refused.story).toMatchObject({ error: 'rate_limit_exceeded', message: expect.stringContaining('45 retrievals of a month') });
  });

  it('is not charged for what fails or finds nothing', async () => {
    const agent = await service.newAccount({ plan: 'power' });
    await times(60, (index) => agent.get(index % 2 ? '/memory/none' : '/memory/list', index % 2 ? {} : { cursor: 'x' }));
    expect(statuses(await times(45, () => agent.get('/memory/list')))).toEqual(Array<number>(45).fill(200));
  });
});

describe('two services on one database', () => {
  let other: TestService;
  beforeAll(async () => {
    other = await startService({ plans });
  });
  afterAll(() => other.close());

  it('stop an account exactly at its stores and its retrievals', async () => {
    const agent = await service.newAccount({ plan: 'power' });
    const send = (index: number, method: string, path: string, body?: unknown) =>
      fetch((index % 2 ? service.url : other.url) + path, {
        method,
        headers: { authorization: `Bearer ${agent.key}`, ...(body ? { 'content-type': 'application/json' } : {}) },
        ...(body ? { body: JSON.stringify(body) } : {}),
      }).then(({ status }) => status);
    const stored = await times(20, (index) => send(index, 'POST', '/memory', { content: `Memory ${index}` }));
    expect(stored.filter((status) => status === 200)).toHaveLength(6);
    const read = await times(80, (index) => send(index, 'GET', '/memory/list'));
    expect(read.filter((status) => status === 200).length).toBeLessThanOrEqual(45);
    // What one of them had set aside and did not use is free for the other within seconds.
    let total = read.filter((status) => status === 200).length;
    await expect.poll(async () => (total += (await send(1, 'GET', '/memory/list')) === 200 ? 1 : 0), { timeout: 20_000, interval: 50 }).toBe(45);
    expect(await times(4, (index) => send(index, 'GET', '/memory/list'))).toEqual([429, 429, 429, 429]);
  });
});

describe('what a process had set aside when it ended', () => {
  it('is free again when its time is over', async () => {
    const agent = await service.newAccount({ plan: 'power' });
    const store = createUsageStore(service.database);
    const meter = createRetrievalMeter(store, Date.now);
    const tally = meter.tally(agent.account.id, plans.of('power'));
    await tally.one(deadlineIn(5_000))(() => Promise.resolve('a result'));
    // Ten are set aside, and this meter is never heard of again.
    const rest = () => times(45, () => agent.get('/memory/list'));
    expect((await rest()).filter(({ status }) => status === 200)).toHaveLength(35);
    await service.database.write(
      'MATCH (r:UsageReservation {accountId: $accountId}) SET r.until = 0',
      { accountId: agent.account.id },
      deadlineIn(5_000),
    );
    expect((await rest()).filter(({ status }) => status === 200)).toHaveLength(10);
  });
});

describe('a month', () => {
  afterAll(() => void (clock.time = 0));

  it.each([
    ['2026-01-31T23:59:59.999Z', '2026-02-01T00:00:00.000Z'],
    ['2028-02-29T23:59:59.999Z', '2028-03-01T00:00:00.000Z'],
    ['2026-12-31T23:59:59.999Z', '2027-01-01T00:00:00.000Z'],
  ])('that ends at %s begins anew at %s', async (last, first) => {
    at(last);
    const agent = await service.newAccount({ plan: 'power' });
    await times(6, (index) => agent.store(`Memory ${index}`));
    await times(45, () => agent.get('/memory/list'));
    for (const refused of [await agent.post('/memory', { content: 'x' }), await agent.get('/memory/list')]) {
      expect(refused.status, refused.story).toBe(429);
      expect(refused.body.retry_after).toBe(1);
    }
    expect((await usageOf(agent)).period.end).toBe(first);
    at(first);
    expect(await used(agent)).toEqual({ stores: 0, retrievals: 0 });
    await agent.store('In the new month');
    await agent.get('/memory/list');
    expect(await used(agent)).toEqual({ stores: 1, retrievals: 1 });
    const months = (await agent.graphql('{ usage { months { month stores retrievals } } }')).body.data.usage.months;
    expect(months.slice(0, 2)).toEqual([
      { month: first.slice(0, 7), stores: 1, retrievals: 1 },
      { month: last.slice(0, 7), stores: 6, retrievals: 45 },
    ]);
    expect(months).toHaveLength(12);
  });

  it('of its commit is the one in which a store under way across midnight counts', async () => {
    at('2026-05-31T23:59:59.999Z');
    const agent = await service.newAccount();
    await agent.store('Before');
    const stores = times(30, (index) => agent.post('/memory', { content: `Across ${index}` }));
    at('2026-06-01T00:00:00.000Z');
    expect(statuses(await stores)).toEqual(Array<number>(30).fill(200));
    const [june, may] = (await agent.graphql('{ usage { months { stores } } }')).body.data.usage.months;
    expect(may.stores).toBeGreaterThanOrEqual(1);
    expect(june.stores + may.stores).toBe(31);
  });
});

describe('when the connection is cut', () => {
  let proxy: BoltProxy;
  let cutOff: TestService;
  beforeAll(async () => {
    proxy = await startBoltProxy(inject('neo4j').uri);
    cutOff = await startService({ databaseUri: proxy.uri, plans });
  });
  afterAll(async () => {
    await cutOff.close();
    await proxy.close();
  });

  it.each(['while running', 'before commit', 'after commit'] as const)('%s, stores and retrievals are counted once', async (moment) => {
    const agent = await cutOff.newAccount({ plan: 'pro' });
    const cuts = [
      proxy.cut(moment, 'CREATE (commit:Commit', agent.account.id),
      proxy.cut(moment, 'counter.retrievals + row.retrievals', agent.account.id),
    ];
    await times(10, (index) => agent.store(`Memory ${index}`));
    await times(10, () => agent.get('/memory/list'));
    await Promise.all(cuts);
    expect(await used(agent)).toEqual({ stores: 10, retrievals: 10 });
  });

  it('again and again, every store that is there is counted, and nothing else', async () => {
    const agent = await cutOff.newAccount({ plan: 'pro' });
    const cutting = setInterval(() => proxy.cutAll(), 150);
    const calls = [
      times(60, (index) => agent.post('/memory', { content: `Memory ${index}` })),
      times(60, () => agent.get('/memory/search', { q: 'a' })),
    ];
    setTimeout(() => clearInterval(cutting), 2_000);
    const [, searched] = await Promise.all(calls);
    const { total } = (await agent.get('/memory/list')).body;
    expect(await used(agent)).toEqual({ stores: total, retrievals: 1 + searched!.filter(({ status }) => status === 200).length });
  });
});

function monthNow() {
  const now = new Date();
  const month = (offset: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset)).toISOString();
  return { start: month(0), end: month(1) };
}
