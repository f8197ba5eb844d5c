import { connectRedis, type RedisSettings } from './redis.ts';
import { createSharedWindows } from './shared-windows.ts';
import { createLocalWindows, type Taken, type Window } from './windows.ts';

/** Whose requests are counted together, and how many a minute it may send. */
export interface Subject {
  readonly kind: 'key' | 'address';
  readonly id: string;
  readonly limit: number;
}

/** How a subject stands with its limit. */
export interface Allowance {
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds since 1970. */
  readonly resetAt: number;
}

export interface RateLimiter {
  /** Takes that many requests from what the subject has left: all, or none when it has not so many. */
  take(subject: Subject, requests: number): Promise<{ taken: boolean; allowance: Allowance }>;
  look(subject: Subject): Promise<Allowance>;
  readonly redis: () => 'OK' | 'DOWN' | 'OFF';
  close(): void;
}

export interface RateLimiterOptions {
  /** Absent: this process counts alone. */
  readonly redis: RedisSettings | undefined;
  readonly report: (line: string) => void;
  readonly observe: (decision: Pick<Taken, 'taken' | 'where'>) => void;
}

/** Limits in windows of a minute. Never throws, and never waits for a Redis that is away. */
export async function createRateLimiter({ redis: settings, report, observe }: RateLimiterOptions): Promise<RateLimiter> {
  const redis = settings && connectRedis(settings, report);
  const local = createLocalWindows();
  const windows = redis ? createSharedWindows(redis, local) : local;
  await redis?.tried;

  return {
    async take(subject, requests) {
      const taken = await windows.take(nameOf(subject), requests, subject.limit);
      observe(taken);
      return { taken: taken.taken, allowance: allowanceOf(subject, taken) };
    },
    look: async (subject) => allowanceOf(subject, await windows.look(nameOf(subject))),
    redis: () => (redis ? (redis.isThere() ? 'OK' : 'DOWN') : 'OFF'),
    close: () => redis?.close(),
  };
}

function nameOf({ kind, id }: Subject): string {
  return `${kind}:${id}`;
}

function allowanceOf({ limit }: Subject, { used, endsAt }: Window): Allowance {
  return { limit, remaining: Math.max(0, limit - used), resetAt: endsAt };
}
