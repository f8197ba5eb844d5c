import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, inject } from 'vitest';
import { type AppDependencies, createApp } from '../../src/app.ts';
import { deadlineIn } from '../../src/deadline.ts';
import { withCache } from '../../src/embedding/cache.ts';
import { knownCalibrations } from '../../src/embedding/calibration.ts';
import { createLocalEmbedder } from '../../src/embedding/local.ts';
import { connectDatabase, type Database, type DatabaseOptions } from '../../src/graph/database.ts';
import { prepareModel } from '../../src/graph/local/runtime.ts';
import { createMetrics } from '../../src/metrics/metrics.ts';
import { watchEmbedder } from '../../src/metrics/watch.ts';
import { generateApiKey, hashApiKey, hintOf } from '../../src/modules/access/key.ts';
import type { Scope } from '../../src/modules/access/principal.ts';
import { type AccessStore, createAccessStore } from '../../src/modules/access/store.ts';
import { Client } from './client.ts';
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

export interface KeyOptions {
  readonly scopes?: readonly Scope[];
  readonly userId?: string | null;
  readonly expiresAt?: number | null;
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

  async function newKeyIn(
    account: { id: string; name: string },
    { scopes = ['admin'], userId = null, expiresAt = null }: KeyOptions,
  ): Promise<Client> {
    const key = generateApiKey();
    const id = uuid();
    await access.createKey(
      account.name,
      { id, hash: hashApiKey(key), hint: hintOf(key), name: null, scopes, userId, createdAt: Date.now(), expiresAt },
      deadlineIn(30_000),
    );
    return new Client(url, key, account, id);
  }

  return {
    url,
    port,
    app,
    database,
    access,
    async newAccount(options = {}) {
      const account = { id: uuid(), name: `test-${uuid()}`, plan: options.plan ?? 'self_hosted' };
      await access.createAccount(account, Date.now(), deadlineIn(30_000));
      return newKeyIn(account, options);
    },
    newKey: (of, options) => newKeyIn(of.account, options),
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
