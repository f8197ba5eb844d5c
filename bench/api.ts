// The service's API in a process of its own, as main.ts makes it, on a database that is given. Started by service.ts.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { AddressInfo } from 'node:net';
import { createApp } from '../src/app.ts';
import { withCache } from '../src/embedding/cache.ts';
import { knownCalibrations } from '../src/embedding/calibration.ts';
import { createLocalEmbedder } from '../src/embedding/local.ts';
import { connectDatabase, type DatabaseOptions } from '../src/graph/database.ts';
import type { Batching } from '../src/modules/memory/writer.ts';
import { createPlans } from '../src/modules/usage/plans.ts';
import { warmUp } from '../src/warm-up.ts';
import { DEFAULTS } from './graph.ts';
import { createReadyMadeEmbedder } from './ready-made.ts';

export interface ApiOptions {
  readonly address: DatabaseOptions;
  /** The files of the local model; null for ready-made vectors. */
  readonly model: { readonly modelPath: string; readonly tokenizerPath: string } | null;
  readonly batching?: Batching | undefined;
  readonly maxConcurrentRequests?: number | undefined;
}

/** Milliseconds that the event loop was late for a timer since the message before. */
export interface EventLoopDelay {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** A benchmark sends more requests than anybody may. */
const plans = createPlans({ self_hosted: { stores: null, retrievals: null, requests_per_minute: 1_000_000_000, overage: null } });
const EVERY = 1;
const delay = monitorEventLoopDelay({ resolution: EVERY });

process.once('message', (options: ApiOptions) => void serve(options));
process.once('disconnect', () => process.exit());

async function serve({ address, model, batching, maxConcurrentRequests = DEFAULTS.maxConcurrentRequests }: ApiOptions): Promise<void> {
  const database = connectDatabase(address);
  const embedder = withCache(model ? await createLocalEmbedder(model) : createReadyMadeEmbedder());
  const app = await createApp({
    database,
    embedder,
    calibration: knownCalibrations[embedder.model]!,
    version: 'bench',
    plans,
    settings: { ...DEFAULTS, maxConcurrentRequests },
    ...(batching ? { batching } : {}),
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  // As in main.ts, where it is no reason not to start.
  await warmUp(database, embedder).catch((error: unknown) => console.error(error));
  delay.enable();
  process.on('message', () => {
    process.send!(delayNow());
    delay.reset();
  });
  process.send!((app.server.address() as AddressInfo).port);
}

function delayNow(): EventLoopDelay {
  const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - EVERY);
  return { p50: late(delay.percentile(50)), p99: late(delay.percentile(99)), max: late(delay.max) };
}
