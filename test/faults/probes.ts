import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '../testkit/client.ts';

const PATHS = ['/livez', '/readyz', '/health'] as const;

/** One look at the service as an operator's tools take it. */
export interface Probe {
  readonly path: (typeof PATHS)[number];
  /** By performance.now(). */
  readonly startedAt: number;
  readonly milliseconds: number;
  /** 0 when there was no answer. */
  readonly status: number;
  readonly body: any;
}

const EVERY = 100;

/** Asks how the service is, over and over, until it is stopped. */
export function startProbes(client: Client): { readonly seen: readonly Probe[]; stop(): Promise<unknown> } {
  const seen: Probe[] = [];
  let stopping = false;
  const asking = Promise.all(
    PATHS.map(async (path) => {
      for (; !stopping; await delay(EVERY)) {
        const startedAt = performance.now();
        const reply = await client.get(path).catch(() => null);
        seen.push({ path, startedAt, milliseconds: performance.now() - startedAt, status: reply?.status ?? 0, body: reply?.body });
      }
    }),
  );
  return {
    seen,
    stop() {
      stopping = true;
      return asking;
    },
  };
}
