import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connectDatabase, type Database } from '../../src/graph/database.ts';
import { findLocalServer } from '../../src/graph/local/server.ts';
import { Client } from '../testkit/client.ts';
import { DIMENSIONS, embeddingBy, startEmbeddingServer } from '../testkit/embedding-server.ts';
import { startNeo4j } from '../testkit/neo4j.ts';
import { environmentWith, freePort, READY, start, type Started } from '../testkit/npm-start.ts';

/** A process that is killed and comes back, while clients use the service. */
export interface Victim {
  readonly name: 'api' | 'neo4j';
  readonly client: Client;
  /** Neo4j itself. */
  readonly database: Database;
  /** SIGKILL; settles when the service is ready again. */
  kill(): Promise<void>;
  close(): Promise<void>;
}

/** Milliseconds into a start in which the service is killed once more, and how often. */
const EARLY = 1_500;
const OFTEN = 0.2;

/** The service, on a Neo4j that stays. */
export async function startApi(): Promise<Victim> {
  const neo4j = await startNeo4j({ heap: '512m' });
  const embedder = await startEmbeddingServer({ dimensions: DIMENSIONS });
  const dataDir = newFolder();
  const service = await serviceOn(dataDir, {
    ...embeddingBy(embedder.url),
    NEO4J_URI: neo4j.address.uri,
    NEO4J_PASSWORD: neo4j.address.password,
  });
  return {
    name: 'api',
    client: service.client,
    database: neo4j.database,
    async kill() {
      await service.kill();
      while (Math.random() < OFTEN) {
        service.begin();
        await delay(EARLY * Math.random());
        await service.kill();
      }
      await service.begin().printed(READY);
    },
    async close() {
      await service.stop();
      await embedder.close();
      await neo4j.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** The Neo4j that the service runs itself, and starts again. */
export async function startNeo4jOfService(): Promise<Victim> {
  const embedder = await startEmbeddingServer({ dimensions: DIMENSIONS });
  const dataDir = newFolder();
  const service = await serviceOn(dataDir, embeddingBy(embedder.url));
  const server = (await findLocalServer(dataDir))!;
  const database = connectDatabase({ ...server, database: 'neo4j' });
  let { pid, uri } = server;
  return {
    name: 'neo4j',
    client: service.client,
    database,
    async kill() {
      process.kill(pid, 'SIGKILL');
      for (const end = performance.now() + 240_000; ; await delay(200)) {
        const found = await findLocalServer(dataDir);
        if (found && found.pid !== pid && (await service.client.get('/readyz')).status === 200) {
          if (found.uri !== uri) database.moveTo((uri = found.uri));
          pid = found.pid;
          return;
        }
        if (performance.now() > end) throw new Error(`The service does not bring its Neo4j back:\n${service.output()}`);
      }
    },
    async close() {
      await database.close();
      await service.stop();
      await embedder.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

const newFolder = () => mkdtempSync(join(tmpdir(), 'memory-kill-'));

/** The service on one port, ready. */
async function serviceOn(dataDir: string, environment: Record<string, string>) {
  const port = await freePort();
  let running: Started;
  const begin = () => (running = start(environmentWith({ PORT: String(port), DATA_DIR: dataDir, ...environment })));
  begin();
  await running!.printed(READY);
  const key = readFileSync(join(dataDir, 'api-key'), 'utf8').trim();
  return {
    client: new Client(`http://127.0.0.1:${port}`, key, { id: '', name: 'default' }, ''),
    begin,
    output: () => running.output(),
    kill: () => running.kill('SIGKILL'),
    stop: () => running.kill('SIGTERM'),
  };
}
