import type { FastifyBaseLogger } from 'fastify';
import { type Deadline, deadlineIn } from '../deadline.ts';
import type { EmbeddingQueue } from '../modules/vectors/embedding-queue.ts';
import type { KeyUses } from '../modules/access/key-uses.ts';
import type { RecallCounter } from '../modules/recall/recall-counter.ts';
import type { RetrievalMeter } from '../modules/usage/meter.ts';

/** Erases what has had its time, up to `limit` of each kind at once. */
interface Sweep {
  sweep(request: { now: number; commitsBefore: number; limit: number }, deadline: Deadline): Promise<{ finished: boolean }>;
}

export interface BackgroundDependencies {
  readonly sweeps: readonly Sweep[];
  readonly counter: RecallCounter;
  readonly meter: RetrievalMeter;
  readonly keyUses: KeyUses;
  readonly embeddingQueue: EmbeddingQueue;
  readonly now: () => number;
  readonly logger: Pick<FastifyBaseLogger, 'warn' | 'info'>;
}

const SWEEP_EVERY = 60_000;
const FLUSH_EVERY = 5_000;
const METER_EVERY = 1_000;
const EMBED_EVERY = 1_000;
/** A write's record is needed only as long as its transaction may be repeated, which is seconds. */
const COMMITS_KEPT = 3_600_000;
const SWEPT_AT_ONCE = 1_000;

/** Work that no request waits for: erasing what has expired, embedding what could not be, and writing what was counted: recalls, retrievals and the uses of keys. */
export function startBackground({ sweeps, counter, meter, keyUses, embeddingQueue, now, logger }: BackgroundDependencies): { stop(): Promise<void> } {
  let stopping = false;
  const tasks = [
    every(FLUSH_EVERY, 'counting recalls', () => counter.flush()),
    every(FLUSH_EVERY, 'noting when keys were used', () => keyUses.flush()),
    every(METER_EVERY, 'counting retrievals', () => meter.flush()),
    every(EMBED_EVERY, 'embedding what was stored while the model was away', async () => {
      const count = await embeddingQueue.work(() => stopping);
      if (count > 0) logger.info({ count }, 'embedded memories that were stored while the model was away');
    }),
    every(SWEEP_EVERY, 'erasing expired memories', async () => {
      const request = () => ({ now: now(), commitsBefore: now() - COMMITS_KEPT, limit: SWEPT_AT_ONCE });
      for (const sweep of sweeps) while (!stopping && !(await sweep.sweep(request(), deadlineIn(30_000))).finished);
    }),
  ];

  function every(milliseconds: number, title: string, work: () => Promise<void>) {
    let running: Promise<void> | undefined;
    let failing = false;
    const attempt = () => {
      // A tick that finds the one before still running leaves it to that.
      running ??= work()
        .then(() => void (failing = false))
        .catch((error: unknown) => {
          // Said once, and not with every tick until it works again.
          if (!failing) logger.warn({ err: error }, `${title} failed; it is tried again`);
          failing = true;
        })
        .finally(() => (running = undefined));
    };
    const timer = setInterval(attempt, milliseconds);
    timer.unref();
    return { timer, running: () => running };
  }

  return {
    async stop() {
      stopping = true;
      for (const { timer } of tasks) clearInterval(timer);
      for (const { running } of tasks) await running();
      await counter.flush().catch((error: unknown) => logger.warn({ err: error }, 'counting recalls failed at shutdown'));
      await meter.close().catch((error: unknown) => logger.warn({ err: error }, 'counting retrievals failed at shutdown'));
      await keyUses.flush().catch((error: unknown) => logger.warn({ err: error }, 'noting when keys were used failed at shutdown'));
    },
  };
}
