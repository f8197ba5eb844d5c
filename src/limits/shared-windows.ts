import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { RedisConnection } from './redis.ts';
import { type LocalWindows, type Taken, type Window, WINDOW_SECONDS, windowOf, type Windows } from './windows.ts';

/** Takes all points or none; answers what is used, with the points also when they were not taken. */
const TAKE = `
local used = (redis.call('get', KEYS[1]) or 0) + ARGV[1]
if used <= tonumber(ARGV[3]) then
  redis.call('set', KEYS[1], 0, 'EX', ARGV[2], 'NX')
  redis.call('incrby', KEYS[1], ARGV[1])
end
local left = redis.call('pttl', KEYS[1])
if left < 0 then left = 1000 * ARGV[2] end
return {used, left}`;

/** Raises what is used, and never lowers it: another request may have done the same, and taken points since. */
const RAISE = `
if tonumber(redis.call('get', KEYS[1]) or 0) < tonumber(ARGV[1]) then redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) end`;

/** Milliseconds by which the clocks of two windows may differ. */
const SLACK = 1_000;

/**
 * Windows that all processes on one Redis share. While it is away those of this process go on from where it stood, and when
 * it is back and knows less, because it was started anew or missed something, it learns what this process knows.
 */
export function createSharedWindows(redis: RedisConnection, local: LocalWindows): Windows {
  const limiters = new Map<number, RateLimiterRedis>();

  /** All count in the same windows. */
  function limiterOf(limit: number): RateLimiterRedis {
    let limiter = limiters.get(limit);
    if (!limiter) {
      const options = { points: limit, duration: WINDOW_SECONDS, keyPrefix: `${redis.prefix}:limit`, customIncrTtlLuaScript: TAKE };
      limiters.set(limit, (limiter = new RateLimiterRedis({ ...options, storeClient: redis.client })));
    }
    return limiter;
  }

  async function takeShared(key: string, points: number, limit: number): Promise<Taken> {
    const known = await local.look(key);
    const limiter = limiterOf(limit);
    const taken = await consume(limiter, key, points);
    const before = taken.used - (taken.taken ? points : 0);
    const left = known.endsAt - Date.now() - SLACK;
    if (before >= known.used || left < 1_000) return taken;
    await redis.client.eval(RAISE, 1, limiter.getKey(key), known.used, Math.floor(left));
    return consume(limiter, key, points);
  }

  return {
    async take(key, points, limit) {
      if (redis.isThere())
        try {
          const taken = await takeShared(key, points, limit);
          await local.adopt(key, taken);
          return taken;
        } catch (error) {
          redis.fail(error);
        }
      return local.take(key, points, limit);
    },
    async look(key) {
      if (redis.isThere())
        try {
          return windowOf(await limiterOf(0).get(key));
        } catch (error) {
          redis.fail(error);
        }
      return local.look(key);
    },
  };
}

async function consume(limiter: RateLimiterRedis, key: string, points: number): Promise<Taken> {
  try {
    return { ...windowOf(await limiter.consume(key, points)), taken: true, where: 'redis' };
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal;
    const window: Window = windowOf(refusal);
    return { ...window, used: window.used - points, taken: false, where: 'redis' };
  }
}
