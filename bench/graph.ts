import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { v7 as uuid } from 'uuid';
import { loadConfig } from '../src/config.ts';
import { deadlineIn } from '../src/deadline.ts';
import { LOCAL_MODEL } from '../src/embedding/local.ts';
import { connectDatabase, type Database, type DatabaseOptions } from '../src/graph/database.ts';
import { prepareRuntime, type Runtime } from '../src/graph/local/runtime.ts';
import { startLocalServer } from '../src/graph/local/server.ts';
import { migrate } from '../src/graph/migrations.ts';
import { generateApiKey, hashApiKey, hintOf } from '../src/modules/access/key.ts';
import type { Account } from '../src/modules/access/principal.ts';
import { createAccessStore } from '../src/modules/access/store.ts';
import { buildIndex } from '../src/modules/vectors/opening.ts';
import { createVectorStore } from '../src/modules/vectors/store.ts';

/** The configuration of somebody who sets nothing. */
export const DEFAULTS = loadConfig({});

export interface BenchAccount extends Account {
  readonly key: string;
}

/** A managed Neo4j with the service's schema, in a data folder that goes with it. */
export interface BenchGraph {
  readonly address: DatabaseOptions;
  readonly pid: number;
  readonly heap: string;
  readonly runtime: Runtime;
  readonly database: Database;
  newAccount(name: string): Promise<BenchAccount>;
  close(): Promise<void>;
}

export async function startGraph(report: (line: string) => void, heap = DEFAULTS.neo4jHeap): Promise<BenchGraph> {
  const { signal } = new AbortController();
  const dataDir = mkdtempSync(join(tmpdir(), 'memory-bench-'));
  const runtime = await prepareRuntime({ runtimeDir: process.env['RUNTIME_DIR'] ?? DEFAULTS.runtimeDir, report, signal });
  const server = await startLocalServer({ dataDir, runtime, heap, report, signal });
  const address = { uri: server.uri, username: server.username, password: server.password, database: DEFAULTS.neo4jDatabase };
  const database = connectDatabase(address);
  await migrate(database, report);
  await buildIndex(createVectorStore(database), LOCAL_MODEL.dimensions, { report, signal });
  const access = createAccessStore(database);

  return {
    address,
    pid: server.pid,
    heap,
    runtime,
    database,
    async newAccount(name) {
      const account = { id: uuid(), name, plan: 'self_hosted' };
      const key = generateApiKey();
      const now = Date.now();
      const author = { actor: 'command', at: now };
      await access.createAccount(account, author, deadlineIn(30_000));
      await access.createKey(
        account.id,
        { id: uuid(), hash: hashApiKey(key), hint: hintOf(key), name: null, scopes: ['admin'], userId: null, createdAt: now, expiresAt: null },
        author,
        deadlineIn(30_000),
      );
      return { ...account, key };
    },
    async close() {
      await database.close();
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
