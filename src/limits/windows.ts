import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';

/** Seconds of a window; it begins with its first request. */
export const WINDOW_SECONDS = 60;

/** What was used of a window. */
export interface Window {
  readonly used: number;
  /** Milliseconds since 1970. */
  readonly endsAt: number;
}

export interface Taken extends Window {
  /** Whether all points were taken; otherwise none was. */
  readonly taken: boolean;
  readonly where: 'local' | 'redis';
}

/**
 * Windows by key. The limit comes with each call and is not kept, so that a new plan counts at once, and what was used
 * before counts against it.
 */
export interface Windows {
  take(key: string, points: number, limit: number): Promise<Taken>;
  look(key: string): Promise<Window>;
}

export interface LocalWindows extends Windows {
  /** Goes on from what was counted elsewhere. */
  adopt(key: string, window: Window): Promise<void>;
}

/** Windows in this process. */
export function createLocalWindows(): LocalWindows {
  const limiter = new RateLimiterMemory({ points: 0, duration: WINDOW_SECONDS, keyPrefix: '' });
  return {
    async take(key, points, limit) {
      const counted = await limiter.penalty(key, points);
      if (counted.consumedPoints <= limit) return { ...windowOf(counted), taken: true, where: 'local' };
      return { ...windowOf(await limiter.reward(key, points)), taken: false, where: 'local' };
    },
    look: async (key) => windowOf(await limiter.get(key)),
    async adopt(key, { used, endsAt }) {
      // Without a duration it would never end.
      await limiter.set(key, used, Math.max(1, endsAt - Date.now()) / 1_000);
    },
  };
}

/** One that has not begun, or is over, is what it would be if it began now. */
export function windowOf(counted: Pick<RateLimiterRes, 'consumedPoints' | 'msBeforeNext'> | null): Window {
  const isOpen = counted !== null && counted.msBeforeNext > 0;
  return { used: isOpen ? counted.consumedPoints : 0, endsAt: Date.now() + (isOpen ? counted.msBeforeNext : 1_000 * WINDOW_SECONDS) };
}
