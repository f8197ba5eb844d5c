import { setTimeout as delay } from 'node:timers/promises';

/** What a load has seen: every call was answered as it should be, or the load throws. */
export interface Load {
  /** Milliseconds of each call. */
  readonly latencies: readonly number[];
  readonly seconds: number;
}

/** `clients` callers, each with one call after the other, for `seconds`. */
export async function load(clients: number, seconds: number, call: () => Promise<unknown>): Promise<Load> {
  const startedAt = performance.now();
  const latencies: number[] = [];
  const caller = async () => {
    for (let calledAt = performance.now(); calledAt - startedAt < 1_000 * seconds; calledAt = performance.now()) {
      await call();
      latencies.push(performance.now() - calledAt);
    }
  };
  await Promise.all(Array.from({ length: clients }, caller));
  return { latencies, seconds: (performance.now() - startedAt) / 1_000 };
}

/** `rate` calls a second at even times, however long their answers take, for `seconds`; each is told when it was due, by performance.now(). */
export async function pace(rate: number, seconds: number, call: (dueAt: number) => Promise<unknown>): Promise<Load> {
  const startedAt = performance.now();
  const latencies: number[] = [];
  const calls: Promise<void>[] = [];
  for (let count = 0; count < rate * seconds; count++) {
    const calledAt = startedAt + (1_000 * count) / rate;
    await delay(Math.max(0, calledAt - performance.now()));
    calls.push(call(calledAt).then(() => void latencies.push(performance.now() - calledAt)));
  }
  await Promise.all(calls);
  return { latencies, seconds: (performance.now() - startedAt) / 1_000 };
}

/** As if they had been one. */
export function together(loads: readonly Load[]): Load {
  return { latencies: loads.flatMap(({ latencies }) => latencies), seconds: loads.reduce((sum, { seconds }) => sum + seconds, 0) };
}

/** Calls a second. */
export function rateOf({ latencies, seconds }: Load): number {
  return latencies.length / seconds;
}

/** Every item once, `width` at a time. */
export async function inParallel<Item>(width: number, items: Iterable<Item>, work: (item: Item) => Promise<unknown>): Promise<void> {
  const waiting = items[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (let next = waiting.next(); !next.done; next = waiting.next()) await work(next.value);
    }),
  );
}
