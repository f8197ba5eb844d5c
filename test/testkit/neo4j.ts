import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectDatabase, type Database, type DatabaseOptions } from '../../src/graph/database.ts';
import { lockDataFolder } from '../../src/graph/local/data-folder.ts';
import { prepareRuntime } from '../../src/graph/local/runtime.ts';
import { startLocalServer } from '../../src/graph/local/server.ts';
import { migrate } from '../../src/graph/migrations.ts';
import { buildIndex } from '../../src/modules/vectors/opening.ts';
import { createVectorStore } from '../../src/modules/vectors/store.ts';
import { runtimeDir } from './runtime-dir.ts';

/** A real Neo4j on a free port, without a schema. */
export interface Neo4j {
  readonly dataDir: string;
  readonly address: DatabaseOptions;
  readonly database: Database;
  /** Stops it and removes its data. */
  close(): Promise<void>;
}

export interface Neo4jOptions {
  readonly dataDir?: string;
  readonly heap?: string;
  readonly report?: (line: string) => void;
}

export async function startNeo4j({ dataDir, heap = '384m', report = () => undefined }: Neo4jOptions = {}): Promise<Neo4j> {
  const folder = dataDir ?? mkdtempSync(join(tmpdir(), 'memory-test-'));
  const lock = await lockDataFolder(folder, 'a test');
  const options = { report, signal: new AbortController().signal };
  const server = await startLocalServer({ dataDir: folder, runtime: await prepareRuntime({ runtimeDir, ...options }), heap, ...options });
  const address = { uri: server.uri, username: server.username, password: server.password, database: 'neo4j' };
  const database = connectDatabase(address);
  return {
    dataDir: folder,
    address,
    database,
    async close() {
      await database.close();
      await server.stop();
      lock.release();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Gives it what a first start of the service with the local model does. */
export async function setUpSchema({ database }: Pick<Neo4j, 'database'>, report: (line: string) => void = () => undefined): Promise<void> {
  await migrate(database, report);
  await buildIndex(createVectorStore(database), 384, { report, signal: new AbortController().signal });
}
