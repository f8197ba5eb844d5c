import { setTimeout as delay } from 'node:timers/promises';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '../testkit/client.ts';
import { DIMENSIONS, embeddingBy, startEmbeddingServer } from '../testkit/embedding-server.ts';
import { type FaultyProxy, startFaultyProxy } from '../testkit/faulty-proxy.ts';
import { setUpSchema, startNeo4j } from '../testkit/neo4j.ts';
import { hasRedis, startRedis } from '../testkit/redis.ts';
import { startReady } from '../testkit/npm-start.ts';
import { createLedger } from '../testkit/ledger.ts';
import { startTraffic } from '../testkit/traffic.ts';
import type { Database } from '../../src/graph/database.ts';

/** What the service depends on over the network. */
export type Target = 'neo4j' | 'embedder' | 'redis';
export const TARGETS: readonly Target[] = hasRedis ? ['neo4j', 'embedder', 'redis'] : ['neo4j', 'embedder'];
if (!hasRedis) console.log('Faults of Redis are left out: there is no redis-server here');

/** Milliseconds within which the service answers. */
export const DEADLINE = 4_000;

/** A service as a process of its own, with a proxy before each of its dependencies. */
export interface Rig {
  readonly client: Client;
  readonly proxies: Readonly<Record<Target, FaultyProxy>>;
  /** Neo4j itself, without a proxy. */
  readonly database: Database;
  /** The errors that the service has logged. */
  errors(): string[];
  hasEnded(): boolean;
  close(): Promise<void>;
}

export async function startRig(): Promise<Rig> {
  const neo4j = await startNeo4j({ heap: '512m' });
  await setUpSchema(neo4j);
  const embedder = await startEmbeddingServer({ dimensions: DIMENSIONS });
  const redis = hasRedis ? await startRedis() : null;
  const proxies = {
    neo4j: await proxyBefore(neo4j.address.uri),
    embedder: await proxyBefore(embedder.url),
    redis: await proxyBefore(redis?.url ?? 'redis://127.0.0.1:1'),
  };
  const dataDir = mkdtempSync(join(tmpdir(), 'memory-faults-'));
  const service = await startReady(dataDir, {
    REQUEST_TIMEOUT: `${DEADLINE / 1_000}s`,
    LOG_LEVEL: 'error',
    METRICS_PORT: '0',
    NEO4J_URI: `bolt://127.0.0.1:${proxies.neo4j.port}`,
    NEO4J_PASSWORD: neo4j.address.password,
    ...(redis ? { REDIS_URL: `redis://127.0.0.1:${proxies.redis.port}` } : {}),
    ...embeddingBy(`http://127.0.0.1:${proxies.embedder.port}/v1`),
  });
  await warmUp(service.client);
  let ended = false;
  void service.exit.then(() => (ended = true));
  return {
    client: service.client,
    proxies,
    database: neo4j.database,
    errors: () =>
      service
        .output()
        .split('\n')
        .filter((line) => line.startsWith('{')),
    hasEnded: () => ended,
    async close() {
      await service.kill('SIGTERM');
      await Promise.all([...Object.values(proxies).map((proxy) => proxy.close()), embedder.close(), redis?.close(), neo4j.close()]);
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function proxyBefore(address: string): Promise<FaultyProxy> {
  const { hostname, port } = new URL(address);
  return startFaultyProxy({ hostname, port: Number(port) });
}

/** A new Neo4j takes seconds for its first statements. */
async function warmUp(client: Client): Promise<void> {
  for (let at = 0, worst = Infinity; worst > DEADLINE / 3 && at < 20; at++) {
    const traffic = startTraffic({ client, userId: 'warm', ledger: createLedger(`w${at}`), workers: 6, pause: 20 });
    await delay(3_000);
    await traffic.stop();
    worst = Math.max(...traffic.answers.map(({ milliseconds }) => milliseconds));
  }
}
