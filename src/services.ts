import type { FastifyBaseLogger } from 'fastify';
import { startBackground } from './background/background.ts';
import type { Caller, Context } from './context.ts';
import { deadlineIn } from './deadline.ts';
import type { Calibration } from './embedding/calibration.ts';
import type { Embedder } from './embedding/embedder.ts';
import { withServiceErrors } from './embedding/guarded.ts';
import type { Database } from './graph/database.ts';
import type { DiskWatch } from './graph/local/disk.ts';
import { createMetrics, type Metrics } from './metrics/metrics.ts';
import { type Authenticator, createAuthenticator } from './modules/access/authenticator.ts';
import { createAuditLog } from './modules/access/audit-log.ts';
import { createKeyUses } from './modules/access/key-uses.ts';
import { createAccessService } from './modules/access/service.ts';
import { createAccessStore } from './modules/access/store.ts';
import { createHealthService, type HealthService } from './modules/health/service.ts';
import { createMemoryLoaders } from './modules/memory/loaders.ts';
import { createSerialQueue } from './serial-queue.ts';
import { createMemoryService } from './modules/memory/service.ts';
import { createMemoryStore } from './modules/memory/store.ts';
import { type Batching, createMemoryWriter } from './modules/memory/writer.ts';
import { createRecallCounter } from './modules/recall/recall-counter.ts';
import { createRecallService } from './modules/recall/service.ts';
import { createRecallStore } from './modules/recall/store.ts';
import { createEmbeddingQueue } from './modules/vectors/embedding-queue.ts';
import { createRetrievalMeter, type RetrievalMeter } from './modules/usage/meter.ts';
import type { Plans } from './modules/usage/plans.ts';
import { createUsageService } from './modules/usage/service.ts';
import { createUsageStore } from './modules/usage/store.ts';
import { createVectorStore } from './modules/vectors/store.ts';

export interface ServiceDependencies {
  readonly database: Database;
  /** Of the database, when the service can see it. */
  readonly disk?: Pick<DiskWatch, 'shortage'> | null;
  readonly embedder: Embedder;
  readonly calibration: Calibration;
  readonly version: string;
  /** The clock, in milliseconds since 1970. */
  readonly now?: () => number;
  readonly batching?: Batching;
  readonly plans: Plans;
  readonly metrics?: Metrics;
  /** The state of Redis; absent: OFF. */
  readonly redis?: () => 'OK' | 'DOWN' | 'OFF';
  /** Milliseconds until a tier 1 memory without an expiry of its own is gone. */
  readonly sessionTtl: number;
  readonly logger: FastifyBaseLogger;
}

/** Milliseconds that whoever asks for the metrics waits for the database at most. */
const SCRAPE_MILLISECONDS = 1_000;

/** Everything behind the adapters. */
export interface Services {
  readonly authenticator: Authenticator;
  readonly health: HealthService;
  readonly meter: RetrievalMeter;
  /** What the resolvers get for one caller. */
  contextFor(caller: Caller): Context;
  /** Ends the work off the request path and waits for the writes under way. The database and the embedder stay open. */
  close(): Promise<void>;
}

/** Builds everything behind the adapters and starts the background work; `close` ends it. */
export function createServices({
  database,
  disk = null,
  embedder: rawEmbedder,
  calibration,
  version,
  now = Date.now,
  batching,
  plans,
  sessionTtl,
  metrics = createMetrics(),
  redis = () => 'OFF',
  logger,
}: ServiceDependencies): Services {
  const embedder = withServiceErrors(rawEmbedder);
  const memoryStore = createMemoryStore(database);
  const writer = createMemoryWriter(memoryStore, now, batching, metrics.observeTransaction);
  const counter = createRecallCounter((rows, deadline) => memoryStore.addRecalls(rows, deadline));
  const accessStore = createAccessStore(database);
  const keyUses = createKeyUses((uses, deadline) => accessStore.noteUses(uses, deadline), now);
  const accessDependencies = { store: accessStore, auditLog: createAuditLog(database), plans, now };
  const usageStore = createUsageStore(database);
  const meter = createRetrievalMeter(usageStore, now);
  const usageDependencies = { store: usageStore, meter, plans, now };
  const memoryDependencies = { store: memoryStore, writer, embedder, queue: createSerialQueue(), plans, now, sessionTtl };
  const recallDependencies = { store: createRecallStore(database), embedder, calibration, counter, now };
  const health = createHealthService({ database, disk, embedder: rawEmbedder, redis, version });
  const vectorStore = createVectorStore(database);
  const embeddingQueue = createEmbeddingQueue(vectorStore, rawEmbedder);
  const background = startBackground({ sweeps: [memoryStore, usageStore], counter, meter, keyUses, embeddingQueue, now, logger });

  metrics.gauge('memory_recalls_waiting', 'Memories whose recalls are counted and not yet written.', () => counter.waiting());
  metrics.gauge('memory_unembedded', 'Memories that were stored while the model was away and wait to be embedded.', () =>
    vectorStore.countUnembedded(deadlineIn(SCRAPE_MILLISECONDS)),
  );

  return {
    authenticator: createAuthenticator(accessStore, keyUses),
    health,
    meter,
    contextFor(caller) {
      const memories = createMemoryService(memoryDependencies, caller);
      return {
        ...caller,
        now,
        memories,
        recall: createRecallService(recallDependencies, caller, memories),
        usage: createUsageService(usageDependencies, caller),
        access: createAccessService(accessDependencies, caller),
        health,
        loaders: createMemoryLoaders(memories),
      };
    },
    async close() {
      await background.stop();
      await writer.drain();
    },
  };
}
