import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { generateApiKey } from '../src/modules/access/key.ts';
import { createPlans } from '../src/modules/usage/plans.ts';
import { connectBreakable } from './testkit/breakable-database.ts';
import { Client } from './testkit/client.ts';
import { sendRaw } from './testkit/raw.ts';
import { useService } from './testkit/service.ts';

const CANARY = 'canary-3f9c';
const lines: string[] = [];
const plans = createPlans({ free: { stores: null, retrievals: null, requests_per_minute: 1, overage: null } });
const database = connectBreakable(inject('neo4j'));
const service = useService({ database, plans, settings: { logLevel: 'trace' }, log: { write: (line) => void lines.push(line) } });
afterAll(() => database.close());

let agent: Client;
let stranger: Client;
beforeAll(async () => {
  agent = await service.newAccount();
  stranger = new Client(service.url, generateApiKey(), agent.account, '');
});

const entries = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);
const requests = () => entries().filter(({ msg }) => msg === 'request');
/** The line of the request with this id. */
const lineOf = (requestId: string) =>
  vi.waitFor(() => requests().find((entry) => entry['requestId'] === requestId) ?? Promise.reject(new Error(requestId)));

const raw = (bytes: string) => sendRaw(service.port, bytes);

describe('the log', () => {
  it('has one line for each request, with what an operator needs and nothing more', async () => {
    const common = { level: 30, time: expect.any(Number), pid: expect.any(Number), hostname: expect.any(String), msg: 'request' };
    const mine = { ...common, account: agent.account.id, key: agent.key.slice(0, 8) };
    const milliseconds = expect.any(Number);
    const few = await service.newAccount({ plan: 'free' });
    await few.get('/memory/list');
    for (const [call, expected] of [
      [() => agent.get('/memory/list'), { ...mine, method: 'GET', route: '/memory/list', status: 200, milliseconds }],
      [() => agent.get('/memory/018f0000-0000-7000-8000-000000000000'), { ...mine, method: 'GET', route: '/memory/:id', status: 404, milliseconds }],
      [() => agent.graphql('{ health { status } }'), { ...mine, method: 'POST', route: '/graphql', status: 200, milliseconds }],
      [() => agent.get('/nothing'), { ...mine, method: 'GET', route: null, status: 404, milliseconds }],
      [() => agent.get('/memory/%zz'), { ...mine, method: 'GET', route: null, status: 400, milliseconds }],
      [() => agent.send('POST', '/memory', '{'), { ...mine, method: 'POST', route: '/memory', status: 400, milliseconds }],
      [() => stranger.get('/memory/list'), { ...common, method: 'GET', route: '/memory/list', status: 401, milliseconds }],
      [
        () => few.get('/memory/list'),
        { ...common, account: few.account.id, key: few.key.slice(0, 8), method: 'GET', route: '/memory/list', status: 429, milliseconds },
      ],
      [
        () => raw('GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'),
        { ...common, method: 'GET', route: '/livez', status: 200, milliseconds },
      ],
      [() => raw('HELLO\r\n\r\n'), { ...common, method: null, route: null, status: 400 }],
    ] as const) {
      const { headers } = await call();
      const requestId = headers.get('x-request-id')!;
      expect(await lineOf(requestId)).toEqual({ ...expected, requestId });
      await delay(20);
      expect(requests().filter((entry) => entry['requestId'] === requestId)).toHaveLength(1);
    }
  });

  it('has a line for a request whose client went away', async () => {
    const head = `POST /memory HTTP/1.1\r\nHost: x\r\nX-Request-Id: gone\r\nAuthorization: Bearer ${agent.key}\r\nContent-Type: application/json\r\n`;
    const socket = connect(service.port, '127.0.0.1', () => socket.write(`${head}Expect: 100-continue\r\nContent-Length: 100\r\n\r\n{`));
    // It has begun when it is told to go on.
    await once(socket, 'data');
    socket.destroy();
    expect(await lineOf('gone')).toMatchObject({ method: 'POST', route: '/memory', status: null });
    await delay(100);
    expect(
      entries().filter(({ level }) => Number(level) > 30),
      'that is no fault of ours',
    ).toEqual([]);
  });

  it('never shows a key, a content, a question or a vector, at any level', async () => {
    const headers = { 'x-canary': CANARY, cookie: CANARY, 'user-agent': CANARY, referer: CANARY };
    const json = { 'content-type': 'application/json' };
    const memory = {
      content: `${CANARY} content`,
      user_id: CANARY,
      tags: [CANARY],
      metadata: { [CANARY]: CANARY },
      session_id: CANARY,
      type: CANARY,
    };
    const id = await agent.store(memory);
    const before = lines.length;
    await agent.store(memory);
    await agent.get('/memory/search', { q: CANARY, user_id: CANARY, explain: true });
    await agent.get('/memory/list', { user_id: CANARY, tags: CANARY });
    await agent.send('GET', `/memory/${id}?user_id=${CANARY}`, undefined, headers);
    await agent.patch(`/memory/${id}`, { content: `${CANARY} changed` });
    await agent.graphql(`{ searchMemories(query: "${CANARY}") { count } }`);
    await agent.graphql('query ($q: String!) { searchMemories(query: $q) { hits { memory { content } } } }', { q: CANARY });
    await agent.graphql(`mutation { storeMemory(input: { content: "${CANARY} once more", userId: "${CANARY}" }) { id } }`);
    // Refused and broken ones.
    await agent.post('/memory', { content: '', tier: CANARY, [CANARY]: CANARY });
    await agent.send('POST', '/memory', `{"content":"${CANARY}`, json);
    await agent.send('POST', '/memory', CANARY, { 'content-type': CANARY });
    await agent.post('/memory', { content: CANARY.repeat(100_000) });
    await agent.get(`/${CANARY}`, { [CANARY]: CANARY });
    await agent.get(`/memory/${CANARY}`);
    await agent.get(`/memory/${CANARY}%zz`);
    await agent.send('PUT', `/memory/${CANARY}`, { CANARY });
    await agent.graphql(`{ ${CANARY} }`);
    await agent.graphql(`{ searchMemories(query: "${CANARY}", first: "${CANARY}") { count } }`);
    await stranger.get('/memory/search', { q: CANARY });
    await stranger.send('GET', '/memory/list', undefined, { authorization: `Bearer ${CANARY}` });
    await raw(`${CANARY}\r\n\r\n`);
    await raw(`GET /${CANARY} HTTP/1.1\r\nX-${CANARY} : ${CANARY}\r\n\r\n`);
    // Failures of ours, which are logged in full.
    database.broken = true;
    await agent.get('/memory/search', { q: `${CANARY} broken` });
    await agent.graphql(`{ searchMemories(query: "${CANARY} broken") { count } }`);
    database.broken = false;
    await agent.delete(`/memory/${id}`);

    await vi.waitFor(() => expect(requests().at(-1)).toMatchObject({ method: 'DELETE' }));
    const written = lines.slice(before).join('');
    expect(entries().filter(({ msg }) => msg === 'unexpected error')).toHaveLength(2);
    expect(requests().length).toBeGreaterThan(25);
    for (const secret of [CANARY, agent.key, agent.key.slice(8), stranger.key, stranger.key.slice(8)]) expect(written).not.toContain(secret);
    expect(written, 'numbers as a vector has them').not.toMatch(/(-?0\.\d{4,}[,\s]+){3}/);
  });
});
