import { randomBytes } from 'node:crypto';
import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { connectDatabase, type Database, type Parameters } from '../src/graph/database.ts';
import { accountToken, scopeOf, sessionToken, sharedScope, tagToken, typeToken, userScope } from '../src/modules/memory/scope.ts';
import type { Client, Reply } from './testkit/client.ts';
import { startService, type TestService, useService } from './testkit/service.ts';

const service = useService();

type Owner = 'alice' | 'bob' | 'shared' | 'own';
const OWNERS: readonly Owner[] = ['alice', 'bob', 'shared', 'own'];

/** One memory of which every field holds a word that is nowhere else. */
interface Planted {
  readonly id: string;
  readonly canary: string;
  readonly owner: Owner;
  readonly company: Company;
}

interface Company {
  readonly agent: Client;
  readonly boundToAlice: Client;
  readonly memories: Record<Owner, Planted>;
}

/** A way to ask, and whose memories it shows. */
interface Viewer {
  readonly title: string;
  readonly agent: Client;
  readonly company: Company;
  readonly userId: string | null;
  readonly sees: readonly Owner[];
}

let acme: Company;
let rival: Company;
let viewers: readonly Viewer[];

beforeAll(async () => {
  acme = await found();
  rival = await found();
  viewers = [acme, rival].flatMap((company): Viewer[] => {
    const name = company === acme ? 'acme' : 'the rival';
    return [
      { title: `${name} as a whole`, agent: company.agent, company, userId: null, sees: OWNERS },
      { title: `${name}'s alice`, agent: company.agent, company, userId: 'alice', sees: ['alice', 'shared'] },
      { title: `${name}'s bob`, agent: company.agent, company, userId: 'bob', sees: ['bob', 'shared'] },
      { title: `${name}'s unknown user`, agent: company.agent, company, userId: 'nobody', sees: ['shared'] },
      { title: `${name}'s key bound to alice`, agent: company.boundToAlice, company, userId: null, sees: ['alice', 'shared'] },
    ];
  });
});

/** An account with two users, each with a memory, a shared one and one of its own. Both companies name their users alike. */
async function found(): Promise<Company> {
  const agent = await service.newAccount();
  const boundToAlice = await service.newKey(agent, { scopes: ['admin'], userId: 'alice' });
  const company = { agent, boundToAlice, memories: {} as Record<Owner, Planted> };
  for (const owner of OWNERS) {
    const canary = `canary${randomBytes(6).toString('hex')}x`;
    const user = owner === 'alice' || owner === 'bob' ? { user_id: owner } : {};
    const id = await agent.store({
      content: `The secret recipe is called ${canary}`,
      ...user,
      tier: owner === 'shared' ? 3 : 2,
      type: `type-${canary}`,
      tags: ['secret', `tag-${canary}`],
      session_id: `session-${canary}`,
      metadata: { [`key-${canary}`]: `value-${canary}` },
    });
    company.memories[owner] = { id, canary, owner, company };
  }
  return company;
}

const planted = () => [acme, rival].flatMap(({ memories }) => Object.values(memories));
const visibleTo = ({ company, sees }: Viewer) => sees.map((owner) => company.memories[owner]);
const hiddenFrom = (viewer: Viewer) => planted().filter((memory) => !visibleTo(viewer).includes(memory));
const asked = ({ userId }: Viewer): Record<string, string> => (userId === null ? {} : { user_id: userId });
const sorted = (memories: readonly Planted[]) => memories.map(({ id }) => id).sort();

function idsOf(reply: Reply): string[] {
  expect(reply.status, reply.story).toBe(200);
  return reply.body.memories.map(({ id }: { id: string }) => id).sort();
}

/** Everything that a client can see of an answer, with the request id, the date, the caller's own rate limit and what it sent made the same. */
function visibleParts(reply: Reply, sent: string): string {
  const headers = [...reply.headers].filter(([name]) => !/^(date|x-request-id|x-ratelimit-.*)$/.test(name));
  const requestId = reply.headers.get('x-request-id')!;
  return JSON.stringify([reply.status, headers, reply.body]).replaceAll(requestId, 'REQUEST-ID').replaceAll(sent, 'SENT');
}

/** Fails when any part of an answer names a memory that the viewer must not know of. */
function expectNoLeak(reply: Reply, viewer: Viewer, except: readonly string[] = []): void {
  const text = JSON.stringify(reply.body) + JSON.stringify([...reply.headers]);
  for (const { id, canary } of hiddenFrom(viewer)) {
    if (!except.includes(canary)) expect(text.includes(canary), `${viewer.title} read ${canary}: ${reply.story}`).toBe(false);
    if (!except.includes(id)) expect(text.includes(id), `${viewer.title} read ${id}: ${reply.story}`).toBe(false);
  }
}

describe('a request sees its own and nothing else', () => {
  it('in lists, counts and searches, over REST', async () => {
    for (const viewer of viewers) {
      const own = sorted(visibleTo(viewer));
      for (const sort of ['recent', 'oldest']) {
        const listed = await viewer.agent.get('/memory/list', { limit: 100, sort, ...asked(viewer) });
        expect(idsOf(listed), `${viewer.title}: ${listed.story}`).toEqual(own);
        expect(listed.body.total, listed.story).toBe(own.length);
        expectNoLeak(listed, viewer);
      }
      const counted = await viewer.agent.get('/memory/list', { count_only: true, ...asked(viewer) });
      expect(counted.body, `${viewer.title}: ${counted.story}`).toEqual({ count_only: true, count: own.length });
      const searched = await viewer.agent.get('/memory/search', { q: 'The secret recipe', limit: 100, explain: true, ...asked(viewer) });
      expect(idsOf(searched), `${viewer.title}: ${searched.story}`).toEqual(own);
      expectNoLeak(searched, viewer);
    }
  });

  it('in lists, counts and searches, over GraphQL', async () => {
    for (const viewer of viewers) {
      const reply = await viewer.agent.graphql(
        `query ($filter: MemoryFilter) {
           memories(filter: $filter, first: 100) { totalCount nodes { id content tags metadata sessionId type } edges { node { id } } }
           searchMemories(query: "the secret recipe", first: 100, filter: $filter) { count hits { memory { id content metadata } } }
         }`,
        { filter: viewer.userId === null ? {} : { userId: viewer.userId } },
      );
      const own = sorted(visibleTo(viewer));
      const { memories, searchMemories } = reply.body.data;
      expect(memories.nodes.map(({ id }: { id: string }) => id).sort(), `${viewer.title}: ${reply.story}`).toEqual(own);
      expect(memories.totalCount, reply.story).toBe(own.length);
      expect(searchMemories.hits.map(({ memory }: { memory: { id: string } }) => memory.id).sort(), `${viewer.title}: ${reply.story}`).toEqual(own);
      expectNoLeak(reply, viewer);
    }
  });

  it("through no filter: another's tag, type or session is as unknown as one that nobody has", async () => {
    for (const viewer of viewers) {
      const filters = (canary: string): Record<string, string>[] => [
        { tags: `tag-${canary}` },
        { tags: `secret,tag-${canary}` },
        { type: `type-${canary}` },
        { session_id: `session-${canary}` },
      ];
      const hidden = hiddenFrom(viewer);
      await Promise.all(
        hidden.map(async ({ canary }, index) => {
          const filter = { ...filters(canary)[index % 4], ...asked(viewer) };
          const listed = await viewer.agent.get('/memory/list', filter);
          const searched = await viewer.agent.get('/memory/search', { q: `recipe ${canary}`, ...filter });
          expect(listed.body, `${viewer.title}: ${listed.story}`).toEqual({ memories: [], count: 0, total: 0, offset: 0, limit: 20, cursor: null });
          expect(searched.body, `${viewer.title}: ${searched.story}`).toEqual({ memories: [], count: 0 });
        }),
      );
      const { canary, id } = viewer.company.memories.shared;
      for (const filter of filters(canary)) {
        const listed = await viewer.agent.get('/memory/list', { ...filter, ...asked(viewer) });
        expect(idsOf(listed), `${viewer.title}: ${listed.story}`).toEqual([id]);
      }
    }
  });

  it('whatever headers name another account or user', async () => {
    const reply = await acme.agent.send('GET', '/memory/list?user_id=alice', undefined, {
      'x-workspace-id': rival.agent.account.id,
      'x-account-id': rival.agent.account.id,
      'x-user-id': 'bob',
      'x-forwarded-user': 'bob',
      cookie: `account=${rival.agent.account.id}; user_id=bob`,
    });
    expect(idsOf(reply), reply.story).toEqual(sorted([acme.memories.alice, acme.memories.shared]));
  });

  it('a misspelt or repeated user_id is refused and never widens what is seen', async () => {
    for (const query of [
      'userId=alice',
      'user-id=alice',
      'USER_ID=alice',
      'user_id=',
      'user_id[]=alice',
      'user_id=alice&user_id=bob',
      'user_id=alice&userId=bob',
    ]) {
      for (const path of ['/memory/list', '/memory/search?q=recipe', `/memory/${acme.memories.bob.id}`]) {
        const reply = await acme.agent.send('GET', `${path}${path.includes('?') ? '&' : '?'}${query}`);
        expect(reply.status, reply.story).toBe(400);
      }
    }
  });
});

describe('a cursor', () => {
  const firstPage = async (viewer: Viewer) => (await viewer.agent.get('/memory/list', { limit: 1, ...asked(viewer) })).body.cursor as string;

  it('of another account or another user is refused, and says nothing', async () => {
    const [acmeAlice, acmeBob, rivalAlice, whole] = [viewers[1]!, viewers[2]!, viewers[6]!, viewers[0]!];
    for (const [viewer, other] of [
      [acmeAlice, rivalAlice],
      [acmeAlice, acmeBob],
      [acmeAlice, whole],
      [rivalAlice, acmeAlice],
    ] as const) {
      const cursor = await firstPage(other);
      expect(cursor).toEqual(expect.any(String));
      const reply = await viewer.agent.get('/memory/list', { limit: 1, cursor, ...asked(viewer) });
      expect(reply.status, reply.story).toBe(400);
      expectNoLeak(reply, viewer);
      const graphql = await viewer.agent.graphql(
        'query ($after: String) { memories(first: 1, after: $after, filter: { userId: "alice" }) { nodes { id } } }',
        {
          after: cursor,
        },
      );
      expect(graphql.body.errors?.[0].extensions.code, graphql.story).toBe('INVALID_PARAMETER');
      expectNoLeak(graphql, viewer);
    }
  });

  it("made up from another's place in time shows only what the caller sees anyway", async () => {
    const viewer = viewers[1]!;
    const [list] = JSON.parse(Buffer.from(await firstPage(viewer), 'base64url').toString()) as [string, number, string];
    for (const place of [
      [Number.MAX_SAFE_INTEGER, 'z'],
      [0, ''],
      [-1, rival.memories.bob.id],
      [Date.now(), acme.memories.bob.id],
    ]) {
      const cursor = Buffer.from(JSON.stringify([list, ...place])).toString('base64url');
      const reply = await viewer.agent.get('/memory/list', { limit: 1, cursor, ...asked(viewer) });
      expect([200, 400], reply.story).toContain(reply.status);
      expectNoLeak(reply, viewer);
    }
  });
});

describe('by its id', () => {
  it("another's memory answers as one that does not exist, byte for byte", async () => {
    for (const viewer of viewers) {
      const unknown = uuid();
      const calls = (id: string): (() => Promise<Reply>)[] => [
        () => viewer.agent.get(`/memory/${id}`, asked(viewer)),
        () => viewer.agent.get(`/v1/memory/${id}`, asked(viewer)),
        () => viewer.agent.patch(`/memory/${id}`, { content: 'Overwritten' }, asked(viewer)),
        () => viewer.agent.patch(`/memory/${id}`, { archived: true, ...asked(viewer) }),
        () => viewer.agent.patch(`/memory/${id}`, { tier: 3 }, asked(viewer)),
        () => viewer.agent.delete(`/memory/${id}`, asked(viewer)),
        () =>
          viewer.agent.graphql('query ($id: ID!, $userId: String) { memory(id: $id, userId: $userId) { content } }', { id, userId: viewer.userId }),
        () =>
          viewer.agent.graphql(
            'mutation ($id: ID!, $userId: String) { updateMemory(id: $id, userId: $userId, input: { type: "x" }) { memory { content } } }',
            {
              id,
              userId: viewer.userId,
            },
          ),
        () =>
          viewer.agent.graphql('mutation ($id: ID!, $userId: String) { deleteMemory(id: $id, userId: $userId) { id } }', {
            id,
            userId: viewer.userId,
          }),
      ];
      const expected = await Promise.all(calls(unknown).map(async (call) => visibleParts(await call(), unknown)));
      for (const memory of hiddenFrom(viewer)) {
        const replies = await Promise.all(calls(memory.id).map((call) => call()));
        replies.forEach((reply, index) => {
          expect(visibleParts(reply, memory.id), `${viewer.title}: ${reply.story}`).toBe(expected[index]);
          expectNoLeak(reply, viewer, [memory.id]);
        });
        expect(replies[0]!.status).toBe(404);
      }
    }
  });

  it('no spelling of an id gets around that', async () => {
    const { id } = rival.memories.own;
    for (const spelling of [
      id.toUpperCase(),
      id.replaceAll('-', ''),
      `{${id}}`,
      `urn:uuid:${id}`,
      `${id}%00`,
      `${id}%20`,
      `%20${id}`,
      `${id}/`,
      `${id}?user_id=alice`,
      `./${id}`,
    ])
      for (const method of ['GET', 'PATCH', 'DELETE']) {
        const reply = await acme.agent.send(method, `/memory/${spelling}`, method === 'PATCH' ? { type: 'stolen' } : undefined);
        expect(reply.status, reply.story).toBe(404);
      }
  });

  it('a key that is bound to a user names the binding for another user_id, and can read but not change what is shared', async () => {
    const { shared, bob } = acme.memories;
    for (const reply of [
      await acme.boundToAlice.get(`/memory/${bob.id}`, { user_id: 'bob' }),
      await acme.boundToAlice.get('/memory/list', { user_id: 'bob' }),
      await acme.boundToAlice.get('/memory/search', { user_id: 'bob', q: 'recipe' }),
      await acme.boundToAlice.post('/memory', { user_id: 'bob', content: 'Planted by alice' }),
      await acme.boundToAlice.patch(`/memory/${bob.id}`, { type: 'x' }, { user_id: 'bob' }),
      await acme.boundToAlice.delete(`/memory/${bob.id}`, { user_id: 'bob' }),
    ]) {
      expect(reply.status, reply.story).toBe(403);
      expect(reply.body.error, reply.story).toContain("'alice'");
      expectNoLeak(reply, viewers[4]!);
    }
    expect((await acme.boundToAlice.get(`/memory/${shared.id}`)).status).toBe(200);
    for (const reply of [
      await acme.boundToAlice.patch(`/memory/${shared.id}`, { type: 'x' }),
      await acme.boundToAlice.delete(`/memory/${shared.id}`),
    ])
      expect(reply.status, reply.story).toBe(403);
  });

  it("what a bound key stores is that user's, whatever the tier", async () => {
    const stored = await acme.boundToAlice.store({ content: 'Stored through the bound key', tier: 3 });
    const seen = await acme.agent.get(`/memory/${stored}`);
    expect(seen.body.user_id, seen.story).toBe('alice');
    expect((await acme.agent.get(`/memory/${stored}`, { user_id: 'bob' })).status).toBe(404);
    const erased = await acme.boundToAlice.delete(`/memory/${stored}`);
    expect(erased.status, erased.story).toBe(200);
  });

  it('nothing of all that has changed a memory', async () => {
    for (const { id, canary, company } of planted()) {
      const reply = await company.agent.get(`/memory/${id}`);
      expect(reply.body, reply.story).toMatchObject({
        version: 1,
        archived: false,
        type: `type-${canary}`,
        content: `The secret recipe is called ${canary}`,
      });
    }
  });
});

describe('source_ids', () => {
  it("that name another's memory are refused as ids that nobody has", async () => {
    for (const viewer of viewers) {
      const unknown = uuid();
      const store = (id: string) =>
        viewer.agent.post('/memory', { content: 'Derived', source_ids: [viewer.company.memories.shared.id, id], ...asked(viewer) });
      const expected = visibleParts(await store(unknown), unknown);
      for (const { id } of hiddenFrom(viewer)) {
        const reply = await store(id);
        expect(reply.status, reply.story).toBe(400);
        expect(visibleParts(reply, id), `${viewer.title}: ${reply.story}`).toBe(expected);
      }
    }
    const listed = await acme.agent.get('/memory/list', { count_only: true });
    expect(listed.body.count, 'nothing was stored by a refused request').toBe(4);
  });
});

describe('a search', () => {
  /** Attempts to be read as Lucene syntax that names somebody else's words. */
  function attempts(target: Planted): string[] {
    const accountId = target.company.agent.account.id;
    const user = target.owner === 'alice' || target.owner === 'bob' ? target.owner : null;
    const scope = scopeOf({ accountId, userId: user, tier: target.owner === 'shared' ? 3 : 2 });
    const tokens = [scope, userScope(accountId, 'bob'), sharedScope(accountId), accountToken(accountId), tagToken(accountId, 'secret')];
    const more = [typeToken(accountId, `type-${target.canary}`), sessionToken(accountId, `session-${target.canary}`)];
    const { canary } = target;
    return [
      ...[...tokens, ...more].flatMap((token) => [`facets:"${token}"`, `+facets:(${token})^9`, `") OR facets:"${token}`]),
      canary,
      `content:${canary}`,
      `content:"${canary}"`,
      `"${canary}`,
      `${canary}"`,
      `"recipe" OR "${canary}"`,
      `recipe AND ${canary} OR NOT nothing`,
      `recipe) OR (content:${canary}`,
      `recipe")) OR ((facets:${scope}) AND (content:"${canary}`,
      `recipe^0 OR ${canary}^1000`,
      `-facets:archived0 +content:${canary}`,
      `NOT facets:${scope} OR facets:${scope}`,
      `${canary.slice(0, 8)}*`,
      `${canary.slice(0, 7)}?${canary.slice(8)}`,
      `${canary}~2`,
      `content:[a TO z]`,
      `content:{${canary} TO *}`,
      `facets:[a TO z] OR content:[* TO *]`,
      `/canary.*/`,
      `content:/.*${canary.slice(6)}/`,
      `*:*`,
      `*`,
      `?*`,
      `_exists_:content`,
      `recipe \\" OR facets:\\"${scope}`,
      `\\u0022 OR facets:\\u0022${scope}`,
      `\\${canary}\\`,
      `recipe && ${canary} || !x`,
      `{!term f=facets}${scope}`,
      `<${canary}>`,
      `content:(${canary} ${scope})~5 +_val_:"${canary}"`,
      `accountId:${accountId}`,
      `${accountId}`,
      `scope:"${scope}"^0 +content:(secret)`,
    ];
  }

  it("reads no syntax in what is asked: others' words and scopes stay out of reach", async () => {
    const viewer = viewers[1]!;
    const own = sorted(visibleTo(viewer));
    for (const target of [acme.memories.bob, acme.memories.own, rival.memories.alice])
      for (const q of attempts(target)) {
        const reply = await viewer.agent.get('/memory/search', { q, limit: 100, ...asked(viewer) });
        expect(reply.status, reply.story).toBe(200);
        expect(own, `${q}: ${reply.story}`).toEqual(expect.arrayContaining(idsOf(reply)));
        expectNoLeak(reply, viewer);
      }
  });

  it('neither does it of the whole account, over GraphQL', async () => {
    const viewer = viewers[0]!;
    for (const query of attempts(rival.memories.shared)) {
      const reply = await viewer.agent.graphql(
        'query ($query: String!) { searchMemories(query: $query, first: 100) { hits { memory { id content tags } } } }',
        {
          query,
        },
      );
      expect(reply.body.errors, reply.story).toBeUndefined();
      expectNoLeak(reply, viewer);
    }
  });

  it('reads none in the filters either', async () => {
    const viewer = viewers[1]!;
    const accountId = rival.agent.account.id;
    const token = sharedScope(accountId);
    for (const value of [
      `x) OR facets:(${token}`,
      `x"^0 OR facets:"${token}"`,
      token,
      accountToken(accountId),
      '*',
      '*:*',
      `") OR true //`,
      `' OR 1=1 //`,
    ]) {
      const filters: Record<string, string>[] = [{ tags: value }, { type: value }, { session_id: value }, { user_id: value }];
      for (const filter of filters) {
        const query = { ...asked(viewer), ...filter };
        for (const reply of [await viewer.agent.get('/memory/search', { q: 'recipe', ...query }), await viewer.agent.get('/memory/list', query)]) {
          expect(reply.status, reply.story).toBe(200);
          const seen = 'user_id' in filter ? [acme.memories.shared.id] : [];
          expect(idsOf(reply), reply.story).toEqual(seen);
        }
      }
    }
  });

  it("finds a memory that holds another's scope token as text only for its owner", async () => {
    const bob = userScope(acme.agent.account.id, 'bob');
    const trap = await acme.agent.store({ content: `A note that says ${bob} and facets`, user_id: 'alice', tags: [bob], type: bob, session_id: bob });
    const asBob = await acme.agent.get('/memory/search', { q: bob, user_id: 'bob', limit: 100 });
    expect(idsOf(asBob), asBob.story).not.toContain(trap);
    expect(idsOf(await acme.agent.get('/memory/search', { q: bob, user_id: 'alice', limit: 100 }))).toContain(trap);
    await acme.agent.delete(`/memory/${trap}`);
  });
});

describe('users are told apart exactly', () => {
  it('by every character of user_id', async () => {
    const agent = await service.newAccount();
    const users = [
      'maya',
      'Maya',
      'MAYA',
      ' maya',
      'maya ',
      'may',
      'mayaa',
      'm%61ya',
      'maya,bob',
      '["maya"]',
      'maya"',
      "maya'",
      'mаya' /* Cyrillic а */,
      'máya',
      'ma\u0301ya',
      'maya\u200b',
      '*',
      'null',
      'undefined',
      '0',
    ];
    const ids = new Map<string, string>();
    for (const user_id of users) ids.set(user_id, await agent.store({ content: 'Everyone says the same sentence', user_id }));
    expect(new Set(ids.values()).size, 'the same content of another user is another memory').toBe(users.length);
    for (const user_id of users) {
      const listed = await agent.get('/memory/list', { user_id });
      expect(idsOf(listed), `${user_id}: ${listed.story}`).toEqual([ids.get(user_id)]);
      const searched = await agent.get('/memory/search', { user_id, q: 'the same sentence', limit: 100 });
      expect(idsOf(searched), `${user_id}: ${searched.story}`).toEqual([ids.get(user_id)]);
    }
  });
});

describe('a change of tier', () => {
  it('moves a memory without a user into the shared and out again, and one of a user never', async () => {
    const agent = await service.newAccount();
    const own = await agent.store({ content: 'The office closes at six', tags: ['hours'] });
    const ofAlice = await agent.store({ content: 'Alice leaves the office at five', user_id: 'alice', tags: ['hours'] });
    const seenBy = async (user_id: string) => {
      const [listed, searched, byTag] = await Promise.all([
        agent.get('/memory/list', { user_id }),
        agent.get('/memory/search', { user_id, q: 'office hours', limit: 100 }),
        agent.get('/memory/search', { user_id, q: 'office hours', tags: 'hours', limit: 100 }),
      ]);
      expect(idsOf(searched), searched.story).toEqual(idsOf(listed));
      expect(idsOf(byTag), byTag.story).toEqual(idsOf(listed));
      const got = await agent.get(`/memory/${own}`, { user_id });
      expect(got.status, got.story).toBe(idsOf(listed).includes(own) ? 200 : 404);
      return idsOf(listed);
    };
    expect(await seenBy('bob')).toEqual([]);
    for (const tier of [3, 1, 3, 0, 3, 2]) {
      const changed = await agent.patch(`/memory/${own}`, { tier });
      expect(changed.status, changed.story).toBe(200);
      expect((await agent.patch(`/memory/${ofAlice}`, { tier })).status).toBe(200);
      expect(await seenBy('bob'), `tier ${tier}`).toEqual(tier === 3 ? [own] : []);
      expect(await seenBy('alice'), `tier ${tier}`).toEqual((tier === 3 ? [own, ofAlice] : [ofAlice]).sort());
    }
  });

  it('is answered also to a user who no longer sees the memory after it', async () => {
    const agent = await service.newAccount();
    const id = await agent.store({ content: 'Lunch is at noon', tier: 3 });
    const moved = await agent.patch(`/memory/${id}`, { tier: 2 }, { user_id: 'alice' });
    expect(moved.body, moved.story).toEqual({ id, updated: true, version: 2 });
    expect((await agent.get(`/memory/${id}`, { user_id: 'alice' })).status).toBe(404);
    expect((await agent.patch(`/memory/${id}`, { tier: 3 }, { user_id: 'alice' })).status).toBe(404);
  });
});

describe('the same content', () => {
  it('is stored anew in another account, for another user, shared, own and in another session, and says nothing of the others', async () => {
    const accounts = [await service.newAccount(), await service.newAccount()];
    const places = [
      { user_id: 'alice' },
      { user_id: 'bob' },
      { tier: 3 },
      {},
      { user_id: 'alice', tier: 3 },
      { session_id: 's' },
      { user_id: 'alice', session_id: 's' },
    ];
    const ids: string[] = [];
    for (const agent of accounts)
      for (const place of places) {
        const reply = await agent.post('/memory', { content: 'The coffee machine is on the second floor', ...place });
        expect(reply.body, reply.story).toEqual({ id: expect.any(String), stored: true });
        ids.push(reply.body.id as string);
      }
    expect(new Set(ids).size).toBe(accounts.length * places.length);
    for (const agent of accounts)
      for (const place of places) {
        const again = await agent.post('/memory', { content: '  The coffee machine is on the second floor ', ...place });
        expect(again.body, again.story).toMatchObject({ stored: false, duplicate: true });
      }
    for (const agent of accounts) expect((await agent.get('/memory/list', { count_only: true })).body.count).toBe(places.length);
  });

  it("can be stored as a memory by nobody else: fields that are not the caller's to set are ignored", async () => {
    const { id } = rival.memories.own;
    const reply = await acme.agent.post('/memory', {
      content: 'A memory with a chosen id',
      id,
      account_id: rival.agent.account.id,
      scope: sharedScope(rival.agent.account.id),
      facets: [accountToken(rival.agent.account.id)],
      dedupe_key: 'x',
      version: 7,
    });
    expect(reply.status, reply.story).toBe(200);
    expect(reply.body.id, reply.story).not.toBe(id);
    expect(reply.body.warnings, reply.story).toContain("unknown field 'id' was ignored");
    const search = await rival.agent.get('/memory/search', { q: 'A memory with a chosen id', limit: 100 });
    expect(idsOf(search), search.story).toEqual(sorted(Object.values(rival.memories)));
    const counted = await acme.agent.get(`/memory/${reply.body.id}`);
    expect(counted.body.version, counted.story).toBe(1);
    await acme.agent.delete(`/memory/${reply.body.id}`);
  });
});

describe('every statement that a request runs', () => {
  interface Recorded {
    readonly statement: string;
    readonly parameters: Parameters;
  }
  const recorded: Recorded[] = [];
  let recording: TestService;
  let database: Database;

  beforeAll(async () => {
    database = connectDatabase(inject('neo4j'));
    const record = (statement: string, parameters: Parameters) => void recorded.push({ statement, parameters });
    recording = await startService({
      database: {
        ...database,
        read: (statement, parameters, deadline) => (record(statement, parameters), database.read(statement, parameters, deadline)),
        write: (statement, parameters, deadline) => (record(statement, parameters), database.write(statement, parameters, deadline)),
        transaction: (work, deadline) =>
          database.transaction((run) => work((statement, parameters) => (record(statement, parameters), run(statement, parameters))), deadline),
      },
    });
  });
  afterAll(async () => {
    await recording.close();
    await database.close();
  });

  it('is bound to the account of its caller, and holds no text of a user', async () => {
    const agent = await recording.newAccount();
    const bound = await recording.newKey(agent, { scopes: ['admin'], userId: 'user-marker9' });
    const words = 'marker9';
    const memory = {
      content: `Content ${words}`,
      type: `type-${words}`,
      tags: [`tag-${words}`],
      session_id: `session-${words}`,
      metadata: { [`key-${words}`]: words },
    };
    const filter = {
      type: memory.type,
      tags: `tag-${words},other-${words}`,
      session_id: memory.session_id,
      tiers: '0,1,2,3',
      after: '2020-01-01',
      before: '2100-01-01',
    };
    recorded.length = 0;

    for (const [caller, user] of [
      [agent, {}],
      [agent, { user_id: `user-${words}` }],
      [bound, {}],
    ] as const) {
      const source = await caller.store({ ...memory, content: `Source ${words} ${uuid()}`, ...user });
      const id = await caller.store({ ...memory, content: `Content ${words} ${uuid()}`, ...user, source_ids: [source] });
      const { cursor } = (await caller.get('/memory/list', { limit: 1, ...user })).body;
      const replies = await Promise.all([
        caller.get('/memory/list', { ...user, ...filter }),
        caller.get('/memory/list', { ...user, sort: 'oldest', offset: 1 }),
        caller.get('/memory/list', { ...user, limit: 1, cursor }),
        caller.get('/memory/list', { ...user, ...filter, count_only: true, archived: true }),
        caller.get('/memory/search', { q: `what about ${words}?`, ...user, ...filter }),
        caller.get('/memory/search', { q: `"${words}" OR facets:x`, ...user }),
        caller.get(`/memory/${id}`, user),
        caller.graphql('{ memories(first: 5) { totalCount nodes { id } pageInfo { hasNextPage } } searchMemories(query: "marker9") { count } }'),
        caller.graphql('mutation ($id: ID!, $tags: [String!]) { updateMemory(id: $id, input: { tags: $tags }) { memory { id } } }', {
          id,
          tags: [words],
        }),
      ]);
      for (const reply of replies) expect(reply.status, reply.story).toBe(200);
      const changed = await caller.patch(`/memory/${id}`, { content: `New ${words}`, metadata: { [words]: words }, tier: 1 }, user);
      expect(changed.status, changed.story).toBe(200);
      for (const reply of [await caller.get(`/memory/${id}/history`, user), await caller.post(`/memory/${id}/restore`, { version: 1, ...user })])
        expect(reply.status, reply.story).toBe(200);
      for (const target of [id, source]) expect((await caller.delete(`/memory/${target}`, user)).status).toBe(200);
      const event = await caller.send(
        'POST',
        '/webhook/ci',
        { content: `Event ${words}`, event_type: words },
        { 'idempotency-key': `${words}-${uuid()}` },
      );
      for (const reply of [event, await caller.get('/usage')]) expect(reply.status, reply.story).toBe(200);
    }

    const made = await agent.graphql('mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { apiKey { id } } }', {
      input: { name: words, userId: `user-${words}` },
    });
    const { id } = made.body.data.createApiKey.apiKey;
    const { apiKey } = (await agent.graphql('mutation ($id: ID!) { rotateApiKey(id: $id) { apiKey { id } } }', { id })).body.data.rotateApiKey;
    const revoked = await agent.graphql('mutation ($id: ID!) { revokeApiKey(id: $id) { apiKey { state } } }', { id: apiKey.id });
    expect(revoked.body.data, revoked.story).toEqual({ revokeApiKey: { apiKey: { state: 'REVOKED' } } });
    const pages = '{ account { name } apiKeys(first: 2) { pageInfo { endCursor } } auditLog(first: 2) { pageInfo { endCursor } } }';
    const { apiKeys, auditLog } = (await agent.graphql(pages)).body.data;
    const next = await agent.graphql(
      'query ($keys: String, $log: String) { apiKeys(after: $keys) { nodes { id } } auditLog(after: $log) { nodes { id } } }',
      { keys: apiKeys.pageInfo.endCursor, log: auditLog.pageInfo.endCursor },
    );
    expect(next.body.errors, next.story).toBeUndefined();

    const seen = new Set<string>();
    for (const { statement, parameters } of recorded) {
      // The queue of what waits to be embedded is the service's own.
      if (statement.startsWith('MATCH (m:Unembedded)')) continue;
      seen.add(statement);
      expect(statement).not.toMatch(/marker9|user-|[0-9a-f]{8}-[0-9a-f]{4}|'[a-z]?[0-9a-f]{20}/i);
      // What is asked for by a key, or by the id of a write, is nobody else's.
      if (/^MATCH \((k:ApiKey \{hash: \$hash\}|c:Commit \{id: \$commitId\})\)/.test(statement)) continue;
      expect(statement).toMatch(/\$accountId|row\.accountId|row\.properties\.accountId/);
      const { rows } = parameters as { rows?: readonly { accountId?: string; properties?: { accountId: string } }[] };
      const accounts = rows ? rows.map((row) => row.accountId ?? row.properties?.accountId) : [parameters['accountId']];
      expect(new Set(accounts), statement).toEqual(new Set([agent.account.id]));
    }
    expect(seen.size, 'the test runs the statements it is about').toBeGreaterThan(24);
  });

  it('that counts recalls is bound to the account of each row', async () => {
    const [one, two] = [await recording.newAccount(), await recording.newAccount()];
    const ids = [await one.store('A memory that is recalled'), await two.store('A memory that is recalled')];
    recorded.length = 0;
    await Promise.all([one.found('recalled'), two.found('recalled')]);
    await expect.poll(() => recorded.find(({ statement }) => statement.includes('m.recalls + ')), { timeout: 8_000, interval: 100 }).toBeDefined();
    const { statement, parameters } = recorded.find((entry) => entry.statement.includes('m.recalls + '))!;
    expect(statement).toContain('MATCH (m:Memory {accountId: row.accountId, id: row.id})');
    expect(parameters['rows']).toEqual(
      expect.arrayContaining([
        { accountId: one.account.id, id: ids[0], recalls: 1 },
        { accountId: two.account.id, id: ids[1], recalls: 1 },
      ]),
    );
  });
});
