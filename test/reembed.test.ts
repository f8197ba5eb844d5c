import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deadlineIn } from '../src/deadline.ts';
import { knownCalibrations } from '../src/embedding/calibration.ts';
import type { Embedder } from '../src/embedding/embedder.ts';
import { createLocalEmbedder } from '../src/embedding/local.ts';
import { createOpenAiEmbedder } from '../src/embedding/openai.ts';
import { openVectorIndex } from '../src/modules/vectors/opening.ts';
import { createVectorStore, type VectorStore } from '../src/modules/vectors/store.ts';
import type { Client } from './testkit/client.ts';
import { type EmbeddingServer, startEmbeddingServer } from './testkit/embedding-server.ts';
import { type Neo4j, setUpSchema, startNeo4j } from './testkit/neo4j.ts';
import { environmentWith, start } from './testkit/npm-start.ts';
import { modelFiles, startService } from './testkit/service.ts';

const MEMORIES = 300;
const quietly = { report: () => undefined, signal: new AbortController().signal };

let neo4j: Neo4j;
let local: Embedder;
let provider: EmbeddingServer;
let vectors: VectorStore;
let dataDir: string;
let owner: Client;

beforeAll(async () => {
  local = await createLocalEmbedder({ ...(await modelFiles()), workers: 1 });
  provider = await startEmbeddingServer({ dimensions: 512, embed: (text) => local.embedQuery(text, {}) });
  neo4j = await startNeo4j();
  await setUpSchema(neo4j);
  vectors = createVectorStore(neo4j.database);
  dataDir = mkdtempSync(join(tmpdir(), 'memory-reembed-'));
  await openVectorIndex(vectors, local, quietly);
  const service = await startService({ neo4j: neo4j.address });
  owner = await service.newAccount();
  await owner.storeAll(Array.from({ length: MEMORIES - 1 }, (_, at) => `Crate number ${at} holds ${at % 7} lamps`));
  await owner.store({ content: 'Maya plays the violoncello in an orchestra', user_id: 'maya', tags: ['music'] });
  await service.close();
});
afterAll(async () => {
  await provider.close();
  await local.close();
  await neo4j.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Starts a command on the database, with the server of 512 dimensions as the provider unless it says otherwise. */
function begin(args: string[], environment: Record<string, string> = {}) {
  const given = {
    DATA_DIR: dataDir,
    NEO4J_URI: neo4j.address.uri,
    NEO4J_PASSWORD: neo4j.address.password,
    EMBEDDING_PROVIDER: 'openai',
    EMBEDDING_MODEL: 'model-512',
    OPENAI_API_KEY: 'sk-test',
    OPENAI_BASE_URL: provider.url,
  };
  return start(environmentWith({ ...given, ...environment }), args);
}

async function run(args: string[], environment?: Record<string, string>) {
  const { exit, output } = begin(args, environment);
  return { code: await exit, output: output() };
}

const embeddedWith = (model: string, dimensions: number) => vectors.countEmbedded({ model, dimensions }, deadlineIn(5_000));
const localModel = { EMBEDDING_PROVIDER: 'local', EMBEDDING_MODEL: '' };

// One story, told in order on one database.
describe('another embedding model', () => {
  it('is refused by a start, which says what to do', async () => {
    const { code, output } = await run([]);
    expect(code, output).toBe(1);
    expect(output).toMatch(/embedded with e5-small-v2-q \(384 dimensions\).*says model-512 \(512 dimensions\).*npm run reembed/s);
  });

  it('is nothing to do when it is the one that the memories have', async () => {
    const { code, output } = await run(['reembed'], localModel);
    expect(code, output).toBe(0);
    expect(output).toContain('Nothing to do');
  });

  it('must answer', async () => {
    const { code, output } = await run(['reembed'], { OPENAI_API_KEY: 'wrong' });
    expect(code, output).toBe(1);
    expect(output).toContain('Incorrect API key');
    expect(await vectors.readRecord(deadlineIn(5_000)), 'nothing has begun').toMatchObject({ next: null });
  });

  it('gets all memories, also when the command is killed and run again', async () => {
    const killed = begin(['reembed']);
    await expect.poll(() => embeddedWith('model-512', 512), { timeout: 60_000, interval: 20 }).toBeGreaterThan(0);
    await killed.kill('SIGKILL');
    const before = await embeddedWith('model-512', 512);
    expect(before).toBeLessThan(MEMORIES);

    for (const environment of [{}, localModel]) {
      const refused = await run([], environment);
      expect(refused.code, refused.output).toBe(1);
      expect(refused.output).toContain('that is not finished');
    }

    const { code, output } = await run(['reembed']);
    expect(code, output).toBe(0);
    expect(output).toContain('Going on with model-512');
    expect(output).toContain(`${MEMORIES - before} memories embedded`);
    expect(await embeddedWith('model-512', 512)).toBe(MEMORIES);
  });

  it('has its own calibration, measured on the probes and kept with the index', async () => {
    const record = (await vectors.readRecord(deadlineIn(5_000)))!;
    expect(record).toMatchObject({ current: { model: 'model-512', dimensions: 512 }, next: null });
    const { knots } = record.current.calibration;
    expect(knots.at(0)).toEqual([-1, 0]);
    expect(knots.at(-1)).toEqual([1, 1]);
    expect(knots).not.toEqual(knownCalibrations['e5-small-v2-q']!.knots);
  });

  it('finds the memories as before, with their tags and users', async () => {
    const embedder = createOpenAiEmbedder({
      apiKey: 'sk-test',
      baseUrl: provider.url,
      model: 'model-512',
      dimensions: 512,
      requestDimensions: false,
      window: 4_000,
      timeout: 5_000,
      report: () => undefined,
    });
    const calibration = await openVectorIndex(vectors, embedder, quietly);
    const service = await startService({ neo4j: neo4j.address, embedder, calibration });
    try {
      const client = await service.newKey(owner, {});
      const reply = await client.get('/memory/search', { q: 'which string instrument does she play', user_id: 'maya', tags: 'music', explain: true });
      expect(reply.body.memories, reply.story).toMatchObject([{ content: 'Maya plays the violoncello in an orchestra', version: 1 }]);
      expect(reply.body.memories[0].explanation.semantic).toBeGreaterThan(0.3);
    } finally {
      await service.close();
    }
  });

  it('is not asked for its dimensions again, so that a start needs no provider', async () => {
    const { code, output } = await run(['reembed'], { OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' });
    expect(code, output).toBe(0);
    expect(output).toContain('Nothing to do');
  });

  it('is another one when only its dimensions change', async () => {
    const shorter = { EMBEDDING_DIMENSIONS: '448' };
    const refused = await run([], shorter);
    expect(refused.code, refused.output).toBe(1);
    expect(refused.output).toContain('says model-512 (448 dimensions)');
    const { code, output } = await run(['reembed'], shorter);
    expect(code, output).toBe(0);
    expect(output).toContain(`${MEMORIES} memories embedded`);
    expect(await embeddedWith('model-512', 448)).toBe(MEMORIES);
    const forgotten = await run([]);
    expect(forgotten.output, 'the model gives its own length when it is not asked').toContain('says model-512 (512 dimensions)');
  });

  it('can be left again', async () => {
    const { code, output } = await run(['reembed'], localModel);
    expect(code, output).toBe(0);
    expect(await embeddedWith('e5-small-v2-q', 384)).toBe(MEMORIES);
    expect(await openVectorIndex(vectors, local, quietly)).toEqual(knownCalibrations['e5-small-v2-q']);
  });
});
