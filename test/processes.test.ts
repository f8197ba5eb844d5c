import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deadlineIn } from '../src/deadline.ts';
import { type AccessStore, createAccessStore } from '../src/modules/access/store.ts';
import { addAccount, addKey } from './testkit/accounts.ts';
import { Client, type Reply } from './testkit/client.ts';
import { type Neo4j, startNeo4j } from './testkit/neo4j.ts';
import { environmentWith, freePort, READY, type Started, start } from './testkit/npm-start.ts';
import { hasRedis, startRedis, type TestRedis } from './testkit/redis.ts';

if (!hasRedis) console.log('Left out, as there is no redis-server: several processes on one Neo4j and one Redis');

const PLANS = {
  small: { stores: 12, retrievals: 45, requests_per_minute: 10_000, overage: null },
  slow: { stores: null, retrievals: null, requests_per_minute: 30, overage: null },
};
const PROCESSES = 4;

let folder: string;
let neo4j: Neo4j;
let redis: TestRedis;
let access: AccessStore;
let processes: readonly (Started & { readonly url: string })[] = [];

async function startOne(index: number): Promise<Started & { readonly url: string }> {
  const port = await freePort();
  const started = start(
    environmentWith({
      DATA_DIR: join(folder, `data-${index}`),
      PORT: String(port),
      NEO4J_URI: neo4j.address.uri,
      NEO4J_USERNAME: neo4j.address.username,
      NEO4J_PASSWORD: neo4j.address.password,
      REDIS_URL: redis.url,
      PLANS_FILE: join(folder, 'plans.json'),
      METRICS_PORT: '',
    }),
  );
  await started.printed(READY);
  return { ...started, url: `http://127.0.0.1:${port}` };
}

const times = <T>(count: number, call: (index: number) => Promise<T>) => Promise.all(Array.from({ length: count }, (_, index) => call(index)));
const byStatus = (replies: readonly Reply[], status: number) => replies.filter((reply) => reply.status === status);

describe.skipIf(!hasRedis)('several processes on one Neo4j and one Redis', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'memory-processes-'));
    writeFileSync(join(folder, 'plans.json'), JSON.stringify(PLANS));
    [neo4j, redis] = await Promise.all([startNeo4j(), startRedis()]);
    // All at once, on an empty database.
    processes = await times(PROCESSES, startOne);
    access = createAccessStore(neo4j.database);
  });
  afterAll(async () => {
    await Promise.all(processes.map((started) => started.kill('SIGTERM')));
    await Promise.all([neo4j.close(), redis.close()]);
    rmSync(folder, { recursive: true, force: true });
  });

  it('make one first account when they start at once', async () => {
    const accounts = await neo4j.database.read('MATCH (a:Account) RETURN a.name AS name', {}, deadlineIn(10_000));
    expect(accounts).toEqual([{ name: 'default' }]);
  });

  describe.each([2, PROCESSES])('%i of them', (count) => {
    /** The same key at each of the processes in turn. */
    const through = (agent: Client) => (index: number) => new Client(processes[index % count]!.url, agent.key, agent.account, agent.keyId);
    const account = (plan?: string) => addAccount(access, processes[0]!.url, plan === undefined ? {} : { plan });

    it('find at once what another has stored', async () => {
      const at = through(await account());
      for (let index = 0; index < 2 * count; index++) {
        const id = await at(index).store(`Stored at ${index}`);
        expect((await at(index + 1).get(`/memory/${id}`)).status).toBe(200);
        expect((await at(index + 1).found(`Stored at ${index}`))[0]).toBe(`Stored at ${index}`);
      }
    });

    it('let a key send as many requests a minute as one process does', async () => {
      const at = through(await account('slow'));
      const replies = await times(50, (index) => at(index).get('/memory/list'));
      expect([byStatus(replies, 200).length, byStatus(replies, 429).length]).toEqual([30, 20]);
      const left = byStatus(replies, 200).map(({ headers }) => Number(headers.get('x-ratelimit-remaining')));
      expect(left.sort((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, index) => index));
    });

    it('count every store once', async () => {
      const agent = await account();
      const at = through(agent);
      for (const reply of await times(60, (index) => at(index).post('/memory', { content: `Memory ${index % 50}` })))
        expect(reply.status, reply.story).toBe(200);
      expect((await agent.get('/usage')).body.stores.used).toBe(50);
      expect((await agent.get('/memory/list')).body.total).toBe(50);
    });

    it('stop an account exactly at its stores, and at its retrievals', async () => {
      const agent = await account('small');
      const at = through(agent);
      const stored = await times(40, (index) => at(index).post('/memory', { content: `Memory ${index}` }));
      expect([byStatus(stored, 200).length, byStatus(stored, 429).length]).toEqual([12, 28]);
      let retrieved = byStatus(await times(80, (index) => at(index).get('/memory/list')), 200).length;
      expect(retrieved).toBeLessThanOrEqual(45);
      // What one had set aside and did not use is free for the others after a moment.
      let next = 0;
      const more = async () => (retrieved += byStatus([await at(next++).get('/memory/list')], 200).length);
      await expect.poll(more, { timeout: 20_000, interval: 50 }).toBe(45);
      expect(byStatus(await times(2 * count, (index) => at(index).get('/memory/list')), 429)).toHaveLength(2 * count);
      const used = async () => (await agent.get('/usage')).body;
      await expect.poll(used, { timeout: 10_000 }).toMatchObject({ stores: { used: 12, remaining: 0 }, retrievals: { used: 45, remaining: 0 } });
    });

    it('refuse a revoked key within a second of each other', async () => {
      const agent = await account();
      const other = await addKey(access, agent.url, agent.account, {});
      const at = through(other);
      await times(count, (index) => at(index).get('/memory/list'));
      const revoked = await agent.graphql('mutation ($id: ID!) { revokeApiKey(id: $id) { apiKey { state } } }', { id: other.keyId });
      expect(revoked.body.data, revoked.story).toBeTruthy();
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      for (const reply of await times(count, (index) => at(index).get('/memory/list'))) expect(reply.status, reply.story).toBe(401);
    });

    it('store once what is sent many times under one idempotency key, or with the same content', async () => {
      const agent = await account();
      const at = through(agent);
      const keyed = await times(20, (index) => at(index).send('POST', '/memory', { content: 'Under a key' }, { 'idempotency-key': 'k' }));
      for (const { status, body, story } of keyed) expect([status, body], story).toEqual([200, { id: keyed[0]!.body.id, stored: true }]);
      expect(keyed.filter(({ headers }) => headers.get('idempotency-replayed') === 'true')).toHaveLength(19);
      const events = await times(20, (index) => at(index).send('POST', '/webhook/ci', { content: `Event ${index % 2}` }, { 'idempotency-key': 'e' }));
      expect([byStatus(events, 200).length, byStatus(events, 409).length]).toEqual([10, 10]);
      const duplicates = await times(20, (index) => at(index).post('/memory', { content: 'Without a key' }));
      expect(duplicates.filter(({ body }) => body.stored === true)).toHaveLength(1);
      expect((await agent.get('/memory/list')).body.total).toBe(3);
    });

    it('change a memory one after the other', async () => {
      const agent = await account();
      const at = through(agent);
      const id = await agent.store('Changed by many');
      const changes = await times(24, (index) => at(index).patch(`/memory/${id}`, { metadata: { [`k${index}`]: index } }));
      expect(changes.map(({ body }) => body.version as number).sort((a, b) => a - b)).toEqual(Array.from({ length: 24 }, (_, index) => index + 2));
      expect(Object.keys((await agent.get(`/memory/${id}`)).body.metadata as object)).toHaveLength(24);
    });
  });

  it('go on, each with its own count, while Redis is away, and together when it is back', async () => {
    const agent = await addAccount(access, processes[0]!.url, { plan: 'slow' });
    const at = (index: number) => new Client(processes[index % PROCESSES]!.url, agent.key, agent.account, agent.keyId);
    await redis.kill();
    const replies = await times(40 * PROCESSES, (index) => at(index).get('/memory/list'));
    expect([byStatus(replies, 200).length, byStatus(replies, 429).length]).toEqual([30 * PROCESSES, 10 * PROCESSES]);
    await redis.start();
    const other = await addAccount(access, processes[0]!.url, { plan: 'slow' });
    const health = async () =>
      (await times(PROCESSES, (index) => new Client(processes[index]!.url, other.key, other.account, '').get('/health'))).every(
        ({ body }) => body.checks.cache === 'ok',
      );
    await expect.poll(health, { timeout: 10_000, interval: 500 }).toBe(true);
    expect(byStatus(await times(PROCESSES, (index) => at(index).get('/memory/list')), 429)).toHaveLength(PROCESSES);
  });
});
