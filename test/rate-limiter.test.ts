import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { networkOf } from '../src/limits/address.ts';
import { createRateLimiter, type RateLimiter, type Subject } from '../src/limits/rate-limiter.ts';
import { hasRedis, startRedis, type TestRedis } from './testkit/redis.ts';
import { startService, useService } from './testkit/service.ts';
import { sendRaw } from './testkit/raw.ts';

const subject = (id: string, limit = 10): Subject => ({ kind: 'key', id, limit });

describe('an address', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::FFFF:cb00:7107', '203.0.113.7'],
    ['0:0:0:0:0:ffff:203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002::9', '2001:db8:1:2::/64'],
    ['2001:db8::', '2001:db8:0:0::/64'],
    ['2001:db8::1:2:3:4:5', '2001:db8:0:1::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::203.0.113.7', '64:ff9b:0:0::/64'],
    ['203.0.113.7:80', null],
    ['unknown', null],
    ['', null],
  ])('%s is counted as %s', (address, network) => expect(networkOf(address)).toBe(network));
});

describe('behind a proxy', () => {
  const service = useService({ settings: { trustProxy: ['127.0.0.1'] }, addressLimit: 100 });
  const from = async (address: string) => {
    const reply = await sendRaw(service.port, `GET /memory/list HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\nConnection: close\r\n\r\n`);
    return Number(reply.headers.get('x-ratelimit-remaining'));
  };

  it('callers are told apart by the address that it names, and what is no address counts as its own', async () => {
    expect(await from('203.0.113.7')).toBe(99);
    expect(await from('203.0.113.8')).toBe(99);
    expect(await from('::ffff:203.0.113.8')).toBe(98);
    expect(await from('2001:db8:1:2::1')).toBe(99);
    expect(await from('2001:db8:1:2:ffff::')).toBe(98);
    expect(await from('2001:db8:1:3::1')).toBe(99);
    expect(await from('nonsense')).toBe(99);
    expect(await from('more nonsense')).toBe(98);
  });
});

describe('counting in this process', () => {
  let limiter: RateLimiter;
  beforeAll(async () => {
    limiter = await createRateLimiter({ redis: undefined, report: () => undefined, observe: () => undefined });
  });
  afterEach(() => void vi.useRealTimers());

  it('lets as many requests through as the limit says, and all again a minute after the first', async () => {
    vi.useFakeTimers();
    const start = Date.now();
    const caller = subject('minute', 3);
    for (const [after, remaining] of [
      [0, 2],
      [30_000, 1],
      [59_999, 0],
    ] as const) {
      vi.setSystemTime(start + after);
      expect(await limiter.take(caller, 1)).toEqual({ taken: true, allowance: { limit: 3, remaining, resetAt: start + 60_000 } });
    }
    expect(await limiter.take(caller, 1)).toEqual({ taken: false, allowance: { limit: 3, remaining: 0, resetAt: start + 60_000 } });
    vi.setSystemTime(start + 60_000);
    expect(await limiter.look(caller)).toEqual({ limit: 3, remaining: 3, resetAt: start + 120_000 });
    expect(await limiter.take(caller, 1)).toEqual({ taken: true, allowance: { limit: 3, remaining: 2, resetAt: start + 120_000 } });
  });

  it('takes several or none', async () => {
    const caller = subject('several');
    await limiter.take(caller, 7);
    expect(await limiter.take(caller, 4)).toMatchObject({ taken: false, allowance: { remaining: 3 } });
    expect(await limiter.take(caller, 3)).toMatchObject({ taken: true, allowance: { remaining: 0 } });
  });

  it('keeps what was used when the plan changes, and lets what was refused count for nothing', async () => {
    for (let request = 0; request < 50; request++) await limiter.take(subject('plan', 10), 1);
    expect(await limiter.take(subject('plan', 30), 1)).toMatchObject({ taken: true, allowance: { limit: 30, remaining: 19 } });
    expect(await limiter.take(subject('plan', 5), 1)).toMatchObject({ taken: false, allowance: { limit: 5, remaining: 0 } });
  });

  it('lets exactly as many through of many at once', async () => {
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => limiter.take(subject('at once'), 1)));
    expect(outcomes.filter(({ taken }) => taken)).toHaveLength(10);
  });

  it('tells keys and addresses of the same name apart', async () => {
    await limiter.take(subject('name'), 1);
    expect(await limiter.take({ kind: 'address', id: 'name', limit: 10 }, 1)).toMatchObject({ allowance: { remaining: 9 } });
  });
});

if (!hasRedis) console.log('Limits that several processes share are not tested: there is no redis-server on the PATH.');

describe.skipIf(!hasRedis)('counting in Redis', () => {
  let redis: TestRedis;
  let limiters: RateLimiter[];
  const lines: string[] = [];
  const decisions: string[] = [];
  const connect = (prefix = 'test') =>
    createRateLimiter({
      redis: { url: redis.url, prefix },
      report: (line) => void lines.push(line),
      observe: ({ taken, where }) => void decisions.push(`${taken ? 'allowed' : 'refused'} ${where}`),
    });
  beforeAll(async () => {
    redis = await startRedis();
    limiters = await Promise.all([connect(), connect()]);
  });
  afterAll(async () => {
    for (const limiter of limiters ?? []) limiter.close();
    await redis?.close();
  });
  const until = (state: 'OK' | 'DOWN') => vi.waitFor(() => expect(limiters.map((limiter) => limiter.redis())).toEqual([state, state]), 10_000);
  const take = (at: number, caller: Subject, requests = 1) => limiters[at]!.take(caller, requests);

  it('is shared by all processes, exactly', async () => {
    const outcomes = await Promise.all(Array.from({ length: 60 }, (_, at) => take(at % 2, subject('shared', 25))));
    expect(outcomes.filter(({ taken }) => taken)).toHaveLength(25);
    expect(
      outcomes
        .filter(({ taken }) => taken)
        .map(({ allowance }) => allowance.remaining)
        .toSorted((a, b) => a - b),
    ).toEqual([...Array(25).keys()]);
    const [one, other] = await Promise.all([limiters[0]!.look(subject('shared', 25)), limiters[1]!.look(subject('shared', 25))]);
    expect([one.remaining, other.remaining]).toEqual([0, 0]);
    expect(Math.abs(one.resetAt - other.resetAt)).toBeLessThan(500);
    expect(decisions).toContain('refused redis');
    expect(decisions).not.toContain('allowed local');
  });

  it('takes several or none, and keeps what was used when the plan changes', async () => {
    await take(0, subject('several'), 7);
    expect(await take(1, subject('several'), 4)).toMatchObject({ taken: false, allowance: { remaining: 3 } });
    expect(await take(0, subject('several'), 3)).toMatchObject({ taken: true, allowance: { remaining: 0 } });
    expect(await take(1, subject('several', 30))).toMatchObject({ taken: true, allowance: { limit: 30, remaining: 19 } });
    expect(await take(1, subject('never', 3), 4)).toMatchObject({ taken: false, allowance: { remaining: 3 } });
  });

  it('ends a window a minute after its first request', async () => {
    await take(0, subject('ends'));
    const key = 'test:limit:key:ends';
    expect(await redis.client.ttl(key)).toBeGreaterThan(55);
    await redis.client.pexpire(key, 1);
    await delay(20);
    // The other process, because this one remembers the window and takes Redis for forgetful.
    expect(await take(1, subject('ends'))).toMatchObject({ allowance: { remaining: 9 } });
  });

  it('keeps services with another prefix apart, and every key has the prefix and an end', async () => {
    const other = await connect('other');
    await take(0, subject('prefix'));
    expect(await other.take(subject('prefix'), 1)).toMatchObject({ allowance: { remaining: 9 } });
    other.close();
    for (const key of await redis.client.keys('*')) {
      expect(key).toMatch(/^(test|other):(limit:(key|address):|probe$)/);
      expect(await redis.client.ttl(key), key).toBeGreaterThan(0);
    }
  });

  it.each([
    ['is killed', () => redis.kill(), () => redis.start()],
    ['stops answering', () => Promise.resolve(redis.freeze()), () => Promise.resolve(redis.thaw())],
  ])('goes on in each process when Redis %s, from where it stood, and in Redis when it is back', async (title, away, back) => {
    const caller = subject(title, 20);
    for (let request = 0; request < 5; request++) await take(0, caller);
    await take(1, caller);
    await away();
    decisions.length = 0;
    // The first to notice waits for the time-out of its command, nobody after it.
    expect(await take(0, caller)).toMatchObject({ taken: true, allowance: { remaining: 14 } });
    expect(await take(1, caller)).toMatchObject({ taken: true, allowance: { remaining: 13 } });
    for (let request = 0; request < 30; request++) await take(0, caller);
    expect(await take(0, caller)).toMatchObject({ taken: false, allowance: { remaining: 0 } });
    expect(limiters.map((limiter) => limiter.redis())).toEqual(['DOWN', 'DOWN']);
    expect(new Set(decisions)).toEqual(new Set(['allowed local', 'refused local']));
    await back();
    await until('OK');
    decisions.length = 0;
    expect(await take(0, caller), 'Redis learns what was used meanwhile').toMatchObject({ taken: false, allowance: { remaining: 0 } });
    expect(await take(1, caller)).toMatchObject({ taken: false, allowance: { remaining: 0 } });
    expect(new Set(decisions)).toEqual(new Set(['refused redis']));
  });

  it('says in one line that Redis is away, and in one that it is back', () => {
    expect(lines.filter((line) => /^Redis does not answer; .*: .+/.test(line))).toHaveLength(4);
    expect(lines.filter((line) => line === 'Redis answers again')).toHaveLength(4);
    expect(lines).toHaveLength(8);
  });

  it('counts in the process while Redis takes no writes', async () => {
    await redis.client.config('SET', 'maxmemory', '1');
    expect(await take(0, subject('full'))).toMatchObject({ taken: true, allowance: { remaining: 9 } });
    expect(limiters[0]!.redis()).toBe('DOWN');
    await redis.client.config('SET', 'maxmemory', '0');
    await until('OK');
    expect(await take(1, subject('full')), 'counted once').toMatchObject({ allowance: { remaining: 9 } });
  });

  it('is the cache of /health, which says degraded while Redis is away, and is no reason to fail', async () => {
    const service = await startService({ settings: { redis: { url: redis.url, prefix: 'service' } } });
    const agent = await service.newAccount();
    const expectHealth = async (cache: string, status: string) => {
      const reply = await agent.get('/health');
      expect(reply.status, reply.story).toBe(200);
      expect(reply.body, reply.story).toMatchObject({ status, checks: { cache } });
      return Number(reply.headers.get('x-ratelimit-remaining'));
    };
    const first = await expectHealth('ok', 'ok');
    expect(await redis.client.keys('service:*')).toEqual([`service:limit:key:${agent.keyId}`]);
    redis.freeze();
    // Those that are under way when it stops answering wait for the time-out of a command.
    const replies = await Promise.all(Array.from({ length: 10 }, () => agent.get('/memory/list')));
    expect(replies.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(await expectHealth('down', 'degraded')).toBe(first - 11);
    redis.thaw();
    await vi.waitFor(() => expectHealth('ok', 'ok'), 10_000);
    await service.close();
  });

  it('starts without a Redis, and takes it when it comes', async () => {
    await redis.kill();
    const late = await connect('late');
    expect(late.redis()).toBe('DOWN');
    expect(await late.take(subject('late'), 1)).toMatchObject({ taken: true, allowance: { remaining: 9 } });
    await redis.start();
    await vi.waitFor(() => expect(late.redis()).toBe('OK'), 10_000);
    expect(await late.take(subject('late'), 1)).toMatchObject({ taken: true, allowance: { remaining: 8 } });
    expect(await redis.client.get('late:limit:key:late')).toBe('2');
    late.close();
  });
});
