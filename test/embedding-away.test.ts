import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { deadlineIn } from '../src/deadline.ts';
import { withCache } from '../src/embedding/cache.ts';
import { knownCalibrations } from '../src/embedding/calibration.ts';
import type { Embedder } from '../src/embedding/embedder.ts';
import { createLocalEmbedder } from '../src/embedding/local.ts';
import { createOpenAiEmbedder } from '../src/embedding/openai.ts';
import { createVectorStore } from '../src/modules/vectors/store.ts';
import { type EmbeddingServer, startEmbeddingServer } from './testkit/embedding-server.ts';
import { type Neo4j, setUpSchema, startNeo4j } from './testkit/neo4j.ts';
import { modelFiles, startService, type TestService } from './testkit/service.ts';

// A Neo4j of its own, because every service embeds what waits in its database.
let neo4j: Neo4j;
let local: Embedder;
let provider: EmbeddingServer;
let service: TestService;

const connect = () =>
  withCache(
    createOpenAiEmbedder({
      apiKey: 'sk-test',
      baseUrl: provider.url,
      model: 'e5-behind-a-server',
      dimensions: 384,
      requestDimensions: false,
      window: 4_000,
      timeout: 500,
      report: () => undefined,
    }),
  );
const start = () => startService({ neo4j: neo4j.address, embedder: connect(), calibration: knownCalibrations['e5-small-v2-q']! });
const unembedded = async () => (await service.database.read('MATCH (m:Unembedded) RETURN count(m) AS count', {}, deadlineIn(5_000)))[0]!['count'];
const allEmbedded = () => expect.poll(unembedded, { timeout: 30_000 }).toBe(0);

beforeAll(async () => {
  local = await createLocalEmbedder({ ...(await modelFiles()), workers: 1 });
  provider = await startEmbeddingServer({ dimensions: 384, embed: (text) => local.embedQuery(text, {}) });
  neo4j = await startNeo4j();
  await setUpSchema(neo4j);
  service = await start();
});
afterEach(async () => {
  provider.behave('floats');
  await allEmbedded();
});
afterAll(async () => {
  await service.close();
  await provider.close();
  await local.close();
  await neo4j.close();
});

describe('while the embedding provider is away', () => {
  it('stores succeed, are found by their words at once, and by their meaning once it is back', async () => {
    const client = await service.newAccount();
    provider.behave({ status: 500 });
    const id = await client.store({ content: 'Maya plays the violoncello in an orchestra', user_id: 'maya' });
    const duplicate = await client.post('/memory', { content: 'Maya plays the violoncello in an orchestra', user_id: 'maya' });
    expect(duplicate.body, duplicate.story).toEqual({ id, stored: false, duplicate: true });
    expect((await client.get(`/memory/${id}`)).body.content).toContain('violoncello');

    const byWords = await client.get('/memory/search', { q: 'violoncello', user_id: 'maya', explain: true });
    expect(byWords.body.memories[0], byWords.story).toMatchObject({ id, explanation: { semantic: null, cosine: null, lexical: 1 } });
    expect(byWords.body.memories[0].score).toBeGreaterThan(0.5);
    expect(await client.found('which string instrument', { user_id: 'maya' })).toEqual([]);

    const health = await client.get('/health');
    expect(health.status, health.story).toBe(200);
    expect(health.body).toMatchObject({ status: 'degraded', checks: { database: 'ok', embedding: 'down' } });
    expect((await client.get('/readyz')).status).toBe(200);

    provider.behave('floats');
    await allEmbedded();
    const byMeaning = await client.get('/memory/search', { q: 'which string instrument does she play', user_id: 'maya', explain: true });
    expect(byMeaning.body.memories[0], byMeaning.story).toMatchObject({ id, explanation: { semantic: expect.any(Number) } });
    expect((await client.get(`/memory/${id}`)).body).toMatchObject({ version: 1 });
    expect((await client.get('/health')).body).toMatchObject({ status: 'ok', checks: { embedding: 'ok' } });
  });

  it('a store waits for it no longer than half of its time', async () => {
    const client = await service.newAccount();
    provider.behave('slow');
    const startedAt = performance.now();
    await client.store('Stored while the provider is slow');
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });

  it('a changed text is not found by its old meaning, and by its new one once the provider is back', async () => {
    const client = await service.newAccount();
    const id = await client.store('Maya plays the violoncello');
    provider.behave({ status: 500 });
    await client.patch(`/memory/${id}`, { content: 'The invoice was paid on Friday' });
    await client.patch(`/memory/${id}`, { tags: ['billing'] });
    const [hit] = (await client.get('/memory/search', { q: 'invoice', explain: true })).body.memories;
    expect(hit).toMatchObject({ id, explanation: { cosine: null } });
    provider.behave('floats');
    await allEmbedded();
    expect(await client.found('has the bill been settled')).toEqual(['The invoice was paid on Friday']);
    await client.post(`/memory/${id}/restore`, { version: 1 });
    expect(await client.found('which string instrument')).toEqual(['Maya plays the violoncello']);
  });

  it('a text that was changed again while it was being embedded gets the vector of what it says now', async () => {
    const client = await service.newAccount();
    provider.behave({ status: 500 });
    const id = await client.store('Ben collects stamps');
    const store = createVectorStore(service.database);
    const [taken] = await store.takeUnembedded(100, deadlineIn(5_000));
    await client.patch(`/memory/${id}`, { content: 'The stamps were sold to a museum' });
    await store.saveVectors([{ ...taken!, vector: await local.embedQuery(taken!.content, {}), cut: false }], 'e5-behind-a-server', deadlineIn(5_000));
    expect(await unembedded()).toBe(1);
    provider.behave('floats');
    await allEmbedded();
    const [hit] = (await client.get('/memory/search', { q: 'The stamps were sold to a museum', explain: true })).body.memories;
    expect(hit.explanation.semantic).toBeGreaterThan(0.9);
  });

  it('nothing that waits is lost by a restart', async () => {
    const other = await start();
    const client = await other.newAccount();
    provider.behave({ status: 500 });
    const ids = await client.storeAll(Array.from({ length: 40 }, (_, at) => `Maya has visited museum number ${at}`));
    await other.close();
    expect(await unembedded()).toBe(40);
    provider.behave('floats');
    await allEmbedded();
    const rows = await service.database.read(
      'MATCH (m:Memory {accountId: $accountId}) WHERE m.embedding IS NOT NULL AND m.embedAfter IS NULL RETURN m.id AS id, m.embeddingModel AS model',
      { accountId: client.account.id },
      deadlineIn(5_000),
    );
    expect(rows.map(({ id }) => id).sort()).toEqual(ids.sort());
    expect(new Set(rows.map(({ model }) => model))).toEqual(new Set(['e5-behind-a-server']));
  });

  it('an erased memory takes its place in the queue along', async () => {
    const client = await service.newAccount();
    provider.behave({ status: 500 });
    const id = await client.store('Maya plays the violoncello');
    await client.delete(`/memory/${id}`);
    expect(await unembedded()).toBe(0);
  });
});

describe('memories that wait to be embedded', () => {
  it('are taken by one process each, and again when that one does not come back', async () => {
    const client = await service.newAccount();
    provider.behave({ status: 500 });
    await client.storeAll(Array.from({ length: 60 }, (_, at) => `Museum number ${at}`));
    const store = createVectorStore(service.database);
    const batches = await Promise.all(Array.from({ length: 6 }, () => store.takeUnembedded(16, deadlineIn(10_000))));
    const taken = batches.flat();
    expect(new Set(taken.map(({ id }) => id)).size).toBe(taken.length);
    expect(taken.length).toBe(60);
    expect(await store.takeUnembedded(16, deadlineIn(10_000))).toEqual([]);
    await store.giveBack(taken, deadlineIn(10_000));
    expect(await store.takeUnembedded(100, deadlineIn(10_000)), 'not at once').toEqual([]);
    await expect.poll(async () => (await store.takeUnembedded(100, deadlineIn(10_000))).length, { timeout: 10_000, interval: 200 }).toBe(60);
    await store.giveBack(taken, deadlineIn(10_000));
  });

  it('do not hold up others when the provider refuses one of them', async () => {
    const client = await service.newAccount();
    provider.refuse('unspeakable');
    const refused = await client.store('An unspeakable text');
    provider.behave({ status: 500 });
    await client.storeAll(Array.from({ length: 5 }, (_, at) => `Museum number ${at}`));
    provider.behave('floats');
    await expect.poll(unembedded, { timeout: 30_000 }).toBe(1);
    expect(await client.found('unspeakable')).toEqual(['An unspeakable text']);
    await client.delete(`/memory/${refused}`);
  });
});
