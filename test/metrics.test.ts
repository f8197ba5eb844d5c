import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createMetrics } from '../src/metrics/metrics.ts';
import { type MetricsServer, serveMetrics } from '../src/metrics/server.ts';
import { createPlans } from '../src/modules/usage/plans.ts';
import { connectBreakable } from './testkit/breakable-database.ts';
import type { Client } from './testkit/client.ts';
import { sendRaw } from './testkit/raw.ts';
import { useService } from './testkit/service.ts';

const plans = createPlans({ free: { stores: null, retrievals: null, requests_per_minute: 2, overage: null } });
const metrics = createMetrics();
const database = connectBreakable(inject('neo4j'));
const service = useService({ metrics, database, plans });
let server: MetricsServer;
let agent: Client;
beforeAll(async () => {
  server = await serveMetrics(metrics.registry, { host: '127.0.0.1', port: 0 });
  agent = await service.newAccount();
});
afterAll(async () => {
  await server.close();
  await database.close();
});

const get = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${server.port}${path}`, { method });

/** Every value by its name with labels. */
async function scrape(): Promise<Map<string, number>> {
  const text = await (await get('/metrics')).text();
  return new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

/** By how much each value has risen through the work. */
async function raisedBy(work: () => Promise<unknown>): Promise<(name: string) => number> {
  const before = await scrape();
  await work();
  const after = await scrape();
  return (name) => {
    expect([...after.keys()], `there is no ${name}`).toContain(name);
    return after.get(name)! - (before.get(name) ?? 0);
  };
}

const request = (method: string, route: string, status: number) =>
  `memory_http_requests_total{method="${method}",route="${route}",status="${status}"}`;

describe('the metrics', () => {
  it('are served at /metrics, in the format of Prometheus, and nothing else is', async () => {
    const response = await get('/metrics');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4');
    for (const [path, method] of [
      ['/', 'GET'],
      ['/memory/list', 'GET'],
      ['/metrics', 'POST'],
    ] as const)
      expect((await get(path, method)).status).toBe(404);
  });

  it('count requests by route and status, and time them', async () => {
    const id = await agent.store('A memory to ask for');
    const raised = await raisedBy(async () => {
      await agent.get(`/memory/${id}`);
      await agent.get('/v1/memory/018f0000-0000-7000-8000-000000000000');
      await agent.send('PUT', `/memory/${id}`);
      await agent.get('/nothing/of/the/kind');
      await agent.send('PROPFIND', '/memory');
      await agent.graphql('{ health { status } }');
      await sendRaw(service.port, 'GET /memory/list HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
      await sendRaw(service.port, 'HELLO\r\n\r\n');
      await agent.get('/memory/%zz');
    });
    expect(raised(request('GET', '/memory/:id', 200))).toBe(1);
    expect(raised(request('GET', '/memory/:id', 404))).toBe(1);
    expect(raised(request('PUT', '/memory/:id', 405))).toBe(1);
    expect(raised(request('GET', 'none', 404))).toBe(1);
    expect(raised(request('other', 'none', 405))).toBe(1);
    expect(raised(request('POST', '/graphql', 200))).toBe(1);
    expect(raised(request('GET', '/memory/list', 401))).toBe(1);
    expect(raised(request('other', 'none', 400))).toBe(1);
    expect(raised(request('GET', 'none', 400))).toBe(1);
    expect(raised('memory_http_request_duration_seconds_count{method="GET",route="/memory/:id"}')).toBe(2);
    expect(raised('memory_http_request_duration_seconds_sum{method="GET",route="/memory/:id"}')).toBeGreaterThan(0);
  });

  it('count calls of the database by outcome, texts that are embedded, and the rows of transactions', async () => {
    const raised = await raisedBy(async () => {
      await Promise.all(['one', 'two', 'three'].map((text) => agent.store(`Number ${text}`)));
      await agent.get('/memory/search', { q: 'a question that was not asked before' });
      await agent.get('/memory/search', { q: 'a question that was not asked before' });
      database.broken = true;
      await agent.get('/memory/search', { q: 'number' });
      database.broken = false;
    });
    expect(raised('memory_database_calls_total{mode="read",outcome="ok"}')).toBeGreaterThanOrEqual(2);
    expect(raised('memory_database_calls_total{mode="read",outcome="internal"}')).toBe(1);
    expect(raised('memory_database_calls_total{mode="write",outcome="ok"}')).toBeGreaterThanOrEqual(1);
    expect(raised('memory_database_call_duration_seconds_count{mode="read"}')).toBeGreaterThanOrEqual(3);
    expect(raised('memory_embedding_duration_seconds_count{kind="passage"}')).toBe(3);
    expect(raised('memory_embedding_duration_seconds_count{kind="query"}'), 'the second time from the cache').toBe(2);
    expect(raised('memory_store_transaction_rows_sum')).toBe(3);
    expect(raised('memory_store_transaction_rows_count')).toBeGreaterThanOrEqual(1);
  });

  it('count the decisions of the limits', async () => {
    const client = await service.newAccount({ plan: 'free' });
    const raised = await raisedBy(async () => {
      for (let time = 0; time < 5; time++) await client.get('/memory/list');
    });
    expect(raised('memory_rate_limit_decisions_total{decision="allowed",where="local"}')).toBe(2);
    expect(raised('memory_rate_limit_decisions_total{decision="refused",where="local"}')).toBe(3);
    expect(raised(request('GET', '/memory/list', 429))).toBe(3);
  });

  it('say what waits, and how the process and its event loop are', async () => {
    const values = await scrape();
    for (const name of ['memory_embedding_queue_length', 'memory_recalls_waiting', 'memory_unembedded', 'memory_http_requests_in_progress'])
      expect(values.get(name), name).toBeGreaterThanOrEqual(0);
    expect(values.get('memory_http_overload_refusals_total')).toBe(0);
    for (const name of ['nodejs_eventloop_lag_p99_seconds', 'process_resident_memory_bytes', 'process_cpu_seconds_total'])
      expect(values.get(name), name).toBeGreaterThan(0);
  });

  it('name patterns and outcomes only: nothing of a caller', async () => {
    const userId = 'canary-user';
    const id = await agent.store({ content: 'canary content', user_id: userId, tags: ['canary'] });
    await agent.get(`/memory/${id}`, { user_id: userId });
    await agent.get('/memory/search', { q: 'canary question' });
    await agent.get('/canary/path');
    await agent.graphql('query Canary { health { status } }');
    const text = await (await get('/metrics')).text();
    for (const canary of [/canary/i, id, agent.key, agent.keyId, agent.account.id, agent.account.name]) expect(text).not.toMatch(canary);
    const series = text.split('\n').filter((line) => line.startsWith('memory_http_requests_total'));
    for (const line of series) expect(line).toMatch(/^\S+\{method="\w+",route="(none|\*|\/[\w/.:-]*)",status="(\d{3}|aborted)"\} \d+$/);
  });

  it('are still served when the database can not be asked', async () => {
    const broken = createMetrics();
    broken.gauge('memory_broken', 'It can not be read.', () => Promise.reject(new Error('away')));
    expect(await broken.registry.metrics()).toContain('memory_broken Nan');
  });

  it('are refused a port that is taken', async () => {
    await expect(serveMetrics(createMetrics().registry, { host: '127.0.0.1', port: server.port })).rejects.toThrow('EADDRINUSE');
  });
});
