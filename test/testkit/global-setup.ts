import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { connectDatabase } from '../../src/graph/database.ts';
import { prepareRuntime } from '../../src/graph/local/runtime.ts';
import { startLocalServer } from '../../src/graph/local/server.ts';
import { migrate } from '../../src/graph/migrations.ts';
import { runtimeDir } from './runtime-dir.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    neo4j: { uri: string; username: string; password: string; database: string };
  }
}

/** One real Neo4j for all tests, on a free port, with a data folder of its own that goes with it. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const { signal } = new AbortController();
  const dataDir = mkdtempSync(join(tmpdir(), 'memory-test-'));
  const report = (line: string) => console.log(line);
  const runtime = await prepareRuntime({ runtimeDir, report, signal });
  const server = await startLocalServer({ dataDir, runtime, heap: '1g', report, signal });
  const neo4j = { uri: server.uri, username: server.username, password: server.password, database: 'neo4j' };
  const database = connectDatabase(neo4j);
  await migrate(database, { dimensions: 384 }, report);
  await database.close();
  project.provide('neo4j', neo4j);
  return async () => {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
}
