import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, inject } from 'vitest';
import { type AppDependencies, createApp } from '../../src/app.ts';
import { withCache } from '../../src/embedding/cache.ts';
import { knownCalibrations } from '../../src/embedding/calibration.ts';
import { createLocalEmbedder } from '../../src/embedding/local.ts';
import { connectDatabase, type Database, type DatabaseOptions } from '../../src/graph/database.ts';
import { prepareModel } from '../../src/graph/local/runtime.ts';
import { createMetrics } from '../../src/metrics/metrics.ts';
import { watchEmbedder } from '../../src/metrics/watch.ts';
import { type AccessStore, createAccessStore } from '../../src/modules/access/store.ts';
import { addAccount, addKey, type KeyOptions } from './accounts.ts';
import type { Client } from './client.ts';
import { runtimeDir } from './runtime-dir.ts';

export const DEFAULT_SETTINGS: AppDependencies['settings'] = {
  sessionTtl: 86_400_000,
  requestTimeout: 10_000,
  logLevel: 'silent',
  trustProxy: false,
  corsOrigins: [],
  introspection: true,
  maxConcurrentRequests: 1_000,
};
/** Beyond what tests send without a key, all from one address. */
const ADDRESS_LIMIT = 1_000_000;

/** The service on a port of its own, on the real Neo4j of the test run and the real model. */
export interface TestService {
  readonly url: string;
  readonly port: number;
  readonly app: FastifyInstance;
  readonly database: Database;
  readonly access: AccessStore;
  /** A client of a new account. */
  newAccount(options?: KeyOptions & { plan?: string }): Promise<Client>;
  /** A client with a further key of the same account. */
  newKey(of: Client, options: KeyOptions): Promise<Client>;
  close(): Promise<void>;
}

export async function startService(
  overrides: Omit<Partial<AppDependencies>, 'settings'> & {
    settings?: Partial<AppDependencies['settings']>;
    databaseUri?: string;
    /** A Neo4j of the test's own. */
    neo4j?: DatabaseOptions;
  } = {},
): Promise<TestService> {
  const neo4j = overrides.neo4j ?? inject('neo4j');
  const database = connectDatabase({ ...neo4j, uri: overrides.databaseUri ?? neo4j.uri });
  const metrics = overrides.metrics ?? createMetrics();
  const embedder = overrides.embedder ?? withCache(watchEmbedder(await createLocalEmbedder({ ...(await modelFiles()), workers: 1 }), metrics));
  const app = await createApp({
    database,
    embedder,
    calibration: knownCalibrations[embedder.model]!,
    version: '0.0.0-test',
    addressLimit: ADDRESS_LIMIT,
    metrics,
    ...overrides,
    settings: { ...DEFAULT_SETTINGS, ...overrides.settings },
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const access = createAccessStore(database);

  return {
    url,
    port,
    app,
    database,
    access,
    newAccount: (options) => addAccount(access, url, options),
    newKey: (of, options) => addKey(access, url, of.account, options),
    async close() {
      await app.close();
      await embedder.close();
      await database.close();
    },
  };
}

/** A service for all tests of a file. */
export function useService(overrides: Parameters<typeof startService>[0] = {}): TestService {
  let service: TestService;
  beforeAll(async () => {
    service = await startService(overrides);
  });
  afterAll(() => service.close());
  return new Proxy({} as TestService, { get: (_, name) => service[name as keyof TestService] });
}

export function modelFiles() {
  return prepareModel({ runtimeDir, report: () => undefined, signal: new AbortController().signal });
}
