import { describe, expect, it } from 'vitest';
import { Client } from './testkit/client.ts';
import { startService, useService } from './testkit/service.ts';

const service = useService();
const MISSING_ID = '0190b3c1-0000-7000-8000-000000000000';

describe('the ETag of a memory', () => {
  it('is its version, in the answers of GET, HEAD, PATCH and restore', async () => {
    const client = await service.newAccount();
    const id = await client.store('Maya prefers window seats');
    expect((await client.get(`/memory/${id}`)).headers.get('etag')).toBe('"1"');
    expect((await client.send('HEAD', `/memory/${id}`)).headers.get('etag')).toBe('"1"');
    expect((await client.patch(`/memory/${id}`, { type: 'preference' })).headers.get('etag')).toBe('"2"');
    expect((await client.patch(`/memory/${id}`, { type: 'preference' })).headers.get('etag'), 'a change that changes nothing').toBe('"2"');
    expect((await client.patch(`/memory/${id}`, { archived: true })).headers.get('etag')).toBe('"3"');
    expect((await client.post(`/memory/${id}/restore`, { version: 1 })).headers.get('etag')).toBe('"4"');
    expect((await client.get(`/v1/memory/${id}`)).headers.get('etag')).toBe('"4"');
  });

  it('is on no answer but those of one memory', async () => {
    const client = await service.newAccount();
    await client.store('Maya prefers window seats');
    for (const path of ['/memory/list', '/memory/search?q=seats', `/memory/${MISSING_ID}`])
      expect((await client.get(path)).headers.get('etag'), path).toBeNull();
  });
});

describe('If-None-Match', () => {
  it.each([
    ['the ETag', '"2"', 304],
    ['one of several', '"1", "2"', 304],
    ['a weak one', 'W/"2"', 304],
    ['a star', '*', 304],
    ['an older one', '"1"', 200],
    ['one that is none of ours', '"a,2"', 200],
    ['what is no ETag', '2', 200],
  ])('with %s', async (_, header, status) => {
    const client = await service.newAccount();
    const id = await client.store('Maya prefers window seats');
    await client.patch(`/memory/${id}`, { content: 'Maya prefers aisle seats' });
    for (const method of ['GET', 'HEAD']) {
      const reply = await client.send(method, `/memory/${id}`, undefined, { 'if-none-match': header });
      expect(reply.status, reply.story).toBe(status);
      expect(reply.headers.get('etag')).toBe('"2"');
      expect(reply.headers.get('x-request-id')).toBeTruthy();
      if (status === 304) expect(reply.body).toBe('');
    }
  });

  it('does not tell of memories that the caller cannot see', async () => {
    const [client, other] = [await service.newAccount(), await service.newAccount()];
    const id = await client.store({ content: 'Maya prefers window seats', user_id: 'maya' });
    for (const [caller, path] of [
      [other, `/memory/${id}`],
      [client, `/memory/${id}?user_id=ben`],
      [client, `/memory/${MISSING_ID}`],
    ] as const) {
      const reply = await caller.send('GET', path, undefined, { 'if-none-match': '*' });
      expect(reply.status, reply.story).toBe(404);
    }
  });
});

describe('If-Match', () => {
  const changes = [
    ['PATCH', (id: string) => `/memory/${id}`, { content: 'Maya prefers the front row' }],
    ['POST', (id: string) => `/memory/${id}/restore`, { version: 1 }],
    ['DELETE', (id: string) => `/memory/${id}`, undefined],
  ] as const;

  describe.each(changes)('on %s', (method, pathOf, body) => {
    const prepare = async () => {
      const client = await service.newAccount();
      const id = await client.store('Maya prefers window seats');
      await client.patch(`/memory/${id}`, { content: 'Maya prefers aisle seats' });
      const send = (header: string, of = id) => client.send(method, pathOf(of), body, { 'if-match': header });
      return { client, id, send };
    };

    it.each([['"2"'], ['"7", "2"'], ['*'], ['"2", W/"2"']])('lets %s through to version 2', async (header) => {
      const { send } = await prepare();
      const reply = await send(header);
      expect(reply.status, reply.story).toBe(200);
    });

    it.each([['"1"'], ['"3"'], ['W/"2"'], ['"02"'], ['"two"'], ['""'], ['"99999999999999999999"']])(
      'refuses %s with 412 and changes nothing',
      async (header) => {
        const { client, id, send } = await prepare();
        const reply = await send(header);
        expect(reply.status, reply.story).toBe(412);
        expect(reply.body).toMatchObject({ status: 412, code: 'precondition_failed', request_id: expect.any(String) });
        const { body } = await client.get(`/memory/${id}`);
        expect(body).toMatchObject({ content: 'Maya prefers aisle seats', version: 2 });
      },
    );

    it.each([['2'], ['"2'], ['"2" "1"'], ['"2",'], [',"2"'], ['W/2'], ['*, "2"']])(
      'refuses %s with 400, which is no list of ETags',
      async (header) => {
        const { client, id, send } = await prepare();
        const reply = await send(header);
        expect(reply.status, reply.story).toBe(400);
        expect(reply.body.details[0].field).toBe('If-Match');
        expect((await client.get(`/memory/${id}`)).body.version).toBe(2);
      },
    );

    it('refuses more ETags than anybody needs', async () => {
      const { send } = await prepare();
      const reply = await send(Array.from({ length: 101 }, (_, at) => `"${at + 1}"`).join(', '));
      expect(reply.status, reply.story).toBe(400);
      expect(reply.body.details[0].field).toBe('If-Match');
    });

    it('is a 404 for what is not there or not to be seen', async () => {
      const { client, id, send } = await prepare();
      const other = await service.newAccount();
      expect((await send('"1"', MISSING_ID)).status).toBe(404);
      expect((await other.send(method, pathOf(id), body, { 'if-match': '"2"' })).status).toBe(404);
      expect((await other.send(method, pathOf(id), body, { 'if-match': '"1"' })).status).toBe(404);
      const bound = await service.newKey(client, { scopes: ['memory:read', 'memory:write', 'memory:delete'], userId: 'ben' });
      expect((await bound.send(method, pathOf(id), body, { 'if-match': '"1"' })).status).toBe(404);
    });
  });

  it('lets one of many concurrent changes through that know the same version', async () => {
    const client = await service.newAccount();
    const id = await client.store('Counter 0');
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, at) => client.send('PATCH', `/memory/${id}`, { content: `Counter ${at + 1}` }, { 'if-match': '"1"' })),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 19 }, () => 412)]);
    const winner = replies.findIndex(({ status }) => status === 200);
    expect((await client.get(`/memory/${id}`)).body).toMatchObject({ content: `Counter ${winner + 1}`, version: 2 });
  });

  it('lets one of many concurrent changes through that come to several services', async () => {
    const other = await startService();
    try {
      const client = await service.newAccount();
      const twin = new Client(other.url, client.key, client.account, client.keyId);
      const id = await client.store('Counter 0');
      const change = (caller: Client) => caller.graphql(`mutation { updateMemory(id: "${id}", input: { type: "x" }, ifVersion: 1) { version } }`);
      const replies = await Promise.all(Array.from({ length: 10 }, (_, at) => change(at % 2 === 0 ? client : twin)));
      expect(replies.filter(({ body }) => body.data)).toHaveLength(1);
    } finally {
      await other.close();
    }
  });
});

describe('ifVersion in GraphQL', () => {
  it('is PRECONDITION_FAILED for another version, for every change', async () => {
    const client = await service.newAccount();
    const id = await client.store('Maya prefers window seats');
    for (const mutation of [
      `updateMemory(id: "${id}", input: { type: "x" }, ifVersion: [2, 3]) { version }`,
      `restoreMemory(id: "${id}", version: 1, ifVersion: 2) { version }`,
      `deleteMemory(id: "${id}", ifVersion: 2) { deleted }`,
    ]) {
      const reply = await client.graphql(`mutation { ${mutation} }`);
      expect(reply.body.errors[0].extensions, reply.story).toMatchObject({ code: 'PRECONDITION_FAILED', status: 412 });
    }
    const reply = await client.graphql(`mutation { deleteMemory(id: "${id}", ifVersion: [1]) { deleted } }`);
    expect(reply.body.data, reply.story).toEqual({ deleteMemory: { deleted: true } });
  });

  it('still fits after a change that changes nothing, however it is written', async () => {
    const client = await service.newAccount();
    const id = await client.store({ content: 'Maya prefers window seats', metadata: { a: { b: [1, { c: null }] } } });
    const reply = await client.graphql(
      `mutation { updateMemory(id: "${id}", input: { metadata: { a: { b: [1, { c: null }] } } }) { updated version } }`,
    );
    expect(reply.body.data, reply.story).toEqual({ updateMemory: { updated: false, version: 1 } });
  });

  it('must be versions', async () => {
    const client = await service.newAccount();
    const id = await client.store('Maya prefers window seats');
    const reply = await client.graphql(`mutation { deleteMemory(id: "${id}", ifVersion: [0]) { deleted } }`);
    expect(reply.body.errors[0].extensions, reply.story).toMatchObject({ code: 'INVALID_PARAMETER', details: [{ field: 'ifVersion.0' }] });
  });
});
