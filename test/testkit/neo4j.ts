import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectDatabase } from '../../src/graph/database.ts';
import { prepareRuntime } from '../../src/graph/local/runtime.ts';
import { startLocalServer } from '../../src/graph/local/server.ts';
import { migrate } from '../../src/graph/migrations.ts';
import { createVectorStore } from '../../src/modules/vectors/store.ts';
import { runtimeDir } from './runtime-dir.ts';

/** A server, and how to connect to it. */
export interface Neo4j {
  readonly uri: string;
  readonly username: string;
  readonly password: string;
  readonly database: string;
  close(): Promise<void>;
}

/** A real Neo4j with our schema, on a free port, with a data folder of its own that goes with it. */
export async function startNeo4j(report: (line: string) => void = () => undefined): Promise<Neo4j> {
  const { signal } = new AbortController();
  const dataDir = mkdtempSync(join(tmpdir(), 'memory-test-'));
  const runtime = await prepareRuntime({ runtimeDir, report, signal });
  const server = await startLocalServer({ dataDir, runtime, heap: '1g', report, signal });
  const neo4j = { uri: server.uri, username: server.username, password: server.password, database: 'neo4j' };
  const database = connectDatabase(neo4j);
  await migrate(database, report);
  await createVectorStore(database).createIndex(384);
  await database.close();
  return {
    ...neo4j,
    async close() {
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
