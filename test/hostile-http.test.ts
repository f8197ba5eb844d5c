import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { expectNoFault, forEach, naughty, TRACES, useUnharmed } from './testkit/naughty.ts';
import { useService } from './testkit/service.ts';

const service = useService();
const agent = useUnharmed(service);

describe('a text in a header', () => {
  it('as a request id or a key is not taken', async () => {
    await forEach(
      [...new Set(naughty)].filter((text) => !/[\r\n\0]/.test(text)),
      async (text) => {
        const answer = await talk(`GET /memory/list HTTP/1.1\r\nX-Request-Id: ${text}\r\nAuthorization: Bearer ${text}\r\nConnection: close\r\n\r\n`);
        expect(answer.status, answer.story).toBeGreaterThanOrEqual(400);
        expectNoFault(answer);
        const requestId = /^x-request-id: (.*)$/im.exec(answer.text)?.[1] ?? '';
        expect(requestId, answer.story).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
        if (/^[A-Za-z0-9._-]{1,128}$/.test(text)) expect(requestId).toBe(text);
      },
    );
  });
});

describe('a request that breaks HTTP', () => {
  const post = (headers: string, body = '') =>
    `POST /memory HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${agent.key}\r\nContent-Type: application/json\r\n${headers}\r\n${body}`;
  const get = (headers: string) => `GET /livez HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;

  it('is answered with 4xx or cut, within bounded time, and nothing is stored by a part of it', async () => {
    const memory = '{"content":"half a request"}';
    const broken: Record<string, string | Buffer> = {
      'not HTTP': 'hello\r\n\r\n',
      'TLS to a plain port': Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]),
      'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'another version': 'GET /livez HTTP/9.9\r\n\r\n',
      'an unknown method': 'FROB /livez HTTP/1.1\r\n\r\n',
      'a space in the path': 'GET /liv ez HTTP/1.1\r\n\r\n',
      'a fragment of a URL': 'GET livez HTTP/1.1\r\n\r\n',
      'NUL in the path': 'GET /liv\0ez HTTP/1.1\r\n\r\n',
      'NUL in a header': get('X-A: a\0b\r\n'),
      'a space before the colon': get('X-A : b\r\n'),
      'a header without colon': get('X-A\r\n'),
      'a header without name': get(': b\r\n'),
      'a bare carriage return': get('X-A: a\rb\r\n'),
      'two different lengths': post('Content-Length: 5\r\nContent-Length: 28\r\n', memory),
      'a list of lengths': post('Content-Length: 28, 28\r\n', memory),
      'a negative length': post('Content-Length: -1\r\n', memory),
      'a length with sign': post('Content-Length: +28\r\n', memory),
      'a length in hex': post('Content-Length: 0x1c\r\n', memory),
      'an endless length': post('Content-Length: 99999999999999999999999999\r\n', memory),
      'length and chunks at once': post('Content-Length: 28\r\nTransfer-Encoding: chunked\r\n', `1c\r\n${memory}\r\n0\r\n\r\n`),
      'an unknown transfer encoding': post('Transfer-Encoding: frob\r\n', memory),
      'chunked not last': post('Transfer-Encoding: chunked, gzip\r\n', `1c\r\n${memory}\r\n0\r\n\r\n`),
      'a disguised transfer encoding': post('Transfer-Encoding: xchunked\r\n', `1c\r\n${memory}\r\n0\r\n\r\n`),
      'a bad chunk size': post('Transfer-Encoding: chunked\r\n', `zz\r\n${memory}\r\n0\r\n\r\n`),
      'a negative chunk size': post('Transfer-Encoding: chunked\r\n', `-1\r\n${memory}\r\n0\r\n\r\n`),
      'a huge chunk size': post('Transfer-Encoding: chunked\r\n', `fffffffffffffffff\r\n${memory}\r\n0\r\n\r\n`),
      'a chunk longer than told': post('Transfer-Encoding: chunked\r\n', `5\r\n${memory}\r\n0\r\n\r\n`),
      'a header of 80 KB': get(`X-A: ${'a'.repeat(80_000)}\r\n`),
      'a path of 80 KB': `GET /${'a'.repeat(80_000)} HTTP/1.1\r\n\r\n`,
      'an unknown expectation': post('Expect: miracles\r\nContent-Length: 28\r\nConnection: close\r\n', memory),
      'a compressed body': post('Content-Encoding: gzip\r\nContent-Length: 4\r\nConnection: close\r\n', '\x1f\x8b\x08\x00'),
      CONNECT: 'CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: x\r\n\r\n',
      TRACE: 'TRACE / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      'OPTIONS *': 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      'a path that climbs': `GET /memory/../../livez/..%2f..%2fetc HTTP/1.1\r\nAuthorization: Bearer ${agent.key}\r\nConnection: close\r\n\r\n`,
      'broken percent signs': `GET /memory/%zz%E0%80 HTTP/1.1\r\nAuthorization: Bearer ${agent.key}\r\nConnection: close\r\n\r\n`,
      'broken percent signs in the query': `GET /memory/list?user_id=%zz HTTP/1.1\r\nAuthorization: Bearer ${agent.key}\r\nConnection: close\r\n\r\n`,
      'half a surrogate in the query': `GET /memory/list?user_id=%ED%A0%80 HTTP/1.1\r\nAuthorization: Bearer ${agent.key}\r\nConnection: close\r\n\r\n`,
    };
    await forEach(Object.entries(broken), async ([title, bytes]) => {
      const answer = await talk(bytes);
      expect(answer.closed, `${title}: ${answer.story}`).toBe(true);
      if (answer.text === '') return;
      expect(answer.status, `${title}: ${answer.story}`).toBeGreaterThanOrEqual(400);
      expect(answer.status, `${title}: ${answer.story}`).toBeLessThan(500);
      expect(answer.text, title).not.toMatch(TRACES);
    });
    expect(await agent.found('half a request', { min_score: 0.95 })).toEqual([]);
  });

  it('by ending in the middle leaves nothing behind', async () => {
    const memory = '{"content":"cut in the middle"}';
    const whole = post(`Content-Length: ${memory.length}\r\n`, memory);
    const chunked = post('Transfer-Encoding: chunked\r\n', `5\r\n${memory.slice(0, 5)}\r\n`);
    const cuts = [1, 10, 40, whole.length - memory.length, whole.length - 10, whole.length - 1].map((length) => whole.slice(0, length));
    await forEach([...cuts, chunked, `${chunked}0`], async (part) => {
      const answer = await talk(part, { end: true });
      expect(answer.closed, answer.story).toBe(true);
      if (answer.text !== '') expectNoFault(answer);
    });
    expect(await agent.found('cut in the middle', { min_score: 0.95 })).toEqual([]);
  });

  it('by its size is a 413, and the connection ends', async () => {
    const tenMegabytes = Buffer.alloc(10 * 1024 * 1024, 'x');
    for (const path of ['/memory', '/graphql', '/memory/x']) {
      const head = (length: string) =>
        `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${agent.key}\r\nContent-Type: application/json\r\n${length}\r\n\r\n`;
      const told = await talk(Buffer.concat([Buffer.from(head(`Content-Length: ${tenMegabytes.length}`)), tenMegabytes]));
      const chunked = await talk(
        Buffer.concat([Buffer.from(`${head('Transfer-Encoding: chunked')}a00000\r\n`), tenMegabytes, Buffer.from('\r\n0\r\n\r\n')]),
      );
      for (const answer of [told, chunked]) {
        expect(answer.closed, answer.story).toBe(true);
        if (answer.text !== '') expect([413, 405], answer.story).toContain(answer.status);
      }
    }
  });

  it('by being slow is ended in bounded time', async () => {
    const { server } = service.app;
    const before = { requestTimeout: server.requestTimeout, headersTimeout: server.headersTimeout };
    expect(before.requestTimeout, 'there is a bound').toBeGreaterThan(0);
    server.requestTimeout = 500;
    server.headersTimeout = 500;
    try {
      const drip = (text: string) => talk(text, { drip: true });
      for (const answer of await Promise.all([
        drip('GET /livez HTTP/1.1\r\nX-A: '),
        drip(post('Content-Length: 1000\r\n', '{')),
        drip(post('Transfer-Encoding: chunked\r\n', 'fff\r\n{')),
        drip('\r\n\r\n'),
        talk('\r\n\r\n'),
        talk(''),
      ])) {
        expect(answer.closed, answer.story).toBe(true);
        if (answer.text !== '') expectNoFault(answer);
      }
    } finally {
      Object.assign(server, before);
    }
  });

  it('but not by what HTTP allows', async () => {
    const memory = '{"content":"sent in an unusual way"}';
    const close = 'Connection: close\r\n';
    const fine: Record<string, string> = {
      'an absolute URL': `GET http://elsewhere.example/memory/list?limit=1 HTTP/1.1\r\nAuthorization: Bearer ${agent.key}\r\n${close}\r\n`,
      'HTTP/0.9': 'GET /livez\r\n\r\n',
      'HTTP/1.0': 'GET /livez HTTP/1.0\r\n\r\n',
      'no Host': `GET /livez HTTP/1.1\r\n${close}\r\n`,
      'empty lines first': `\r\n\r\n${get(close)}`,
      'headers in capitals': get(close).toUpperCase().replace('/LIVEZ', '/livez'),
      'a thousand headers': get(Array.from({ length: 1_000 }, (_, index) => `X-${index}: ${index}\r\n`).join('') + close),
      'chunks of one byte': post(
        `Transfer-Encoding: chunked\r\n${close}`,
        `${[...memory].map((character) => `1\r\n${character}\r\n`).join('')}0\r\n\r\n`,
      ),
      'chunks with extensions and trailers': post(
        `Transfer-Encoding: chunked\r\n${close}`,
        `${memory.length.toString(16)};a=b\r\n${memory}\r\n0\r\nX-Trailer: y\r\n\r\n`,
      ),
      'an upgrade that is not offered': get(`Upgrade: websocket\r\nConnection: Upgrade, close\r\n`),
      'an expectation of 100': post(`Expect: 100-continue\r\nContent-Length: ${memory.length}\r\n${close}`, memory),
    };
    for (const [title, request] of Object.entries(fine)) {
      const answer = await talk(request);
      expect(answer.text, `${title}: ${answer.story}`).toMatch(/^HTTP\/1\.1 (100 Continue\r\n\r\nHTTP\/1\.1 )?200 /);
    }
    const absolute = await talk(`GET http://elsewhere.example/memory/list HTTP/1.1\r\n${close}\r\n`);
    expect(absolute.status, 'an absolute URL is no way around the key').toBe(401);
  });

  it('and fifty requests in one go are answered in order', async () => {
    const requests = Array.from(
      { length: 50 },
      (_, index) =>
        `GET /memory/list?limit=1 HTTP/1.1\r\nAuthorization: Bearer ${agent.key}\r\nX-Request-Id: r${index}\r\n${index === 49 ? 'Connection: close\r\n' : ''}\r\n`,
    );
    const answer = await talk(requests.join(''));
    expect([...answer.text.matchAll(/^x-request-id: (.*)\r$/gim)].map(([, id]) => id)).toEqual(requests.map((_, index) => `r${index}`));
    expect(answer.text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(50);
  });

  it('and a request followed by garbage harms nobody', async () => {
    const memory = '{"content":"followed by garbage"}';
    await forEach(Array.from({ length: 8 }), async () => {
      const answer = await talk(`${post(`Content-Length: ${memory.length}\r\n`, memory)}GARBAGE GARBAGE\r\n\r\n`);
      expect(answer.closed, answer.story).toBe(true);
      if (answer.text !== '') expectNoFault(answer);
    });
  });
});

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly closed: boolean;
  readonly story: string;
}

/** Sends the bytes as they are and listens until the service closes, ten seconds at most; `end` stops sending, `drip` sends on a byte at a time. */
async function talk(bytes: string | Buffer, { end = false, drip = false } = {}): Promise<Answer> {
  const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
  const received: Buffer[] = [];
  socket.on('data', (data) => received.push(data));
  socket.on('error', () => undefined);
  const closed = Promise.race([once(socket, 'end'), once(socket, 'close')]).then(
    () => true,
    () => true,
  );
  socket.write(bytes);
  if (end) socket.end();
  const dripping = drip ? setInterval(() => socket.write('a'), 100) : undefined;
  let patience: NodeJS.Timeout | undefined;
  const inTime = await Promise.race([closed, new Promise<false>((resolve) => (patience = setTimeout(() => resolve(false), 10_000)))]);
  clearTimeout(patience);
  clearInterval(dripping);
  socket.destroy();
  const text = Buffer.concat(received).toString('latin1');
  const status = Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? NaN);
  return { status, text, closed: inTime, story: `${JSON.stringify(bytes.toString().slice(0, 200))} → ${JSON.stringify(text.slice(0, 600))}` };
}
