import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectDatabase, type Database, type DatabaseOptions } from '../../src/graph/database.ts';
import { lockDataFolder } from '../../src/graph/local/data-folder.ts';
import { prepareRuntime } from '../../src/graph/local/runtime.ts';
import { startLocalServer } from '../../src/graph/local/server.ts';
import { runtimeDir } from './runtime-dir.ts';

/** A Neo4j that one test file has for itself. */
export interface OwnNeo4j {
  readonly dataDir: string;
  readonly address: DatabaseOptions;
  readonly database: Database;
  close(): Promise<void>;
}

export async function startOwnNeo4j(dataDir = mkdtempSync(join(tmpdir(), 'memory-own-'))): Promise<OwnNeo4j> {
  const folder = await lockDataFolder(dataDir, 'a test');
  const options = { report: () => undefined, signal: new AbortController().signal };
  const server = await startLocalServer({ dataDir, runtime: await prepareRuntime({ runtimeDir, ...options }), heap: '384m', ...options });
  const address = { uri: server.uri, username: server.username, password: server.password, database: 'neo4j' };
  const database = connectDatabase(address);
  return {
    dataDir,
    address,
    database,
    async close() {
      await database.close();
      await server.stop();
      folder.release();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
