import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import fastify from 'fastify';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { connectDatabase } from '../src/graph/database.ts';
import { admitAtMost } from '../src/limits/admission.ts';
import type { Client, Reply } from './testkit/client.ts';
import { sendRaw } from './testkit/raw.ts';
import { useService } from './testkit/service.ts';

const LIMIT = 3;
const database = connectDatabase(inject('neo4j'));
/** While there is one, lists wait for it. */
let gate: Promise<void> | undefined;
let open: () => void = () => undefined;
let waiting = 0;

const service = useService({
  database: {
    ...database,
    async read(statement, ...rest) {
      if (gate && statement.includes(':Memory') && !statement.includes('Unembedded')) {
        waiting++;
        await gate.finally(() => waiting--);
      }
      return database.read(statement, ...rest);
    },
  },
  settings: { maxConcurrentRequests: LIMIT },
});
let agent: Client;
let id: string;
const sockets: Socket[] = [];
beforeAll(async () => {
  agent = await service.newAccount();
  id = await agent.store('A memory to ask for');
});
afterEach(() => {
  open();
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(() => database.close());

function shut(): void {
  gate = new Promise((resolve) => {
    open = () => {
      gate = undefined;
      resolve();
    };
  });
}

/** One statement. */
const list = () => agent.get('/memory/list', { count_only: true });
const allWait = () => vi.waitFor(() => expect(waiting).toBe(LIMIT), 5_000);

function openSocket(bytes: string): Socket {
  const socket = connect(service.port, '127.0.0.1', () => socket.write(bytes));
  socket.on('error', () => undefined);
  sockets.push(socket);
  return socket;
}
const head = (line: string, client = agent) => `${line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${client.key}\r\n`;

/** Expects that as many as may are worked on at once, and no more: whatever came before has left its place. */
async function expectExactly() {
  shut();
  const calls = Array.from({ length: 20 }, list);
  const refused = await new Promise<Reply[]>((resolve) => {
    const replies: Reply[] = [];
    for (const call of calls)
      void call.then((reply) => {
        if (replies.push(reply) === calls.length - LIMIT) resolve(replies);
      });
  });
  expect(refused.map(({ status }) => status)).toEqual(Array(calls.length - LIMIT).fill(503));
  expect(waiting).toBe(LIMIT);
  open();
  const statuses = (await Promise.all(calls)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(LIMIT);
}

describe('beyond what is worked on at once', () => {
  it('requests are refused at once, with when to come again, and others go on', async () => {
    await expectExactly();
    shut();
    const served = Array.from({ length: LIMIT }, list);
    await allWait();
    for (const reply of [
      await list(),
      await agent.post('/memory', { content: 'Not now' }),
      await agent.get('/nothing'),
      await agent.send('PUT', '/memory'),
    ]) {
      expect(reply.status, reply.story).toBe(503);
      expect(reply.body, reply.story).toMatchObject({ code: 'unavailable', error: expect.stringContaining('more to do') });
      expect(reply.headers.get('retry-after'), reply.story).toBe('1');
      expect(reply.headers.get('x-ratelimit-limit'), 'that of its key').toBe('60000');
    }
    const graphql = await agent.graphql('{ __typename }');
    expect(graphql.status, graphql.story).toBe(503);
    expect(graphql.body.errors, graphql.story).toMatchObject([{ extensions: { code: 'UNAVAILABLE', status: 503 } }]);
    open();
    for (const reply of await Promise.all(served)) expect(reply.status, reply.story).toBe(200);
    expect((await agent.found('Not now', { min_score: 0.95 })).length).toBe(0);
  });

  it.each(['/livez', '/readyz', '/', '/docs', '/assets/page.css', '/openapi.json', '/graphql'])('%s is served all the same', async (path) => {
    shut();
    const served = Array.from({ length: LIMIT }, list);
    await allWait();
    const reply = await sendRaw(service.port, `GET ${path} HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\nConnection: close\r\n\r\n`);
    expect(reply.status, reply.story).toBe(200);
    open();
    await Promise.all(served);
  });
});

describe('a place', () => {
  it('is given back whatever the answer is', async () => {
    for (const call of [
      list,
      () => agent.get('/memory/search'),
      () => agent.get('/nothing'),
      () => agent.send('PUT', '/memory/list'),
      () => agent.send('POST', '/memory', '{'),
      () => agent.send('POST', '/memory', 'x'.repeat(1024 * 1024 + 1)),
      () => agent.send('GET', `/memory/${id}`, undefined, { 'if-none-match': '*' }),
      () => agent.send('HEAD', '/memory/list'),
      () => agent.graphql('{ memories { totalCount } }'),
      () => agent.graphql('{'),
      () => sendRaw(service.port, `GET /memory/list HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
      () => sendRaw(service.port, 'HELLO\r\n\r\n'),
    ])
      for (let time = 0; time <= LIMIT; time++) {
        const reply = await call();
        expect(reply.status, reply.story).not.toBe(503);
      }
    await expectExactly();
  });

  it('is not taken by who has not sent the whole body', async () => {
    for (let time = 0; time < 2 * LIMIT; time++)
      openSocket(`${head('POST /memory')}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"content":`);
    await vi.waitFor(async () => expect(await connections()).toBeGreaterThanOrEqual(2 * LIMIT));
    await expectExactly();
    for (const socket of sockets.splice(0)) socket.destroy();
    await expectExactly();
  });

  it('is not kept by who does not read the answer', async () => {
    const owner = await service.newAccount();
    const metadata = { long: 'x'.repeat(16_000) };
    for (let at = 0; at < 40; at++) await owner.store({ content: `Number ${at}`, metadata });
    // More than the buffers of a connection hold.
    const query = encodeURIComponent(`{ ${Array.from({ length: 20 }, (_, at) => `a${at}: memories(first: 40) { nodes { metadata } }`).join(' ')} }`);
    for (let time = 0; time < 2 * LIMIT; time++) {
      const socket = openSocket(`${head(`GET /graphql?query=${query}`, owner)}Apollo-Require-Preflight: true\r\n\r\n`);
      await once(socket, 'readable');
    }
    await expectExactly();
  });

  it('is kept for one who has gone away as long as the work goes on, and no longer', async () => {
    const others = await connections();
    shut();
    for (let time = 0; time < LIMIT; time++) openSocket(`${head('GET /memory/list?count_only=true')}\r\n`);
    await allWait();
    for (const socket of sockets.splice(0)) socket.destroy();
    await vi.waitFor(async () => expect(await connections()).toBeLessThanOrEqual(others));
    const reply = await list();
    expect(reply.status, reply.story).toBe(503);
    open();
    await vi.waitFor(async () => expect((await list()).status).toBe(200));
    await expectExactly();
  });

  it('is given back with a stream, before it is read', async () => {
    const app = fastify();
    const { working } = admitAtMost(1, app, { isExempt: () => false, onRefusal: () => undefined });
    const stream = (read: (this: Readable) => void) => {
      const body = new Readable({ read });
      body.push('x');
      return body;
    };
    app.get('/endless', (_request, reply) => reply.send(stream(() => undefined)));
    app.get('/broken', (_request, reply) =>
      reply.send(
        stream(function () {
          this.destroy(new Error('broken'));
        }),
      ),
    );
    app.get('/thrown', () => Promise.reject(new Error('thrown')));
    app.get('/unserializable', () => ({ value: 1n }));
    await app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = app.server.address() as { port: number };
    for (const path of ['/endless', '/broken', '/thrown', '/unserializable']) {
      const socket = connect(port, '127.0.0.1', () => socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`));
      await Promise.race([once(socket, 'data'), once(socket, 'close')]);
      await vi.waitFor(() => expect(working(), path).toBe(0));
      socket.destroy();
    }
    await app.close();
  });
});

const connections = () => new Promise<number>((resolve) => service.app.server.getConnections((_error, count) => resolve(count)));
