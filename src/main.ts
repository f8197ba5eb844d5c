import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { relative } from 'node:path';
import { createApp } from './app.ts';
import { type Config, loadConfig } from './config.ts';
import { deadlineIn } from './deadline.ts';
import { createEmbedder } from './embedding/provider.ts';
import { withDiskGuard } from './graph/disk-guard.ts';
import { migrate } from './graph/migrations.ts';
import { openDatabase } from './graph/open.ts';
import { createMetrics, type Metrics } from './metrics/metrics.ts';
import { type MetricsServer, serveMetrics } from './metrics/server.ts';
import { watchEmbedder } from './metrics/watch.ts';
import { apiKeyFile, bootstrapAccess } from './modules/access/bootstrap.ts';
import { type AccessStore, createAccessStore } from './modules/access/store.ts';
import type { Plans } from './modules/usage/plans.ts';
import { openVectorIndex } from './modules/vectors/opening.ts';
import { createVectorStore } from './modules/vectors/store.ts';
import { VERSION } from './version.ts';
import { warmUp } from './warm-up.ts';

const startedAt = performance.now();
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    if (!stopping.signal.aborted) report('Stopping …');
    stopping.abort(new Error(`stopped by ${signal}`));
  });

try {
  await serve(loadConfig());
} catch (error) {
  if (error !== stopping.signal.reason) {
    console.error(`\nThe memory service can't start: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
process.exit();

/** Runs the service until a signal ends it; then everything that it opened is closed, last opened first. */
async function serve(config: Config): Promise<void> {
  const { signal } = stopping;
  const closers: (() => Promise<unknown>)[] = [];
  try {
    await requireFreePort(config);
    mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
    const opened = await openDatabase(config, { purpose: 'npm start', report, signal });
    closers.push(() => opened.close());
    signal.throwIfAborted();
    const vectors = createVectorStore(opened.database);
    const migrated = migrate(opened.database, report);
    const known = async () => {
      await migrated;
      return (await vectors.readRecord(deadlineIn(30_000)))?.current ?? null;
    };
    const metrics = createMetrics();
    const loading = createEmbedder(config, { known, watch: (embedder) => watchEmbedder(embedder, metrics), report, signal });
    loading.catch(() => undefined);
    closers.push(() => loading.then((embedder) => embedder.close()).catch(() => undefined));
    await migrated;
    const access = createAccessStore(opened.database);
    await requireKnownPlans(access, config.plans);
    const { newKey } = await bootstrapAccess(access, { dataDir: config.dataDir, givenKey: config.bootstrapApiKey, report });
    const embedder = await loading;
    signal.throwIfAborted();
    const calibration = await openVectorIndex(vectors, embedder, { report, signal });

    const app = await createApp({
      database: opened.disk ? withDiskGuard(opened.database, opened.disk) : opened.database,
      disk: opened.disk,
      embedder,
      calibration,
      version: VERSION,
      plans: config.plans,
      metrics,
      settings: config,
    });
    closers.push(() => app.close());
    signal.throwIfAborted();
    await app.listen({ port: config.port, host: config.host });
    const metricsServer = await openMetrics(metrics, config);
    if (metricsServer) closers.push(() => metricsServer.close());
    greet(app.server.address(), config, newKey);
    const warming = warmUp(opened.database, embedder).catch((error: unknown) => app.log.debug({ err: error }, 'warming up failed'));
    closers.push(() => warming);
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    for (const close of closers.reverse())
      await close().catch((error: unknown) => {
        console.error('Something did not stop as it should:', error);
        process.exitCode = 1;
      });
  }
}

/** The service is worth more than its metrics, so it also runs without them. */
async function openMetrics({ registry }: Metrics, { metrics }: Config): Promise<MetricsServer | null> {
  if (!metrics) return null;
  return serveMetrics(registry, metrics).catch((error: unknown) => {
    report(`There are no metrics: ${(error as Error).message}. METRICS_PORT names another port (0: none), METRICS_HOST another address.`);
    return null;
  });
}

/** Asked before anything is started, because the answer takes a moment and Neo4j half a minute. */
async function requireFreePort({ port, host }: Config): Promise<void> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(
              `port ${port} on ${host} is taken by another program, or by this service started before. End that, or choose another port: PORT=${port + 1} npm start`,
            )
          : new Error(`HOST ${host}, PORT ${port} can't be listened on: ${error.message}`),
      ),
    );
    probe.listen(port, host, () => probe.close(() => resolve()));
  });
}

/** An account whose plan nobody knows would otherwise get the limits of another one. */
async function requireKnownPlans(access: AccessStore, plans: Plans): Promise<void> {
  const others = await access.findOtherPlans(plans.names, deadlineIn(30_000));
  if (others.length === 0) return;
  const accounts = others.map(({ name, plan }) => `'${name}' has the plan '${plan}'`).join(', ');
  throw new Error(
    `the plans are ${plans.names.join(', ')}, but the account ${accounts}. Put the plan into PLANS_FILE, or give the account another one: npm run accounts -- plan NAME PLAN`,
  );
}

function greet(bound: ReturnType<ReturnType<typeof createServer>['address']>, config: Config, newKey: string | null): void {
  const port = bound !== null && typeof bound === 'object' ? bound.port : config.port;
  const host = ['0.0.0.0', '::', '127.0.0.1'].includes(config.host) ? 'localhost' : config.host;
  const address = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const fromHere = relative(process.cwd(), apiKeyFile(config.dataDir));
  const file = fromHere.startsWith('..') ? apiKeyFile(config.dataDir) : fromHere;
  const isKept = existsSync(apiKeyFile(config.dataDir));
  console.log(`
The memory service ${VERSION} is ready (${((performance.now() - startedAt) / 1000).toFixed(1)} s).

  REST      ${address} (described by ${address}/openapi.json)
  GraphQL   ${address}/graphql
  Browser   ${address}/graphiql, ${address}/docs (API reference)
  API key   ${newKey ? `${newKey}  (shown once; kept in ${file})` : isKept ? `in ${file}; more: npm run keys -- create` : 'npm run keys -- create'}

Store a memory:
  curl ${address}/memory -H "Authorization: Bearer ${isKept ? `$(cat ${file})` : '<API_KEY>'}" -H "Content-Type: application/json" -d '{"content":"Maya prefers window seats"}'
`);
}

function report(line: string): void {
  console.log(line);
}
