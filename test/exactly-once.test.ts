import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type BoltProxy, type Moment, startBoltProxy } from './testkit/bolt-proxy.ts';
import type { Client } from './testkit/client.ts';
import { startService, type TestService } from './testkit/service.ts';

let proxy: BoltProxy;
/** Reaches Neo4j through the proxy. */
let service: TestService;

beforeAll(async () => {
  proxy = await startBoltProxy(inject('neo4j').uri);
  service = await startService({ databaseUri: proxy.uri });
});
afterAll(async () => {
  await service.close();
  await proxy.close();
});

/** A piece of the statement that each write runs. */
const STORE = 'CREATE (commit:Commit';
const UPDATE = 'CREATE (:Commit {id: $commitId, at: $now, version: $version})';
const ERASE = 'DETACH DELETE m';
const READ_COMMIT = 'MATCH (c:Commit {id: $commitId})';

const MOMENTS: readonly Moment[] = ['while running', 'before commit', 'after commit'];

async function contentsOf(agent: Client): Promise<string[]> {
  const listed = await agent.get('/memory/list', { limit: 100 });
  expect(listed.body.total, listed.story).toBe(listed.body.count);
  return listed.body.memories.map(({ content }: { content: string }) => content);
}

describe.concurrent.each(MOMENTS)('when the connection is cut %s', (moment) => {
  it('a store is stored once, and answers that it stored it', async () => {
    const agent = await service.newAccount();
    const cut = proxy.cut(moment, STORE, agent.account.id);
    const [stored] = await Promise.all([agent.post('/memory', { content: 'Stored once', tags: ['x'] }), cut]);
    expect(stored.status, stored.story).toBe(200);
    expect(stored.body, stored.story).toEqual({ id: expect.any(String), stored: true });
    expect(await contentsOf(agent)).toEqual(['Stored once']);
    expect(await agent.found('stored once')).toEqual(['Stored once']);
    const again = await agent.post('/memory', { content: 'Stored once' });
    expect(again.body, again.story).toEqual({ id: stored.body.id, stored: false, duplicate: true });
  });

  it('a store over GraphQL too', async () => {
    const agent = await service.newAccount();
    const cut = proxy.cut(moment, STORE, agent.account.id);
    const [stored] = await Promise.all([
      agent.graphql('mutation { storeMemory(input: { content: "Once" }) { stored duplicate memory { version } } }'),
      cut,
    ]);
    expect(stored.body, stored.story).toEqual({ data: { storeMemory: { stored: true, duplicate: false, memory: { version: 1 } } } });
    expect(await contentsOf(agent)).toEqual(['Once']);
  });

  it('a PATCH raises the version once, and answers that it changed something', async () => {
    const agent = await service.newAccount();
    const id = await agent.store({ content: 'Before', metadata: { a: 1 } });
    const cut = proxy.cut(moment, UPDATE, id);
    const [patched] = await Promise.all([agent.patch(`/memory/${id}`, { content: 'After', metadata: { b: 2 } }), cut]);
    expect(patched.body, patched.story).toEqual({ id, updated: true, version: 2 });
    const got = await agent.get(`/memory/${id}`);
    expect(got.body, got.story).toMatchObject({ content: 'After', metadata: { a: 1, b: 2 }, version: 2 });
  });

  it('a PATCH that takes the memory out of the sight of who changed it still answers that it did', async () => {
    const agent = await service.newAccount();
    const id = await agent.store({ content: 'Shared until now', tier: 3 });
    const cut = proxy.cut(moment, UPDATE, id);
    const [patched] = await Promise.all([agent.patch(`/memory/${id}`, { tier: 2 }, { user_id: 'maya' }), cut]);
    expect(patched.body, patched.story).toEqual({ id, updated: true, version: 2 });
    expect((await agent.get(`/memory/${id}`)).body).toMatchObject({ tier: 2, version: 2 });
  });

  it('a DELETE erases, and answers that it did', async () => {
    const agent = await service.newAccount();
    const id = await agent.store('To be erased');
    const cut = proxy.cut(moment, ERASE, id);
    const [erased] = await Promise.all([agent.delete(`/memory/${id}`), cut]);
    expect(erased.status, erased.story).toBe(200);
    expect(erased.body).toEqual({ id, deleted: true });
    expect((await agent.delete(`/memory/${id}`)).status).toBe(404);
  });

  it('each of many stores under way is stored once, and says so', async () => {
    const agent = await service.newAccount();
    const contents = Array.from({ length: 24 }, (_, index) => `Memory ${index} of many`);
    const cut = proxy.cut(moment, STORE, agent.account.id);
    const [replies] = await Promise.all([Promise.all(contents.map((content) => agent.post('/memory', { content }))), cut]);
    for (const reply of replies) expect(reply.body, reply.story).toEqual({ id: expect.any(String), stored: true });
    expect((await contentsOf(agent)).sort()).toEqual([...contents].sort());
  });
});

describe.concurrent('when the answer to a commit is lost', () => {
  it('and the question what became of it as well, the store is still stored once and answers so', async () => {
    const agent = await service.newAccount();
    const cuts = [proxy.cut('after commit', STORE, agent.account.id), proxy.cut('while running', READ_COMMIT)];
    const [stored] = await Promise.all([agent.post('/memory', { content: 'Twice unlucky' }), ...cuts]);
    expect(stored.body, stored.story).toEqual({ id: expect.any(String), stored: true });
    expect(await contentsOf(agent)).toEqual(['Twice unlucky']);
  });

  it('a duplicate is still answered as one', async () => {
    const agent = await service.newAccount();
    const id = await agent.store('Already there');
    const cut = proxy.cut('after commit', STORE, agent.account.id);
    const [again] = await Promise.all([agent.post('/memory', { content: 'Already there' }), cut]);
    expect(again.body, again.story).toEqual({ id, stored: false, duplicate: true });
  });

  it('a refusal for a source that is not there is still that refusal', async () => {
    const agent = await service.newAccount();
    const source = await agent.store('A source');
    const cut = proxy.cut('after commit', STORE, agent.account.id);
    const missing = 'not an id';
    const [refused] = await Promise.all([agent.post('/memory', { content: 'Derived', source_ids: [source, missing] }), cut]);
    expect(refused.status, refused.story).toBe(400);
    expect(refused.body.details, refused.story).toEqual([{ field: 'source_ids.1', message: `must name a memory that you can see; got ${missing}` }]);
  });

  it('a DELETE that found nothing is a 404', async () => {
    const agent = await service.newAccount();
    const id = await agent.store('Gone already');
    expect((await agent.delete(`/memory/${id}`)).status).toBe(200);
    const cut = proxy.cut('after commit', ERASE, id);
    const [erased] = await Promise.all([agent.delete(`/memory/${id}`), cut]);
    expect(erased.status, erased.story).toBe(404);
  });
});

describe('while connections are cut all the time', () => {
  it('every write that was answered happened once', { timeout: 60_000 }, async () => {
    const agent = await service.newAccount();
    const counter = await agent.store({ content: 'A memory that counts', tags: ['counter'] });
    const cutting = setInterval(() => proxy.cutAll(), 150);
    try {
      const stores = Array.from({ length: 40 }, (_, index) => agent.post('/memory', { content: `Under fire ${index}`, tags: ['fire'] }));
      const changes = Array.from({ length: 10 }, (_, index) => agent.patch(`/memory/${counter}`, { metadata: { [`k${index}`]: index } }));
      const stop = setTimeout(() => clearInterval(cutting), 1_500);
      const [stored, changed] = await Promise.all([Promise.all(stores), Promise.all(changes)]);
      clearTimeout(stop);
      clearInterval(cutting);

      for (const reply of [...stored, ...changed]) expect([200, 503], reply.story).toContain(reply.status);
      const answered = stored.filter(({ status }) => status === 200);
      for (const { body, story } of answered) expect(body.stored, story).toBe(true);
      const listed = await agent.get('/memory/list', { tags: 'fire', limit: 100 });
      const ids: string[] = listed.body.memories.map(({ id }: { id: string }) => id);
      expect(ids).toEqual(expect.arrayContaining(answered.map(({ body }) => body.id as string)));
      expect(new Set(listed.body.memories.map(({ content }: { content: string }) => content)).size, 'no content is there twice').toBe(ids.length);

      const { body } = await agent.get(`/memory/${counter}`);
      expect(body.version, 'one version for each key').toBe(1 + Object.keys(body.metadata as object).length);
      const versions = changed.filter(({ status }) => status === 200).map((reply) => reply.body.version as number);
      expect(new Set(versions).size, 'no two changes made the same version').toBe(versions.length);
    } finally {
      clearInterval(cutting);
    }
  });
});
