import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from './testkit/client.ts';
import { useService } from './testkit/service.ts';

const clock = { ahead: 0 };
const now = () => Date.now() + clock.ahead;
const service = useService({ now });
afterEach(() => {
  clock.ahead = 0;
});

/** An account for tests that need none of their own. */
let agent: Client;
beforeAll(async () => {
  agent = await service.newAccount();
});

const HOUR = 3_600_000;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const UTC_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const MISSING_ID = '018f0000-0000-7000-8000-000000000000';

const inFuture = (milliseconds: number) => new Date(now() + milliseconds).toISOString();
const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
/** An object of so many levels. */
const nested = (levels: number): unknown => (levels === 0 ? 'end' : { a: nested(levels - 1) });
/** An object of so many bytes as JSON. */
const ofBytes = (bytes: number) => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) });

async function memoryOf(client: Client, id: string) {
  const reply = await client.get(`/memory/${id}`);
  expect(reply.status, reply.story).toBe(200);
  return reply.body.memory;
}

/** Expects exactly these values of these fields. */
async function expectMemory(client: Client, id: string, fields: Record<string, unknown>) {
  const reply = await client.get(`/memory/${id}`);
  const named = Object.keys(fields).map((name): [string, unknown] => [name, reply.body.memory?.[name]]);
  expect(Object.fromEntries(named), reply.story).toEqual(fields);
}

async function expectGone(client: Client, id: string) {
  const reply = await client.get(`/memory/${id}`);
  expect(reply.status, reply.story).toBe(404);
}

describe('storing a memory', () => {
  let refused: Client;
  beforeAll(async () => {
    refused = await service.newAccount();
  });

  it('answers its id and where it is, and fills in what was not given', async () => {
    const stored = await agent.post('/memory', { content: '  The kettle whistles in A flat\n' });
    expect(stored.status, stored.story).toBe(200);
    expect(stored.body, stored.story).toEqual({ id: expect.stringMatching(UUID_V7), stored: true });
    expect(stored.headers.get('location'), stored.story).toBe(`/memory/${stored.body.id}`);

    const got = await agent.get(`/memory/${stored.body.id}`);
    const { memory, ...topLevel } = got.body;
    const time = memory.created_at;
    expect(time, got.story).toMatch(UTC_TIME);
    expect(Math.abs(Date.parse(time) - Date.now()), got.story).toBeLessThan(10_000);
    expect(memory, got.story).toEqual({
      id: stored.body.id,
      content: 'The kettle whistles in A flat',
      user_id: null,
      tier: 2,
      type: 'fact',
      tags: [],
      metadata: {},
      session_id: null,
      source_ids: [],
      occurred_at: time,
      created_at: time,
      updated_at: time,
      expires_at: null,
      archived: false,
      version: 1,
    });
    expect(topLevel, got.story).toEqual(memory);
  });

  it('takes an explicit null as absent', async () => {
    const names = ['user_id', 'tier', 'type', 'tags', 'metadata', 'session_id', 'occurred_at', 'expires_at', 'source_ids'];
    const stored = await agent.post('/memory', { content: 'Nothing else is known', ...Object.fromEntries(names.map((name) => [name, null])) });
    expect(stored.body, stored.story).toEqual({ id: expect.any(String), stored: true });
    await expectMemory(agent, stored.body.id, { user_id: null, tier: 2, type: 'fact', tags: [], metadata: {}, session_id: null, source_ids: [] });
  });

  it.each<[rule: string, fields: { content?: string; [field: string]: unknown }]>([
    ['content of one character', { content: 'x' }],
    ['content of 50,000 code points that are two UTF-16 units each', { content: '😀'.repeat(50_000) }],
    ['content whose white space around it goes beyond the limit', { content: `${' '.repeat(30)}${'é'.repeat(50_000)}${'\n'.repeat(30)}` }],
    ['a user_id of 1 character', { user_id: '0' }],
    ['a user_id of 256 code points', { user_id: '😀'.repeat(256) }],
    ['tier 0', { tier: 0 }],
    ['tier 3', { tier: 3 }],
    ['a type of one character', { type: 'é' }],
    ['a type of 64 code points', { type: '😀'.repeat(64) }],
    ['50 tags of 100 code points', { tags: Array.from({ length: 50 }, (_, index) => '😀'.repeat(98) + String(index + 10)) }],
    ['metadata of 16 KiB', { metadata: ofBytes(16 * 1024) }],
    ['metadata of 8 levels', { metadata: nested(8) }],
    ['metadata of every kind of JSON', { metadata: { '': null, 'ключ 🔑': [true, false, 1, -2.5, 1e21, 'text', [], {}, { a: [{ b: null }] }] } }],
    ['a session_id of 256 code points', { session_id: '😀'.repeat(256) }],
    ['no tags and no sources', { tags: [], source_ids: [] }],
    [
      "text in any script, with quotes and Lucene's and Cypher's signs",
      { content: `"x'; \`MATCH (n) DETACH DELETE n\` // +a -b && c:[* TO *]\\ 日本語 שלום 👩‍👩‍👧` },
    ],
  ])('accepts %s and gives it back as it was', async (rule, fields) => {
    const { content = `At its bound: ${rule}`, ...others } = fields;
    const stored = await agent.post('/memory', { content, ...others });
    expect(stored.status, stored.story).toBe(200);
    await expectMemory(agent, stored.body.id, { content: content.trim(), ...others });
  });

  it.each<[rule: string, field: string, value: unknown, message: RegExp]>([
    ['no content', 'content', undefined, /^is required$/],
    ['null as content', 'content', null, /^is required$/],
    ['empty content', 'content', '', /1 to 50,000 characters.*; got ""$/],
    ['content of white space', 'content', ' \t\n\u00a0', /1 to 50,000 characters/],
    ['content of 50,001 code points', 'content', 'x'.repeat(50_001), /1 to 50,000 characters.*; got a string of 50001 characters$/],
    ['content that is not a string', 'content', 7, /must be a string.*; got 7$/],
    ['content with NUL', 'content', 'a\0b', /Unicode without NUL/],
    ['content with half a surrogate pair', 'content', 'a\ud83d', /Unicode without NUL/],
    ['an empty user_id', 'user_id', '', /1 to 256 characters; got ""$/],
    ['a user_id of 257 code points', 'user_id', '😀'.repeat(257), /1 to 256 characters; got a string of 257 characters$/],
    ['a user_id that is a number', 'user_id', 42, /must be a string.*; got 42$/],
    ['a user_id with NUL', 'user_id', '\0', /Unicode without NUL/],
    ['tier 4', 'tier', 4, /^must be 0, 1, 2 or 3; got 4$/],
    ['tier -1', 'tier', -1, /^must be 0, 1, 2 or 3; got -1$/],
    ['tier 1.5', 'tier', 1.5, /^must be 0, 1, 2 or 3; got 1.5$/],
    ['a tier as text', 'tier', '2', /^must be 0, 1, 2 or 3; got "2"$/],
    ['an empty type', 'type', '', /1 to 64 characters/],
    ['a type of 65 characters', 'type', 'x'.repeat(65), /1 to 64 characters/],
    ['tags that are no list', 'tags', 'travel', /list of at most 50 strings; got "travel"$/],
    ['51 tags', 'tags', Array.from({ length: 51 }, (_, index) => `t${index}`), /list of at most 50 strings; got a list of 51$/],
    ['an empty tag', 'tags.1', ['a', ''], /1 to 100 characters; got ""$/],
    ['a tag of 101 code points', 'tags.0', ['😀'.repeat(101)], /1 to 100 characters/],
    ['a tag that is a number', 'tags.0', [5], /must be a string.*; got 5$/],
    ['metadata that is a list', 'metadata', [1], /must be a JSON object/],
    ['metadata that is a text', 'metadata', '{}', /must be a JSON object/],
    ['metadata of a byte more than 16 KiB', 'metadata', ofBytes(16 * 1024 + 1), /at most 16 KiB/],
    ['metadata whose bytes, not characters, are more than 16 KiB', 'metadata', { a: 'é'.repeat(8_190) }, /at most 16 KiB/],
    ['metadata of 9 levels', 'metadata', nested(9), /at most 8 levels/],
    ['metadata of 9 levels of lists', 'metadata', { a: [[[[[[[[1]]]]]]]] }, /at most 8 levels/],
    ['NUL in a text of the metadata', 'metadata', { a: ['\0'] }, /Unicode without NUL/],
    ['half a surrogate pair in a key of the metadata', 'metadata', { b: { '\udc00': 1 } }, /Unicode without NUL/],
    ['an empty session_id', 'session_id', '', /1 to 256 characters/],
    ['a session_id of 257 characters', 'session_id', 'x'.repeat(257), /1 to 256 characters/],
    ['source_ids that are no list', 'source_ids', MISSING_ID, /list of at most 100/],
    ['101 source_ids', 'source_ids', Array.from({ length: 101 }, (_, index) => `${index}`), /list of at most 100/],
    ['an expiry that has passed', 'expires_at', '2020-01-01T00:00:00Z', /must be in the future; got 2020-01-01T00:00:00.000Z$/],
  ])('refuses %s', async (_, field, value, message) => {
    const reply = await refused.post('/memory', { content: 'A rule beyond its bound', [field.split('.')[0]!]: value });
    expect(reply.status, reply.story).toBe(400);
    expect(reply.body.code, reply.story).toBe('invalid_parameter');
    expect(reply.body.details, reply.story).toEqual([{ field, message: expect.stringMatching(message) }]);
    const count = await refused.get('/memory/list', { count_only: true });
    expect(count.body.count, count.story).toBe(0);
  });

  it.each([
    ['2026-05-04T10:00:00Z', '2026-05-04T10:00:00.000Z'],
    ['2026-05-04T10:00:00+02:00', '2026-05-04T08:00:00.000Z'],
    ['2026-05-04T10:00:00-0530', '2026-05-04T15:30:00.000Z'],
    ['2026-05-04T10:00:00+02', '2026-05-04T08:00:00.000Z'],
    ['2026-05-04T10:00:00.123456789Z', '2026-05-04T10:00:00.123Z'],
    ['2026-05-04T10:00:00.5', '2026-05-04T10:00:00.500Z'],
    ['2026-05-04T10:00', '2026-05-04T10:00:00.000Z'],
    ['2026-05-04T23:59:59-12:00', '2026-05-05T11:59:59.000Z'],
    ['2026-05-04', '2026-05-04T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['1815-12-10T09:00:00Z', '1815-12-10T09:00:00.000Z'],
    ['0044-03-15', '0044-03-15T00:00:00.000Z'],
  ])('reads %s as %s', async (given, read) => {
    const stored = await agent.post('/memory', { content: `It happened on ${given}`, occurred_at: given });
    expect(stored.status, stored.story).toBe(200);
    await expectMemory(agent, stored.body.id, { occurred_at: read });
  });

  it.each([
    '2026-02-30',
    '2025-02-29T00:00:00Z',
    '2026-13-01',
    '2026-05-04T25:00:00Z',
    '2026-05-04T10:61:00Z',
    '2026-05-04T10:00:00+99:00',
    '04.05.2026',
    'yesterday',
    '',
    1_777_888_999,
    true,
    {},
  ])('refuses %j as a time', async (value) => {
    const reply = await agent.post('/memory', { content: 'It never happened', occurred_at: value, expires_at: value });
    expect(reply.status, reply.story).toBe(400);
    expect(reply.body.details, reply.story).toEqual([
      { field: 'occurred_at', message: expect.stringMatching(/ISO 8601 time such as .*; got /) },
      { field: 'expires_at', message: expect.stringMatching(/ISO 8601 time such as .*; got /) },
    ]);
  });

  it('drops the duplicates among tags and keeps their order', async () => {
    const id = await agent.store({ content: 'Tagged', tags: ['b', 'a', 'b', 'B', 'a'] });
    await expectMemory(agent, id, { tags: ['b', 'a', 'B'] });
  });

  it('gives tier 1 an expiry after 24 hours unless it has one, and no other tier', async () => {
    const [session, own, pinned] = await Promise.all([
      agent.store({ content: 'For this session', tier: 1 }),
      agent.store({ content: 'For two hours', tier: 1, expires_at: inFuture(2 * HOUR) }),
      agent.store({ content: 'For good', tier: 0 }),
    ]);
    const [a, b, c] = await Promise.all([memoryOf(agent, session), memoryOf(agent, own), memoryOf(agent, pinned)]);
    expect(Date.parse(a.expires_at) - Date.parse(a.created_at)).toBe(24 * HOUR);
    expect(Date.parse(b.expires_at) - Date.parse(b.created_at)).toBeLessThanOrEqual(2 * HOUR);
    expect(c.expires_at).toBeNull();
  });
});

describe('the sources of a memory', () => {
  it('are kept in their order without duplicates, and may be up to 100', async () => {
    const [first, second] = [await agent.store('The first source'), await agent.store('The second source')];
    const id = await agent.store({ content: 'Derived from two', source_ids: Array.from({ length: 50 }, () => [second, first]).flat() });
    await expectMemory(agent, id, { source_ids: [second, first] });
  });

  it("may be a user's own and the account's shared ones", async () => {
    const source_ids = [await agent.store({ content: 'Of Ana', user_id: 'ana' }), await agent.store({ content: 'Shared by all', tier: 3 })];
    const reply = await agent.post('/memory', { content: 'Derived by Ana', user_id: 'ana', source_ids });
    expect(reply.status, reply.story).toBe(200);
  });

  it("are refused, each by name, when they are missing, another user's, the account's own or another account's", async () => {
    const [agent, stranger] = await Promise.all([service.newAccount(), service.newAccount()]);
    const source_ids = [
      await agent.store({ content: 'Of Ana', user_id: 'ana' }),
      await agent.store({ content: 'Of Ben', user_id: 'ben' }),
      await agent.store({ content: "The account's own" }),
      await stranger.store({ content: 'Of someone else', user_id: 'ana' }),
      MISSING_ID,
      'not-an-id',
    ];
    const reply = await agent.post('/memory', { content: 'Derived by Ana', user_id: 'ana', source_ids });
    expect(reply.status, reply.story).toBe(400);
    const refused = [1, 2, 3, 4, 5].map((index) => ({
      field: `source_ids.${index}`,
      message: `must name a memory that you can see; got ${source_ids[index]}`,
    }));
    expect(
      reply.body.details.toSorted((a: { field: string }, b: { field: string }) => (a.field < b.field ? -1 : 1)),
      reply.story,
    ).toEqual(refused);
    const count = await agent.get('/memory/list', { count_only: true });
    expect(count.body.count, count.story).toBe(3);
  });

  it('leave the list when they are deleted', async () => {
    const [kept, deleted] = [await agent.store('A source that stays'), await agent.store('A source that goes')];
    const id = await agent.store({ content: 'Derived', source_ids: [deleted, kept] });
    await agent.delete(`/memory/${deleted}`);
    await expectMemory(agent, id, { source_ids: [kept] });
  });
});

describe('storing the same content again', () => {
  it('answers the memory that is there, whatever the white space around it and the Unicode form', async () => {
    const id = await agent.store('Café Zoë opens at nine');
    const again = await agent.post('/memory', {
      content: '\n Cafe\u0301 Zoe\u0308 opens at nine ',
      type: 'context',
      tags: ['new'],
      metadata: { a: 1 },
    });
    expect(again.status, again.story).toBe(200);
    expect(again.body, again.story).toEqual({ id, stored: false, duplicate: true });
    await expectMemory(agent, id, { content: 'Café Zoë opens at nine', type: 'fact', tags: [], version: 1 });
  });

  it('stores one memory when many do it at once', async () => {
    const replies = await Promise.all(Array.from({ length: 12 }, () => agent.post('/memory', { content: 'All at once' })));
    expect(new Set(replies.map(({ body }) => body.id)).size, replies[0]!.story).toBe(1);
    expect(replies.filter(({ body }) => body.stored).length, replies[0]!.story).toBe(1);
  });

  it.each<[difference: string, fields: Record<string, unknown>]>([
    ['a user', { user_id: 'ben' }],
    ['no user', { user_id: null }],
    ['a tier', { tier: 0 }],
    ['a session', { session_id: 's-2' }],
    ['no session', { session_id: null }],
    ['content in other capitals', { content: 'same words' }],
  ])('is no duplicate under %s of its own', async (_, fields) => {
    const agent = await service.newAccount();
    const original = { content: 'Same words', user_id: 'ana', session_id: 's-1' };
    await agent.store(original);
    const other = await agent.post('/memory', { ...original, ...fields });
    expect(other.body, other.story).toEqual({ id: expect.any(String), stored: true });
  });

  it('is no duplicate in another account', async () => {
    const [agent, stranger] = await Promise.all([service.newAccount(), service.newAccount()]);
    await agent.store('Everyone says this');
    const other = await stranger.post('/memory', { content: 'Everyone says this' });
    expect(other.body.stored, other.story).toBe(true);
  });

  it('is stored when the first one was archived, deleted or changed into something else', async () => {
    for (const leave of [
      (id: string) => agent.patch(`/memory/${id}`, { archived: true }),
      (id: string) => agent.delete(`/memory/${id}`),
      (id: string) => agent.patch(`/memory/${id}`, { content: 'Something else now' }),
      (id: string) => agent.patch(`/memory/${id}`, { tier: 0 }),
    ]) {
      const left = await leave(await agent.store('Said before'));
      expect(left.status, left.story).toBe(200);
    }
    const last = await agent.post('/memory', { content: 'Said before' });
    expect(last.body.stored, last.story).toBe(true);
  });

  it('is stored when the first one has expired', async () => {
    const first = await agent.store({ content: 'Said for a second', expires_at: inFuture(700) });
    await wait(800);
    const again = await agent.post('/memory', { content: 'Said for a second' });
    expect(again.body.stored, again.story).toBe(true);
    expect(again.body.id, again.story).not.toBe(first);
  });

  it('finds a memory that came back from the archive and one that was changed into it', async () => {
    const archived = await agent.store('Back from the archive');
    await agent.patch(`/memory/${archived}`, { archived: true });
    await agent.patch(`/memory/${archived}`, { archived: false });
    const changed = await agent.store('Not yet these words');
    await agent.patch(`/memory/${changed}`, { content: 'These words' });
    for (const [content, id] of [
      ['Back from the archive', archived],
      ['These words', changed],
    ]) {
      const again = await agent.post('/memory', { content });
      expect(again.body, again.story).toEqual({ id, stored: false, duplicate: true });
    }
  });

  it('renews a defaulted expiry of tier 1 and leaves a given one', async () => {
    const given = inFuture(2 * HOUR);
    const defaulted = await agent.store({ content: 'By default', tier: 1 });
    const explicit = await agent.store({ content: 'As given', tier: 1, expires_at: given });
    const before = Date.parse((await memoryOf(agent, defaulted)).expires_at);
    clock.ahead = HOUR;
    await agent.store({ content: 'By default', tier: 1 });
    await agent.store({ content: 'As given', tier: 1 });
    const after = Date.parse((await memoryOf(agent, defaulted)).expires_at);
    expect(after - before).toBeGreaterThanOrEqual(HOUR);
    expect(after - before).toBeLessThan(HOUR + 20_000);
    await expectMemory(agent, explicit, { expires_at: given });
  });
});

describe('getting a memory', () => {
  it.each(['not-a-uuid', '0', MISSING_ID, MISSING_ID.toUpperCase(), 'x'.repeat(2_000), 'a%2Fb', '%00', '..%2F..'])(
    'by the id %s is a 404',
    async (id) => {
      const reply = await agent.get(`/memory/${id}`);
      expect(reply.status, reply.story).toBe(404);
      expect(reply.body, reply.story).toMatchObject({ error: 'Memory not found', code: 'not_found' });
    },
  );

  it('of another account is a 404, for reading, changing and deleting', async () => {
    const [agent, stranger] = await Promise.all([service.newAccount(), service.newAccount()]);
    const id = await agent.store('Not yours');
    for (const reply of [
      await stranger.get(`/memory/${id}`),
      await stranger.patch(`/memory/${id}`, { tier: 0 }),
      await stranger.delete(`/memory/${id}`),
    ])
      expect(reply.status, reply.story).toBe(404);
    await expectMemory(agent, id, { content: 'Not yours', tier: 2 });
  });
});

describe('user_id on a memory by id', () => {
  it("restricts to that user's memories and the shared ones", async () => {
    const agent = await service.newAccount();
    const ids = {
      own: await agent.store({ content: "Ana's", user_id: 'ana' }),
      shared: await agent.store({ content: 'For everyone', tier: 3 }),
      other: await agent.store({ content: "Ben's", user_id: 'ben' }),
      otherOrganization: await agent.store({ content: "Ben's, of tier 3", user_id: 'ben', tier: 3 }),
      account: await agent.store({ content: "The account's" }),
    };
    for (const [name, status] of [
      ['own', 200],
      ['shared', 200],
      ['other', 404],
      ['otherOrganization', 404],
      ['account', 404],
    ] as const) {
      const path = `/memory/${ids[name]}`;
      for (const reply of [
        await agent.get(path, { user_id: 'ana' }),
        await agent.patch(path, { tags: ['a'] }, { user_id: 'ana' }),
        await agent.patch(path, { tags: ['b'], user_id: 'ana' }),
        await agent.delete(path, { user_id: 'ana' }),
      ])
        expect(reply.status, `${name}: ${reply.story}`).toBe(status);
    }
    const rest = await agent.get('/memory/list');
    expect(rest.body.memories.map(({ id }: { id: string }) => id).toSorted(), rest.story).toEqual(
      [ids.other, ids.otherOrganization, ids.account].toSorted(),
    );
  });

  it('is refused when the query and the body of a PATCH name different users', async () => {
    const id = await agent.store({ content: "Ana's", user_id: 'ana' });
    const reply = await agent.patch(`/memory/${id}`, { tier: 0, user_id: 'ben' }, { user_id: 'ana' });
    expect(reply.status, reply.story).toBe(400);
    expect(reply.body.details[0].field, reply.story).toBe('user_id');
  });
});

describe('changing a memory', () => {
  it.each<[field: string, change: Record<string, unknown>, after: Record<string, unknown>]>([
    ['content', { content: '  New words ' }, { content: 'New words' }],
    ['tier', { tier: 0 }, { tier: 0 }],
    ['type', { type: 'preference' }, { type: 'preference' }],
    ['tags', { tags: ['c', 'c', 'a'] }, { tags: ['c', 'a'] }],
    ['tags to none', { tags: [] }, { tags: [] }],
    ['metadata', { metadata: { b: null, c: { d: null } } }, { metadata: { a: 1, c: { d: null } } }],
    ['expires_at', { expires_at: '2999-01-01T01:00:00+01:00' }, { expires_at: '2999-01-01T00:00:00.000Z' }],
    ['archived', { archived: true }, { archived: true }],
    ['everything at once', { content: 'All new', tier: 3, type: 't', tags: [], metadata: { a: 2 } }, { metadata: { a: 2, b: 2 } }],
  ])('changes %s and nothing else, and raises the version', async (field, change, after) => {
    const id = await agent.store({ content: `Old words: ${field}`, user_id: 'ana', tags: ['a', 'b'], metadata: { a: 1, b: 2 }, session_id: 's' });
    const before = await memoryOf(agent, id);
    clock.ahead = 1_000;
    const changed = await agent.patch(`/memory/${id}`, change);
    expect(changed.status, changed.story).toBe(200);
    expect(changed.body, changed.story).toEqual({ id, updated: true, version: 2 });
    const { updated_at, version: _, ...rest } = before;
    await expectMemory(agent, id, { ...rest, ...change, ...after, version: 2 });
    const memory = await memoryOf(agent, id);
    expect(Date.parse(memory.updated_at)).toBeGreaterThan(Date.parse(updated_at));
  });

  it.each<[what: string, change: Record<string, unknown>]>([
    ['the same content', { content: ' Old words\n' }],
    ['the same of everything', { content: 'Old words', tier: 2, type: 'fact', tags: ['a', 'b'], metadata: { a: { b: 1, c: 2 } }, archived: false }],
    ['deleting a key that is not there', { metadata: { z: null } }],
    ['no expiry where there is none', { expires_at: null }],
    ['an empty merge', { metadata: {} }],
  ])('to %s changes nothing and keeps the version', async (what, change) => {
    const id = await agent.store({ content: 'Old words', user_id: what, tags: ['a', 'b'], metadata: { a: { b: 1, c: 2 } } });
    const before = await memoryOf(agent, id);
    const reply = await agent.patch(`/memory/${id}`, change);
    expect(reply.body, reply.story).toEqual({ id, updated: false, version: 1 });
    await expectMemory(agent, id, before);
  });

  it('to the same metadata with its keys in another order changes nothing and keeps the version', async () => {
    const id = await agent.store({ content: 'In some order', metadata: { a: { b: 1, c: 2 } } });
    const reply = await agent.patch(`/memory/${id}`, { metadata: { a: { c: 2, b: 1 } } });
    expect(reply.body, reply.story).toEqual({ id, updated: false, version: 1 });
  });

  it.each<[rule: string, body: Record<string, unknown>, field: string]>([
    ['nothing', {}, 'body'],
    ['user_id alone', { user_id: 'ana' }, 'body'],
    ['an unknown field alone', { colour: 'red' }, 'body'],
    ['content null', { content: null }, 'content'],
    ['empty content', { content: '  ' }, 'content'],
    ['tier 9', { tier: 9 }, 'tier'],
    ['tier null', { tier: null }, 'tier'],
    ['an empty type', { type: '' }, 'type'],
    ['tags null', { tags: null }, 'tags'],
    ['an empty tag', { tags: [''] }, 'tags.0'],
    ['metadata null', { metadata: null }, 'metadata'],
    ['metadata that is a list', { metadata: [] }, 'metadata'],
    ['archived as text', { archived: 'true' }, 'archived'],
    ['an expiry that has passed', { expires_at: '2001-01-01' }, 'expires_at'],
    ['metadata that together is too large', { metadata: { more: 'x'.repeat(9_000) } }, 'metadata'],
  ])('refuses %s', async (rule, body, field) => {
    const id = await agent.store({ content: `Stays: ${rule}`, user_id: 'ana', metadata: { large: 'x'.repeat(9_000) } });
    const reply = await agent.patch(`/memory/${id}`, body);
    expect(reply.status, reply.story).toBe(400);
    expect(reply.body.details, reply.story).toEqual([{ field, message: expect.any(String) }]);
    await expectMemory(agent, id, { version: 1 });
  });

  it('answers unknown fields with a warning', async () => {
    const id = await agent.store('Words');
    const reply = await agent.patch(`/memory/${id}`, { tier: 0, session_id: 'immutable', colour: 1 });
    expect(reply.body, reply.story).toEqual({
      id,
      updated: true,
      version: 2,
      warnings: ["unknown field 'session_id' was ignored", "unknown field 'colour' was ignored"],
    });
  });

  it('loses none of many changes at once', async () => {
    const id = await agent.store('Counted');
    const replies = await Promise.all(Array.from({ length: 15 }, (_, index) => agent.patch(`/memory/${id}`, { metadata: { [`k${index}`]: index } })));
    expect(
      replies.map(({ body }) => body.version).toSorted((a, b) => a - b),
      replies[0]!.story,
    ).toEqual(replies.map((_, index) => index + 2));
    await expectMemory(agent, id, { version: 16, metadata: Object.fromEntries(replies.map((_, index) => [`k${index}`, index])) });
  });

  it('makes new content findable by its meaning and words, and no longer by the old ones', async () => {
    const agent = await service.newAccount();
    const id = await agent.store('The tabby cat sleeps on the velvet sofa all afternoon');
    const score = async (q: string) => {
      const reply = await agent.get('/memory/search', { q, explain: true });
      return { story: reply.story, hit: reply.body.memories[0] };
    };
    const before = await score('where does the tabby nap?');
    expect(before.hit.explanation.lexical, before.story).toBeGreaterThan(0);
    await agent.patch(`/memory/${id}`, { content: 'Quarterly revenue grew by nine percent, driven by subscriptions' });
    const [old, changed] = [await score('where does the tabby nap?'), await score('how did our sales income develop?')];
    expect(changed.hit.content, changed.story).toMatch(/^Quarterly revenue/);
    expect(old.hit?.explanation.lexical ?? 0, old.story).toBe(0);
    expect(old.hit?.score ?? 0, old.story).toBeLessThan(0.3);
    expect(changed.hit.score, changed.story).toBeGreaterThan((old.hit?.score ?? 0) + 0.2);
  });

  it('to archived hides it from search and lists until it comes back; getting it still shows it', async () => {
    const agent = await service.newAccount();
    const id = await agent.store('The attic key hangs behind the boiler');
    const visible = async () => [
      (await agent.found('where is the attic key?')).length,
      (await agent.get('/memory/list')).body.count,
      (await agent.get('/memory/list', { count_only: true })).body.count,
    ];
    expect(await visible()).toEqual([1, 1, 1]);
    await agent.patch(`/memory/${id}`, { archived: true });
    expect(await visible()).toEqual([0, 0, 0]);
    await expectMemory(agent, id, { archived: true, version: 2 });
    expect(await agent.found('where is the attic key?', { archived: true })).toHaveLength(1);
    await agent.patch(`/memory/${id}`, { archived: false });
    expect(await visible()).toEqual([1, 1, 1]);
  });

  it('out of tier 1 clears a defaulted expiry, into it sets one; given ones stay', async () => {
    const given = inFuture(2 * HOUR);
    const defaulted = await agent.store({ content: 'Defaulted', tier: 1 });
    const explicit = await agent.store({ content: 'Explicit', tier: 1, expires_at: given });
    const entering = await agent.store({ content: 'Entering' });
    const enteringWithOwn = await agent.store({ content: 'Entering with its own', expires_at: given });
    const renounced = await agent.store({ content: 'Renounced', tier: 1 });
    await agent.patch(`/memory/${defaulted}`, { tier: 2 });
    await agent.patch(`/memory/${explicit}`, { tier: 2 });
    const entered = await agent.patch(`/memory/${entering}`, { tier: 1 });
    await agent.patch(`/memory/${enteringWithOwn}`, { tier: 1 });
    await agent.patch(`/memory/${renounced}`, { expires_at: null });
    await expectMemory(agent, defaulted, { expires_at: null });
    await expectMemory(agent, explicit, { expires_at: given });
    const { expires_at, updated_at } = await memoryOf(agent, entering);
    expect(Date.parse(expires_at) - Date.parse(updated_at), entered.story).toBe(24 * HOUR);
    await expectMemory(agent, enteringWithOwn, { expires_at: given });
    await expectMemory(agent, renounced, { tier: 1, expires_at: null });
  });

  it("to tier 3 shares a memory of the account with every user, and a user's memory with none", async () => {
    const agent = await service.newAccount();
    const account = await agent.store('The office closes at six');
    const user = await agent.store({ content: 'Ana leaves at five', user_id: 'ana' });
    for (const id of [account, user]) await agent.patch(`/memory/${id}`, { tier: 3 });
    expect(await agent.found('when does everyone leave?', { user_id: 'ben' })).toEqual(['The office closes at six']);
    await agent.patch(`/memory/${account}`, { tier: 2 });
    expect(await agent.found('when does everyone leave?', { user_id: 'ben' })).toEqual([]);
  });
});

describe('deleting a memory', () => {
  it('answers so, and erases it from every answer', async () => {
    const agent = await service.newAccount();
    const id = await agent.store({ content: 'Forget this address: 12 Elm Street', tags: ['address'] });
    await agent.patch(`/memory/${id}`, { tier: 0 });
    const deleted = await agent.delete(`/memory/${id}`);
    expect(deleted.status, deleted.story).toBe(200);
    expect(deleted.body, deleted.story).toEqual({ id, deleted: true });
    await expectGone(agent, id);
    expect(await agent.found('Elm Street address')).toEqual([]);
    const list = await agent.get('/memory/list');
    expect(list.body, list.story).toMatchObject({ memories: [], total: 0 });
    for (const reply of [await agent.delete(`/memory/${id}`), await agent.patch(`/memory/${id}`, { tier: 1 })])
      expect(reply.status, reply.story).toBe(404);
  });

  it('works on an archived one', async () => {
    const id = await agent.store('Archived and then deleted');
    await agent.patch(`/memory/${id}`, { archived: true });
    const deleted = await agent.delete(`/memory/${id}`);
    expect(deleted.body, deleted.story).toEqual({ id, deleted: true });
  });

  it('leaves nothing of it in the database', async () => {
    const id = await agent.store('Nothing shall remain of zyzzyva');
    await agent.patch(`/memory/${id}`, { content: 'Nothing shall remain of quagga' });
    await agent.delete(`/memory/${id}`);
    const rows = await service.database.read(
      `MATCH (n) WHERE any(key IN keys(n) WHERE valueType(n[key]) STARTS WITH 'STRING' AND (n[key] CONTAINS 'zyzzyva' OR n[key] CONTAINS 'quagga')) RETURN n`,
      {},
      { signal: new AbortController().signal, remaining: () => 10_000 },
    );
    expect(rows).toEqual([]);
  });
});

describe('a memory whose time has come', () => {
  it('is gone from every answer at that moment', async () => {
    const agent = await service.newAccount();
    const expires_at = inFuture(HOUR);
    const id = await agent.store({ content: 'The wifi password is hunter2', expires_at, tags: ['wifi'] });
    const everywhere = async () => [
      (await agent.get(`/memory/${id}`)).status,
      (await agent.found('wifi password')).length,
      (await agent.found('wifi password', { tags: 'wifi' })).length,
      (await agent.get('/memory/list')).body.count,
      (await agent.get('/memory/list')).body.total,
      (await agent.get('/memory/list', { count_only: true })).body.count,
    ];
    clock.ahead = HOUR - 20_000;
    expect(await everywhere()).toEqual([200, 1, 1, 1, 1, 1]);
    clock.ahead = HOUR;
    expect(await everywhere()).toEqual([404, 0, 0, 0, 0, 0]);
    for (const reply of [
      await agent.patch(`/memory/${id}`, { expires_at: null }),
      await agent.delete(`/memory/${id}`),
      await agent.get('/memory/list', { archived: true }),
    ])
      expect(reply.body.count ?? reply.status, reply.story).toBe(reply.body.count === undefined ? 404 : 0);
  });

  it('can be no source of another', async () => {
    const source = await agent.store({ content: 'Short-lived', expires_at: inFuture(600) });
    await wait(700);
    const reply = await agent.post('/memory', { content: 'Derived too late', source_ids: [source] });
    expect(reply.status, reply.story).toBe(400);
  });
});
