import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client, Reply } from './testkit/client.ts';
import { chromiumPath, launchChromium, openPage } from './testkit/chromium.ts';
import { sendRaw } from './testkit/raw.ts';
import { startService, type TestService, useService } from './testkit/service.ts';

const PAGES = ['/', '/graphiql', '/docs'];
const service = useService();
let closed: TestService;
let agent: Client;
beforeAll(async () => {
  agent = await service.newAccount();
  await agent.store({ content: 'Maya moved to Lisbon in May', user_id: 'maya' });
  closed = await startService({ settings: { introspection: false } });
});
afterAll(() => closed.close());

/** As a browser asks that knows no key. */
const browse = (path: string, { method = 'GET', headers = '' } = {}): Promise<Reply> =>
  sendRaw(service.port, `${method} ${path} HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n${headers}Connection: close\r\n\r\n`);

/** The addresses that a page names in its HTML. */
const references = (html: string): string[] => [...html.matchAll(/(?:href|src)="(?!data:)([^"]+)"/g)].map(([, address]) => address!);

describe.each(PAGES)('the page %s', (path) => {
  it('is shown without a key, with and without /v1, and everything that it names is there', async () => {
    for (const prefix of ['', '/v1']) {
      const page = await browse(prefix + path);
      expect(page.status, page.story).toBe(200);
      expect(page.headers.get('content-type'), page.story).toBe('text/html; charset=utf-8');
      for (const address of references(page.body)) {
        const named = await browse(new URL(address, `http://x${prefix}${path}`).pathname);
        expect(named.status, `${address}: ${named.story}`).toBe(200);
        expect(named.headers.get('x-request-id'), named.story).toBeTruthy();
      }
    }
  });

  it('names nothing of another origin, runs no inline script, and goes into no frame', async () => {
    const page = await browse(path);
    expect(references(page.body).filter((address) => /^(\w+:|\/)/.test(address))).toEqual([]);
    const policy = page.headers.get('content-security-policy')!.split('; ');
    expect(policy).toEqual(expect.arrayContaining(["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"]));
    expect(page.headers.get('content-security-policy')).not.toContain('http');
  });

  it('answers HEAD as GET without its body, and other methods with a 405', async () => {
    const [head, get] = [await browse(path, { method: 'HEAD' }), await browse(path)];
    expect(head.status, head.story).toBe(200);
    expect(head.body).toBe('');
    expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'));
    const post = await browse(path, { method: 'POST' });
    expect(post.status, post.story).toBe(405);
    expect(post.headers.get('allow'), post.story).toBe('GET');
    expect(post.body, post.story).toMatchObject({ code: 'method_not_allowed' });
  });

  it('is kept by a browser as long as it is current', async () => {
    const etag = (await browse(path)).headers.get('etag');
    const again = await browse(path, { headers: `If-None-Match: ${etag}\r\nX-Request-Id: again\r\n` });
    expect(again.status, again.story).toBe(304);
    expect(again.headers.get('x-request-id'), again.story).toBe('again');
  });
});

describe('what the pages do not have', () => {
  it.each(['/assets', '/assets/', '/assets/none.js', '/assets/../package.json', '/assets/%2e%2e/files.ts', '/graphiql/x', '/docs/index.html'])(
    '%s is a 404 with a key, and a 401 without',
    async (path) => {
      const request = (key: string) => sendRaw(service.port, `GET ${path} HTTP/1.1\r\nHost: x\r\n${key}Connection: close\r\n\r\n`);
      const [known, unknown] = [await request(`Authorization: Bearer ${agent.key}\r\n`), await request('')];
      expect([known.status, unknown.status], known.story).toEqual([404, 401]);
    },
  );
});

describe('Apollo Sandbox at studio.apollographql.com', () => {
  const ORIGIN = 'https://studio.apollographql.com';
  // What the Sandbox sends by itself, and what people add.
  const HEADERS = [
    'content-type',
    'authorization',
    'apollo-require-preflight',
    'apollographql-client-name',
    'apollographql-client-version',
    'x-apollo-operation-name',
    'x-apollo-operation-type',
    'x-apollo-operation-id',
    'x-request-id',
  ];
  let open: TestService;
  beforeAll(async () => {
    open = await startService({ settings: { corsOrigins: [ORIGIN] } });
  });
  afterAll(() => open.close());

  it('may send all its headers once its origin is configured', async () => {
    const asked = await fetch(`${open.url}/graphql`, {
      method: 'OPTIONS',
      headers: { origin: ORIGIN, 'access-control-request-method': 'POST', 'access-control-request-headers': HEADERS.join(',') },
    });
    expect(asked.status).toBe(204);
    expect(asked.headers.get('access-control-allow-origin')).toBe(ORIGIN);
    expect(asked.headers.get('access-control-allow-methods')).toContain('POST');
    expect(asked.headers.get('access-control-allow-headers')!.split(/, */)).toEqual(expect.arrayContaining(HEADERS));
  });

  it('is answered and may read the answer, also an error', async () => {
    const client = await open.newAccount();
    const headers = Object.fromEntries(HEADERS.slice(2).map((name) => [name, 'x']));
    for (const [authorization, status] of [
      [`Bearer ${client.key}`, 200],
      ['Bearer', 401],
    ] as const) {
      const reply = await client.send('POST', '/graphql', { query: '{ health { status } }' }, { ...headers, authorization, origin: ORIGIN });
      expect(reply.status, reply.story).toBe(status);
      expect(reply.headers.get('access-control-allow-origin'), reply.story).toBe(ORIGIN);
    }
  });

  it('may not while it is not', async () => {
    const asked = await fetch(`${service.url}/graphql`, { method: 'OPTIONS', headers: { origin: ORIGIN, 'access-control-request-method': 'POST' } });
    expect(asked.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('has its embedded sibling at /graphql, in no frame', async () => {
    const page = await browse('/graphql');
    expect(page.body).toContain('embeddable-sandbox');
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  });
});

if (!chromiumPath) console.log('The pages are not tested in a browser: there is no Chromium on the PATH, and CHROMIUM_PATH names none.');

describe.skipIf(!chromiumPath)('in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());

  it('GraphiQL takes the key, reads the schema, and runs a search, without another origin', async () => {
    const { page, origins, problems } = await openPage(browser);
    await page.goto(`${service.url}/graphiql`);
    await page.getByText('UNAUTHENTICATED').waitFor();
    problems.length = 0;

    const introspection = page.waitForResponse((response) => response.url().endsWith('/graphql') && response.status() === 200);
    await page.getByLabel('API key').fill(agent.key);
    await page.getByRole('button', { name: 'Use it' }).click();
    const { data } = await (await introspection).json();
    expect(data.__schema.types.map(({ name }: { name: string }) => name)).toContain('Memory');
    await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
    await page.getByText('SearchMemoriesPayload').waitFor();

    await page.getByRole('button', { name: /^Execute query/ }).click();
    await page.locator('.graphiql-response').getByText('Maya moved to Lisbon').waitFor();

    expect(await page.getByRole('tab').count(), 'the tabs Search and Store, and no empty one').toBe(2);
    expect(page.url()).toBe(`${service.url}/graphiql`);
    expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain(agent.key);
    expect([...origins]).toEqual([service.url]);
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it('GraphiQL says that there is no schema to see when introspection is off, asks for none, and still runs operations', async () => {
    const client = await closed.newAccount();
    await client.store('Maya moved to Porto in June');
    const { page, origins, problems } = await openPage(browser);
    await page.goto(`${closed.url}/graphiql`);
    await page.getByLabel('API key').fill(client.key);
    await page.getByRole('button', { name: 'Use it' }).click();
    await page.getByText('INTROSPECTION=false').waitFor();
    await page.getByRole('button', { name: /^Execute query/ }).click();
    await page.locator('.graphiql-response').getByText('Maya moved to Porto').waitFor();
    expect([...origins]).toEqual([closed.url]);
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it.each(['', '/v1'])('the reference at %s/docs takes the key and tries a search, without another origin', async (prefix) => {
    const { page, origins, problems } = await openPage(browser);
    await page.goto(`${service.url}${prefix}/docs`);
    await page.getByRole('button', { name: 'Authorize' }).click();
    await page.locator('.auth-container input').fill(agent.key);
    await page.locator('.auth-btn-wrapper').getByRole('button', { name: 'Apply credentials' }).click();
    await page.locator('.auth-btn-wrapper').getByRole('button', { name: 'Close' }).click();

    await page.getByText('Find memories by meaning and by words').click();
    await page.getByPlaceholder('q', { exact: true }).fill('Where does Maya live?');
    await page.getByRole('button', { name: 'Execute' }).click();
    await page.locator('.live-responses-table').getByText('Maya moved to Lisbon').waitFor();

    expect([...origins]).toEqual([service.url]);
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it('the first page leads to the others', async () => {
    const { page, origins, problems } = await openPage(browser);
    for (const [link, title] of [
      ['GraphiQL', 'GraphiQL · Memory service'],
      ['API reference', 'API reference · Memory service'],
    ] as const) {
      await page.goto(service.url);
      await page.getByRole('link', { name: link }).click();
      await page.waitForURL(/(graphiql|docs)$/);
      expect(await page.title()).toBe(title);
    }
    expect([...origins]).toEqual([service.url]);
    expect(problems.filter((problem) => !problem.includes('401'))).toEqual([]);
    await page.context().close();
  });
});
