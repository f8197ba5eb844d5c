import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { deadlineIn } from '../src/deadline.ts';
import { connectDatabase } from '../src/graph/database.ts';
import { findProcesses } from '../src/graph/local/process.ts';
import { findLocalServer } from '../src/graph/local/server.ts';
import { SCHEMA_VERSION } from '../src/graph/migrations.ts';
import { generateApiKey } from '../src/modules/access/key.ts';
import { Client } from './testkit/client.ts';
import { type Neo4j, startNeo4j } from './testkit/neo4j.ts';
import { environmentWith, freePort, READY, ROOT, start as startProcess, type Started } from './testkit/npm-start.ts';

let port: number;
let url: string;
let dataDir: string;
const running = new Set<Started>();

beforeAll(async () => {
  port = await freePort();
  url = `http://127.0.0.1:${port}`;
  dataDir = mkdtempSync(join(tmpdir(), 'memory-start-'));
});
afterEach(async () => {
  await Promise.all([...running].map((started) => started.kill('SIGKILL')));
});
afterAll(async () => {
  const server = await findLocalServer(dataDir);
  await server?.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

function start(environment: Record<string, string> = {}): Started {
  const started = startProcess(environmentHere(environment));
  running.add(started);
  void started.exit.then(() => running.delete(started));
  return started;
}

function environmentHere(environment: Record<string, string> = {}): NodeJS.ProcessEnv {
  return environmentWith({ PORT: String(port), DATA_DIR: dataDir, ...environment });
}

function command(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile('npm', ['run', '--silent', ...args], { cwd: ROOT, env: environmentHere() }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? 1 : 0, stdout, stderr }),
    );
  });
}

const firstClient = () => new Client(url, readFileSync(join(dataDir, 'api-key'), 'utf8').trim(), { id: '', name: 'default' }, '');
const neo4jProcesses = () => findProcesses('java', `--home-dir=${join(dataDir, 'neo4j')}`);

// These tests are one story, told in order on one data folder.
describe('npm start', { timeout: 180_000 }, () => {
  it('survives a kill -9 at each step of its first set-up', async () => {
    for (const step of ['Setting up Neo4j', 'Starting Neo4j', 'Neo4j is ready', 'Setting up the database']) {
      const killed = start();
      // A step that an earlier, killed start has completed is not printed again; being ready comes after all of them.
      await Promise.race([killed.printed(step), killed.printed(READY)]);
      await killed.kill('SIGKILL');
    }
    const survivor = start();
    await survivor.printed(READY);
    expect(neo4jProcesses()).toHaveLength(1);
    expect((await firstClient().get('/health')).body).toMatchObject({ status: 'ok' });
    expect(await survivor.kill('SIGTERM'), survivor.output()).toBe(0);
    expect(neo4jProcesses()).toHaveLength(0);
    rmSync(dataDir, { recursive: true });
  });

  it('sets up everything, prints what a newcomer needs, and keeps secrets to their owner', async () => {
    const first = start();
    await first.printed(READY);
    const key = readFileSync(join(dataDir, 'api-key'), 'utf8').trim();
    expect(first.output()).toContain(key);
    expect(first.output()).toContain(`http://localhost:${port}/graphql`);
    expect(first.output()).toContain(`curl http://localhost:${port}/memory`);
    expect(statSync(join(dataDir, 'api-key')).mode & 0o777).toBe(0o600);
    expect(statSync(join(dataDir, 'neo4j', 'password')).mode & 0o777).toBe(0o600);

    await firstClient().store('The first memory of this folder');
    expect(await firstClient().found('memory')).toEqual(['The first memory of this folder']);

    const second = start({ PORT: String(await freePort()) });
    expect(await second.exit).toBe(1);
    expect(second.output()).toMatch(/in use by process \d+/);
    const third = start({ DATA_DIR: join(dataDir, 'other') });
    expect(await third.exit).toBe(1);
    expect(third.output()).toContain(`port ${port} on 127.0.0.1 is taken`);

    expect(await first.kill('SIGTERM'), first.output()).toBe(0);
    expect(neo4jProcesses()).toHaveLength(0);
  });

  it('starts again on the same data, and after a kill -9 takes over the Neo4j that still runs', async () => {
    const metricsPort = await freePort();
    const second = start({ METRICS_PORT: String(metricsPort) });
    await second.printed(READY);
    expect(second.output()).not.toContain(firstClient().key);
    const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    expect(metrics).toMatch(/^nodejs_eventloop_lag_p99_seconds /m);
    expect(await firstClient().found('memory')).toEqual(['The first memory of this folder']);
    const [neo4j] = neo4jProcesses();
    await second.kill('SIGKILL');

    const taken = createServer().listen(metricsPort, '127.0.0.1');
    const third = start({ METRICS_PORT: String(metricsPort) });
    await third.printed(READY);
    taken.close();
    expect(third.output()).toMatch(/^There are no metrics: .*EADDRINUSE.* METRICS_PORT names another port/m);
    expect(neo4jProcesses()).toEqual([neo4j]);
    expect(await firstClient().found('memory')).toEqual(['The first memory of this folder']);
    expect(await third.kill('SIGINT'), third.output()).toBe(0);
    expect(neo4jProcesses()).toHaveLength(0);
  });

  it('finishes the requests under way before it stops', async () => {
    const service = start();
    await service.printed(READY);
    const client = firstClient();
    await client.store('One store beforehand, so that the first one is not slow');
    const long = 'a text that takes a moment to embed '.repeat(60);
    const stores = Array.from({ length: 16 }, (_, index) => client.post('/memory', { content: `Stored while stopping, number ${index}: ${long}` }));
    // Answered after those sixteen have arrived.
    await client.get('/memory/list');
    const exit = service.kill('SIGTERM');
    const replies = await Promise.allSettled(stores);
    expect(await exit, service.output()).toBe(0);

    const again = start();
    await again.printed(READY);
    const { body } = await firstClient().get('/memory/list', { limit: 100 });
    const kept = new Set(body.memories.map(({ id }: { id: string }) => id));
    for (const reply of replies) {
      if (reply.status === 'rejected') throw reply.reason;
      expect(reply.value.status, reply.value.story).toBe(200);
      expect(kept).toContain(reply.value.body.id);
    }
  });

  it('stops when it is told to at any moment of its start', async () => {
    for (const step of ['Starting Neo4j', 'Neo4j is ready', READY]) {
      const service = start();
      // Beside a Neo4j that still runs from before there is no such step.
      await Promise.race([service.printed(step), service.printed(READY)]);
      expect(await service.kill('SIGTERM'), service.output()).toBe(0);
      expect(neo4jProcesses()).toHaveLength(0);
    }
  });

  it('lists every mistake of the configuration at once', async () => {
    const refused = start({
      PORT: 'eighty',
      SESSION_TTL: '24',
      REQUEST_TIMEOUT: '30d',
      TRUST_PROXY: 'foo',
      CORS_ORIGINS: 'example.com',
      NEO4J_URI: 'neo4j://127.0.0.1:7687',
      BOOTSTRAP_API_KEY: `${generateApiKey()}x`,
      EMBEDDING_PROVIDER: 'voyage',
      EMBEDDING_DIMENSIONS: '1',
      OPENAI_BASE_URL: 'localhost:11434',
      REDIS_URL: 'localhost:6379',
      REDIS_PREFIX: 'a b',
      MAX_CONCURRENT_REQUESTS: '0',
      METRICS_PORT: 'none',
    });
    expect(await refused.exit).toBe(1);
    for (const variable of [
      'PORT',
      'SESSION_TTL',
      'REQUEST_TIMEOUT',
      'TRUST_PROXY',
      'CORS_ORIGINS',
      'BOOTSTRAP_API_KEY',
      'EMBEDDING_PROVIDER',
      'EMBEDDING_DIMENSIONS',
      'OPENAI_BASE_URL',
      'REDIS_URL',
      'REDIS_PREFIX',
      'MAX_CONCURRENT_REQUESTS',
      'METRICS_PORT',
    ])
      expect(refused.output()).toContain(`${variable}: must be`);
    expect(refused.output()).not.toContain(' at ');
  });

  it('says which variables belong together', async () => {
    const local = start({ EMBEDDING_MODEL: 'text-embedding-3-small' });
    expect(await local.exit).toBe(1);
    expect(local.output()).toContain('EMBEDDING_MODEL: is only for EMBEDDING_PROVIDER=openai');
    const remote = start({ EMBEDDING_PROVIDER: 'openai', OPENAI_API_KEY: '' });
    expect(await remote.exit).toBe(1);
    expect(remote.output()).toContain('OPENAI_API_KEY: is required with EMBEDDING_PROVIDER=openai');
  });

  it('leaves nothing behind, and starts anew, when its folder was deleted while it ran', async () => {
    const service = start();
    await service.printed(READY);
    rmSync(dataDir, { recursive: true });
    expect(await service.kill('SIGTERM'), service.output()).toBe(0);
    expect(neo4jProcesses()).toHaveLength(0);

    const orphaned = start();
    await orphaned.printed(READY);
    rmSync(dataDir, { recursive: true });
    await orphaned.kill('SIGKILL');
    const fresh = start();
    await fresh.printed(READY);
    expect(neo4jProcesses()).toHaveLength(1);
    expect(await firstClient().found('memory')).toEqual([]);
  });

  it('refuses a database that a newer service wrote', async () => {
    const service = start();
    await service.printed(READY);
    const server = (await findLocalServer(dataDir))!;
    const database = connectDatabase({ ...server, database: 'neo4j' });
    const setVersion = (version: number) =>
      database.write("MATCH (s:Schema {id: 'schema'}) SET s.version = $version", { version }, deadlineIn(10_000));
    await setVersion(SCHEMA_VERSION + 1);
    await service.kill('SIGKILL');

    const refused = start();
    expect(await refused.exit).toBe(1);
    expect(refused.output()).toContain(`schema version ${SCHEMA_VERSION + 1}, written by a newer memory service`);
    expect(neo4jProcesses()).toHaveLength(0);
    await database.close();
    rmSync(dataDir, { recursive: true });
  });
});

describe('npm start with NEO4J_URI', { timeout: 180_000 }, () => {
  // Not the one of all tests: there are accounts whose plan keeps a service from starting.
  let neo4j: Neo4j;
  beforeAll(async () => {
    neo4j = await startNeo4j();
  });
  afterAll(() => neo4j.close());
  const given = () => {
    const { uri, username, password } = neo4j.address;
    return { NEO4J_URI: uri, NEO4J_USERNAME: username, NEO4J_PASSWORD: password };
  };

  it('uses that Neo4j, starts none of its own, and leaves it running', async () => {
    const service = start(given());
    await service.printed(READY);
    expect(neo4jProcesses()).toHaveLength(0);
    const client = firstClient();
    const id = await client.store('Stored in a Neo4j that was there before');
    expect(await client.found('Neo4j that was there')).toContain('Stored in a Neo4j that was there before');
    expect(await service.kill('SIGTERM'), service.output()).toBe(0);

    const again = start(given());
    await again.printed(READY);
    expect((await client.get(`/memory/${id}`)).status).toBe(200);
    expect(await again.kill('SIGTERM'), again.output()).toBe(0);
  });

  it('says why it can not be used', async () => {
    const locked = start({ ...given(), NEO4J_PASSWORD: 'not the password' });
    expect(await locked.exit).toBe(1);
    expect(locked.output()).toMatch(/can't be used with the username neo4j: .*unauthorized/);
    const nowhere = start({ ...given(), NEO4J_URI: 'bolt://127.0.0.1:1' });
    expect(await nowhere.exit).toBe(1);
    expect(nowhere.output()).toMatch(/NEO4J_URI bolt:\/\/127\.0\.0\.1:1 can't be used .*ECONNREFUSED/);
  });
});

describe('npm run keys and npm run accounts', { timeout: 180_000 }, () => {
  it('work before the service has ever run, and while it does', async () => {
    const given = generateApiKey();
    const created = await command('accounts', '--', 'create', 'acme');
    expect(created.code, created.stderr).toBe(0);
    expect(neo4jProcesses()).toHaveLength(0);

    const service = start({ BOOTSTRAP_API_KEY: given });
    await service.printed(READY);
    expect((await new Client(url, given, { id: '', name: '' }, '').get('/memory/list')).status).toBe(200);

    const listed = await command('accounts', '--', 'list');
    expect(listed.stdout).toMatch(/ {2}acme {2}self_hosted {2}0 active keys/);
    const key = await command('keys', '--', 'create', '--account', 'acme', '--name', 'robot');
    expect(key.code, key.stderr).toBe(0);
    const robot = new Client(url, key.stdout.trim(), { id: '', name: 'acme' }, '');
    expect((await robot.get('/memory/list')).status).toBe(200);
    expect((await robot.delete('/memory/none')).status).toBe(403);

    const keys = await command('keys', '--', 'list', '--account', 'acme');
    expect(keys.stdout).toContain('robot');
    expect(keys.stdout).not.toContain(robot.key);
    const id = keys.stdout.split('  ')[0]!;
    expect((await command('keys', '--', 'revoke', id, '--account', 'acme')).code).toBe(0);
    await expect.poll(async () => (await robot.get('/memory/list')).status, { timeout: 1_000, interval: 50 }).toBe(401);
    expect(await service.kill('SIGTERM')).toBe(0);
  });

  it('say how they are called', async () => {
    for (const args of [
      ['keys'],
      ['keys', '--', 'create', '--scopes', 'memory:all'],
      ['keys', '--', 'revoke'],
      ['accounts', '--', 'create', 'a b'],
      ['keys', '--', '--no'],
    ]) {
      const { code, stderr } = await command(...args);
      expect(code, args.join(' ')).toBe(2);
      expect(stderr).toMatch(/Usage: npm run|known are/);
    }
    const missing = await command('keys', '--', 'create', '--account', 'nobody');
    expect(missing.code).toBe(1);
    expect(missing.stderr).toContain("There is no account 'nobody'");
  });
});
