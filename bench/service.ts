import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createApp } from '../src/app.ts';
import { withCache } from '../src/embedding/cache.ts';
import { createLocalEmbedder } from '../src/embedding/local.ts';
import { connectDatabase } from '../src/graph/database.ts';
import { prepareRuntime } from '../src/graph/local/runtime.ts';
import { startLocalServer } from '../src/graph/local/server.ts';
import { migrate } from '../src/graph/migrations.ts';
import { bootstrapAccess } from '../src/modules/access/bootstrap.ts';
import { createAccessStore } from '../src/modules/access/store.ts';
import { openVectorIndex } from '../src/modules/vectors/opening.ts';
import { createVectorStore } from '../src/modules/vectors/store.ts';

/** A service of its own to measure: real Neo4j, real model, a data folder that goes with it. */
export interface BenchService {
  /** GET or POST with the first key; throws for any other status than 200. */
  request(method: 'GET' | 'POST', path: string, body?: unknown): Promise<any>;
  close(): Promise<void>;
}

export async function startBenchService(report: (line: string) => void): Promise<BenchService> {
  const { signal } = new AbortController();
  const dataDir = mkdtempSync(join(tmpdir(), 'memory-bench-'));
  const runtimeDir = process.env['RUNTIME_DIR'] ?? fileURLToPath(new URL('../.data/runtime', import.meta.url));
  const runtime = await prepareRuntime({ runtimeDir, report, signal });
  const server = await startLocalServer({ dataDir, runtime, heap: '1g', report, signal });
  const database = connectDatabase({ ...server, database: 'neo4j' });
  await migrate(database, report);
  const { newKey } = await bootstrapAccess(createAccessStore(database), { dataDir, givenKey: undefined, report });
  const embedder = withCache(await createLocalEmbedder(runtime));
  const calibration = await openVectorIndex(createVectorStore(database), embedder, report);
  const app = await createApp({
    database,
    embedder,
    calibration,
    version: 'bench',
    settings: { sessionTtl: 86_400_000, requestTimeout: 60_000, logLevel: 'warn', trustProxy: false, corsOrigins: [], introspection: true },
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;

  return {
    async request(method, path, body) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: { authorization: `Bearer ${newKey}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${method} ${path.slice(0, 200)} → ${response.status} ${text.slice(0, 500)}`);
      return JSON.parse(text);
    },
    async close() {
      await app.close();
      await embedder.close();
      await database.close();
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
