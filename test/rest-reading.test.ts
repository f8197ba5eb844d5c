import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from './testkit/client.ts';
import { useService } from './testkit/service.ts';

const clock = { fixed: 0 };
const service = useService({ now: () => clock.fixed || Date.now() });
afterEach(() => {
  clock.fixed = 0;
});

/** An account with a memory, for tests that need none of their own. */
let agent: Client;
beforeAll(async () => {
  agent = await service.newAccount();
  await agent.store('A memory in the way');
});

interface Hit {
  id: string;
  content: string;
  score: number;
  salience: number;
  tier: number;
  explanation: { relevance: number; tier_weight: number };
}

// Years away, because the sweep of another test goes by the real time.
const NOON = Date.UTC(2096, 10, 20, 12);
const at = (minute: number) => new Date(NOON + minute * 60_000).toISOString();

/** Stores the memories one minute after the other, the first at noon; answers their ids. */
async function storeByMinute(client: Client, memories: readonly (string | Record<string, unknown>)[]): Promise<string[]> {
  const ids: string[] = [];
  for (const [minute, memory] of memories.entries()) {
    clock.fixed = NOON + minute * 60_000;
    ids.push(await client.store(memory));
  }
  return ids;
}

async function listed(client: Client, query: Record<string, string | number | boolean> = {}): Promise<string[]> {
  const reply = await client.get('/memory/list', query);
  expect(reply.status, reply.story).toBe(200);
  expect(reply.body.count, reply.story).toBe(reply.body.memories.length);
  return reply.body.memories.map(({ content }: { content: string }) => content);
}

const FILTERED = [
  { content: 'a', user_id: 'ana', tier: 0, type: 'fact', tags: ['red', 'green'], session_id: 's1' },
  { content: 'b', user_id: 'ana', tier: 1, type: 'fact', tags: ['red'], session_id: 's1' },
  { content: 'c', user_id: 'ana', tier: 2, type: 'preference', tags: ['red', 'green', 'blue'], session_id: 's2' },
  { content: 'd', user_id: 'ben', tier: 2, type: 'fact', tags: ['green'], session_id: 's1' },
  { content: 'e', user_id: 'ben', tier: 3, type: 'context', tags: [] },
  { content: 'f', tier: 2, type: 'fact', tags: ['red'] },
  { content: 'g', tier: 3, type: 'fact', tags: ['Red'] },
];

/** What each filter leaves of FILTERED, for lists and for searches. */
const FILTERS: [filter: Record<string, string | boolean | number>, left: string][] = [
  [{}, 'abcdefg'],
  [{ user_id: 'ana' }, 'abcg'],
  [{ user_id: 'ben' }, 'deg'],
  [{ user_id: 'nobody' }, 'g'],
  [{ user_id: 'ANA' }, 'g'],
  [{ session_id: 's1' }, 'abd'],
  [{ session_id: 's1', user_id: 'ana' }, 'ab'],
  [{ session_id: 'nowhere' }, ''],
  [{ tier: 2 }, 'cdf'],
  [{ tier: 0 }, 'a'],
  [{ tiers: '0,1' }, 'ab'],
  [{ tiers: ' 3 , 0 ' }, 'aeg'],
  [{ type: 'fact' }, 'abdfg'],
  [{ type: 'Fact' }, ''],
  [{ tags: 'red' }, 'abcf'],
  [{ tags: 'Red' }, 'g'],
  [{ tags: 'red,green' }, 'ac'],
  [{ tags: 'green, blue ,red' }, 'c'],
  [{ tags: 'nothing' }, ''],
  [{ after: at(4) }, 'fg'],
  [{ before: at(2) }, 'ab'],
  [{ after: at(0), before: at(3) }, 'bc'],
  [{ after: '2096-11-20T14:05:00+02:00' }, 'g'],
  [{ after: '2999-01-01' }, ''],
  [{ archived: false }, 'abcdefg'],
  [{ archived: true }, 'z'],
  [{ user_id: 'ana', tags: 'red', type: 'fact', tiers: '0,2', after: at(-1), session_id: 's1', archived: false }, 'a'],
];

const WRONG_FILTERS: [name: string, value: string, message: RegExp][] = [
  ['user_id', '', /1 to 256 characters/],
  ['session_id', '', /1 to 256 characters/],
  ['tier', '4', /^must be 0, 1, 2 or 3; got "?4"?$/],
  ['tier', 'two', /^must be 0, 1, 2 or 3; got "two"$/],
  ['tier', '1.5', /^must be 0, 1, 2 or 3/],
  ['tier', '', /^must be 0, 1, 2 or 3/],
  ['tiers', '', /at least one tier/],
  ['type', '', /1 to 64 characters/],
  ['tags', '', /at least one tag/],
  ['tags', ',', /at least one tag/],
  ['after', 'yesterday', /ISO 8601/],
  ['before', '2026-02-30', /ISO 8601/],
  ['archived', 'yes', /^must be true or false/],
  ['archived', '', /^must be true or false/],
];

describe('a filter', () => {
  let agent: Client;
  beforeAll(async () => {
    agent = await service.newAccount();
    clock.fixed = NOON;
    await storeByMinute(agent, FILTERED);
    const z = await agent.store({ content: 'z', user_id: 'zoe' });
    await agent.patch(`/memory/${z}`, { archived: true });
  });

  it.each(FILTERS)('%j leaves %j in a list and its counts', async (filter, left) => {
    clock.fixed = NOON + 600_000;
    const list = await agent.get('/memory/list', { ...filter, sort: 'oldest' });
    expect(list.body.memories?.map(({ content }: Hit) => content).join(''), list.story).toBe(left);
    expect(list.body, list.story).toMatchObject({ count: left.length, total: left.length, cursor: null });
    const count = await agent.get('/memory/list', { ...filter, count_only: true });
    expect(count.body, count.story).toEqual({ count_only: true, count: left.length });
  });

  it.each(FILTERS)('%j leaves %j in a search', async (filter, left) => {
    clock.fixed = NOON + 600_000;
    const reply = await agent.get('/memory/search', { ...filter, q: 'a letter', limit: 100 });
    const found = reply.body.memories?.map(({ content }: Hit) => content).toSorted();
    expect(found.join(''), reply.story).toBe(left);
    expect(reply.body.count, reply.story).toBe(left.length);
  });

  it.each(WRONG_FILTERS)('%s=%j is refused by lists, counts and searches', async (name, value, message) => {
    for (const reply of [
      await agent.get('/memory/list', { [name]: value }),
      await agent.get('/memory/list', { [name]: value, count_only: true }),
      await agent.get('/memory/search', { [name]: value, q: 'a letter' }),
    ]) {
      expect(reply.status, reply.story).toBe(400);
      expect(reply.body.details, reply.story).toEqual([{ field: name, message: expect.stringMatching(message) }]);
    }
  });

  it('that names a wrong one of several tiers is refused', async () => {
    const reply = await agent.get('/memory/list', { tiers: '0,7' });
    expect(reply.status, reply.story).toBe(400);
    expect(reply.body.details[0].field, reply.story).toMatch(/^tiers/);
  });

  it('of tier and of tiers exclude each other', async () => {
    for (const path of ['/memory/list', '/memory/search?q=letter']) {
      const reply = await agent.send('GET', `${path}${path.includes('?') ? '&' : '?'}tier=0&tiers=1,2`);
      expect(reply.status, reply.story).toBe(400);
    }
  });
});

describe('a list', () => {
  it('of an account without memories is empty', async () => {
    const agent = await service.newAccount();
    const reply = await agent.get('/memory/list');
    expect(reply.status, reply.story).toBe(200);
    expect(reply.body, reply.story).toEqual({ memories: [], count: 0, total: 0, offset: 0, limit: 20, cursor: null });
    const count = await agent.get('/memory/list', { count_only: true });
    expect(count.body, count.story).toEqual({ count_only: true, count: 0 });
  });

  it('has the newest first unless the oldest are asked for, each memory as get shows it', async () => {
    const agent = await service.newAccount();
    const ids = await storeByMinute(agent, ['first', { content: 'second', metadata: { a: 1 }, user_id: 'ana' }, 'third']);
    expect(await listed(agent)).toEqual(['third', 'second', 'first']);
    expect(await listed(agent, { sort: 'recent' })).toEqual(['third', 'second', 'first']);
    expect(await listed(agent, { sort: 'oldest' })).toEqual(['first', 'second', 'third']);
    const [list, got] = [await agent.get('/memory/list', { limit: 1, offset: 1 }), await agent.get(`/memory/${ids[1]}`)];
    expect(list.body.memories, list.story).toEqual([got.body.memory]);
    expect(list.body, list.story).toMatchObject({ count: 1, total: 3, offset: 1, limit: 1 });
  });

  it('passes over as many as its offset says', async () => {
    const agent = await service.newAccount();
    await storeByMinute(agent, ['1', '2', '3']);
    expect(await listed(agent, { sort: 'oldest', offset: 0 })).toEqual(['1', '2', '3']);
    expect(await listed(agent, { sort: 'oldest', offset: 2 })).toEqual(['3']);
    const beyond = await agent.get('/memory/list', { offset: 10_000 });
    expect(beyond.body, beyond.story).toEqual({ memories: [], count: 0, total: 3, offset: 10_000, limit: 20, cursor: null });
  });

  it.each([
    ['limit', '0', /whole number of 1 or more; got "?0"?$/],
    ['limit', '-1', /whole number of 1 or more; got "?-1"?$/],
    ['limit', '1.5', /whole number of 1 or more; got "?1.5"?$/],
    ['limit', 'ten', /whole number of 1 or more; got "ten"$/],
    ['limit', '', /whole number of 1 or more/],
    ['limit', '0x10', /whole number of 1 or more/],
    ['offset', '-1', /whole number from 0 to 10,000/],
    ['offset', '10001', /whole number from 0 to 10,000; got "?10001"?$/],
    ['offset', '0.5', /whole number from 0 to 10,000/],
    ['sort', 'newest', /^must be recent or oldest; got "newest"$/],
    ['count_only', 'maybe', /^must be true or false/],
    ['cursor', '', /must not be empty/],
    ['cursor', 'made-up', /cursor that this list gave/],
    ['cursor', Buffer.from('["x",1,"y"]').toString('base64url'), /cursor that this list gave/],
  ])('refuses %s=%j', async (name, value, message) => {
    const reply = await agent.get('/memory/list', { [name]: value });
    expect(reply.status, reply.story).toBe(400);
    expect(reply.body.details, reply.story).toEqual([{ field: name, message: expect.stringMatching(message) }]);
  });

  it.each([101, 1_000_000, '99999999999'])('takes a limit of %s as 100', async (limit) => {
    const [list, search] = [await agent.get('/memory/list', { limit }), await agent.get('/memory/search', { limit, q: 'anything' })];
    expect(list.body.limit, list.story).toBe(100);
    expect(search.status, search.story).toBe(200);
  });

  it.each([
    ['recent', ['5', '4', '3', '2', '1']],
    ['oldest', ['1', '2', '3', '4', '5', 'new 1', 'new 2']],
  ])('by cursor, %s first, shows each memory once while others are added', async (sort, expected) => {
    const agent = await service.newAccount();
    // All at the same millisecond, so that the time alone can't tell where a page ends.
    clock.fixed = NOON;
    for (const content of ['1', '2', '3', '4', '5']) await agent.store(content);
    const shown: string[] = [];
    let cursor: string | null = null;
    for (let page = 1; page === 1 || cursor; page++) {
      const reply = await agent.get('/memory/list', { sort, limit: 2, ...(cursor ? { cursor } : {}) });
      expect(reply.status, reply.story).toBe(200);
      shown.push(...reply.body.memories.map(({ content }: Hit) => content));
      cursor = reply.body.cursor;
      clock.fixed += 1;
      if (page <= 2) await agent.store(`new ${page}`);
    }
    expect(shown.toSorted()).toEqual(expected.toSorted());
  });

  it('whose last page is full ends there', async () => {
    const agent = await service.newAccount();
    await storeByMinute(agent, ['1', '2']);
    const reply = await agent.get('/memory/list', { limit: 2 });
    expect(reply.body.cursor, reply.story).toBeNull();
  });

  it('refuses the cursor of another list, and a cursor together with an offset', async () => {
    const [agent, stranger] = await Promise.all([service.newAccount(), service.newAccount()]);
    for (const client of [agent, stranger]) await storeByMinute(client, ['1', '2', '3']);
    const first = await agent.get('/memory/list', { limit: 1 });
    const { cursor } = first.body;
    for (const [client, query] of [
      [agent, { user_id: 'ana' }],
      [agent, { tags: 'a' }],
      [agent, { tier: 2 }],
      [agent, { archived: true }],
      [agent, { after: '2020-01-01' }],
      [agent, { sort: 'oldest' }],
      [agent, { offset: 1 }],
      [agent, { offset: 0 }],
      [stranger, {}],
    ] as const) {
      const reply = await client.get('/memory/list', { ...query, cursor });
      expect(reply.status, reply.story).toBe(400);
      expect(reply.body.details[0].field, reply.story).toMatch(/^(cursor|offset)$/);
    }
    expect(await listed(agent, { cursor, limit: 2 })).toEqual(['2', '1']);
  });
});

describe('a search', () => {
  it.each([
    ['no q', {}, 'q', /^is required$/],
    ['an empty q', { q: '' }, 'q', /1 to 2,000 characters/],
    ['a q of white space', { q: ' \n ' }, 'q', /1 to 2,000 characters/],
    ['a q of 2,001 characters', { q: 'x'.repeat(2_001) }, 'q', /1 to 2,000 characters.*; got a string of 2001 characters$/],
    ['NUL in q', { q: 'a\0' }, 'q', /Unicode without NUL/],
    ['limit 0', { q: 'a', limit: 0 }, 'limit', /1 or more/],
    ['limit 2.5', { q: 'a', limit: 2.5 }, 'limit', /1 or more/],
    ['min_score above 1', { q: 'a', min_score: 1.01 }, 'min_score', /number from 0 to 1; got "?1.01"?$/],
    ['min_score below 0', { q: 'a', min_score: -0.1 }, 'min_score', /number from 0 to 1/],
    ['min_score that is no number', { q: 'a', min_score: 'high' }, 'min_score', /number from 0 to 1; got "high"$/],
    ['explain that is neither true nor false', { q: 'a', explain: '1' }, 'explain', /true or false/],
    ['reassemble that is neither true nor false', { q: 'a', reassemble: 'x' }, 'reassemble', /true or false/],
  ])('refuses %s', async (_, query, field, message) => {
    const reply = await agent.get('/memory/search', query);
    expect(reply.status, reply.story).toBe(400);
    expect(reply.body.details, reply.story).toEqual([{ field, message: expect.stringMatching(message) }]);
  });

  it.each([
    ['a limit of any size', { limit: '478197730751247220736' }],
    ['a min_score written with an exponent', { min_score: '9e-303' }],
  ])('takes %s', async (_, query) => {
    const reply = await agent.get('/memory/search', { q: 'a letter', ...query });
    expect(reply.status, reply.story).toBe(200);
  });

  it('of an account without memories finds nothing', async () => {
    const agent = await service.newAccount();
    const reply = await agent.get('/memory/search', { q: 'anything at all' });
    expect(reply.status, reply.story).toBe(200);
    expect(reply.body, reply.story).toEqual({ memories: [], count: 0 });
  });

  it.each(['" OR 1=1 --', 'content:* AND NOT (facets:[a TO z])^9 ~ \\', "'}) DETACH DELETE m //", '???', 'the of and', '日本語の質問', 'AND OR NOT'])(
    'takes every character of %j as text',
    async (q) => {
      const reply = await agent.get('/memory/search', { q });
      expect(reply.status, reply.story).toBe(200);
    },
  );

  it('takes 2,000 characters', async () => {
    const reply = await agent.get('/memory/search', { q: 'word '.repeat(400).trimEnd() + '!' });
    expect(reply.status, reply.story).toBe(200);
  });

  it('takes 2,000 characters of any script', async () => {
    const reply = await agent.get('/memory/search', { q: '語'.repeat(2_000) });
    expect(reply.status, reply.story).toBe(200);
  });
});

describe('the hits of a search', () => {
  let agent: Client;
  const contents = [
    'Maya adopted a greyhound named Pixel from the shelter',
    'Pixel is allergic to chicken and eats fish',
    'The quarterly report is due on the first of March',
    'Our office plants are watered on Mondays',
    'The bakery on Elm Street sells rye bread',
    'The train to Porto leaves at seven in the morning',
  ];
  beforeAll(async () => {
    agent = await service.newAccount();
    for (const [index, content] of contents.entries()) await agent.store({ content, tier: index % 4, user_id: 'maya', tags: [`t${index}`] });
  });

  const hits = async (query: Record<string, string | number | boolean>) => {
    const reply = await agent.get('/memory/search', query);
    expect(reply.status, reply.story).toBe(200);
    expect(reply.body.count, reply.story).toBe(reply.body.memories.length);
    return { story: reply.story, hits: reply.body.memories as Hit[] };
  };

  it("are the memory's fields with score and salience, and explanation only when asked for", async () => {
    const plain = await hits({ q: 'Which dog does Maya have?', limit: 1 });
    const [hit] = plain.hits;
    const { body } = await agent.get(`/memory/${hit!.id}`);
    expect(hit, plain.story).toEqual({ ...body.memory, score: expect.any(Number), salience: expect.any(Number) });
    expect(hit!.content, plain.story).toBe(contents[0]);
    const explained = await hits({ q: 'Which dog does Maya have?', limit: 1, explain: true });
    expect(explained.hits[0], explained.story).toEqual({ ...hit, salience: expect.any(Number), explanation: expect.any(Object) });
    const implicit = await hits({ q: 'Which dog does Maya have?', limit: 1, explain: false, reassemble: true });
    expect(Object.keys(implicit.hits[0]!), implicit.story).toEqual(Object.keys(hit!));
  });

  it('come in descending score, each of score and salience from 0 to 1', async () => {
    const { hits: all, story } = await hits({ q: 'What may the dog eat?', limit: 100 });
    expect(all.length, story).toBe(contents.length);
    expect(all[0]!.content, story).toBe(contents[1]);
    for (const [index, { score, salience }] of all.entries()) {
      expect(score, story).toBeGreaterThanOrEqual(0);
      expect(score, story).toBeLessThanOrEqual(all[index - 1]?.score ?? 1);
      expect(salience, story).toBeGreaterThanOrEqual(0);
      expect(salience, story).toBeLessThanOrEqual(1);
    }
  });

  it("have the score that their relevance and their tier's weight make", async () => {
    const { hits: all, story } = await hits({ q: 'the dog named Pixel', limit: 100, explain: true });
    for (const { score, tier, explanation } of all) {
      const { relevance: r, tier_weight: w } = explanation;
      expect(w, story).toBe([1.5, 1.2, 1, 1.1][tier]);
      expect(score, story).toBeCloseTo(r + 0.5 * (w - 1) * r * (1 - r), 5);
    }
  });

  it('score about 1 for the same text and little for something unrelated', async () => {
    const { hits: all, story } = await hits({ q: contents[3]!, limit: 100 });
    expect(all[0]!.content, story).toBe(contents[3]);
    expect(all[0]!.score, story).toBeGreaterThan(0.95);
    const unrelated = all.find(({ content }) => content === contents[1]);
    expect(unrelated!.score, story).toBeLessThan(0.4);
  });

  it('are as many as the limit says, 10 when it says nothing', async () => {
    const many = await service.newAccount();
    await many.storeAll(Array.from({ length: 12 }, (_, index) => `Note number ${index}`));
    expect(await many.found('note')).toHaveLength(10);
    expect(await many.found('note', { limit: 3 })).toHaveLength(3);
    expect(await many.found('note', { limit: 100 })).toHaveLength(12);
  });

  it('have at least the min_score', async () => {
    const all = await hits({ q: 'What may the dog eat?', limit: 100 });
    const middle = all.hits[2]!.score;
    const some = await hits({ q: 'What may the dog eat?', limit: 100, min_score: middle });
    expect(
      some.hits.map(({ id }) => id),
      some.story,
    ).toEqual(all.hits.filter(({ score }) => score >= middle).map(({ id }) => id));
    const none = await hits({ q: 'What may the dog eat?', min_score: 1 });
    expect(none.hits, none.story).toEqual([]);
  });

  it('are found among many by a rare tag, type, tier or session, however little they have to do with the query', async () => {
    const many = await service.newAccount();
    const rare = { content: 'Zinc melts at 419 degrees', tags: ['rare', 'metal'], type: 'chemistry', tier: 0, session_id: 'lab', user_id: 'zoe' };
    await many.store(rare);
    await Promise.all(
      Array.from({ length: 110 }, (_, index) => many.store({ content: `Dinner on day ${index} was pasta`, tags: ['metal', 'food'] })),
    );
    const filters: Record<string, string | number>[] = [
      { tags: 'rare' },
      { tags: 'metal,rare' },
      { type: 'chemistry' },
      { tier: 0 },
      { session_id: 'lab' },
      { user_id: 'zoe' },
    ];
    for (const filter of filters) expect(await many.found('what was for dinner? pasta', filter), JSON.stringify(filter)).toEqual([rare.content]);
  });
});
