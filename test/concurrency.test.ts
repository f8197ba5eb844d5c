import { describe, expect, it } from 'vitest';
import { Client, type Reply } from './testkit/client.ts';
import { useService } from './testkit/service.ts';

/** What is looked at is who sees what, not how long that takes on a busy machine with a Neo4j that was just started. */
const patient = { settings: { requestTimeout: 45_000 } };
const service = useService(patient);
/** A second instance on the same Neo4j, with caches and queues of its own. */
const other = useService(patient);

/** The same key at both instances. */
const atBoth = (agent: Client): [Client, Client] => [agent, new Client(other.url, agent.key, agent.account, agent.keyId)];
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index));

function idsOf(reply: Reply): string[] {
  expect(reply.status, reply.story).toBe(200);
  return reply.body.memories.map(({ id }: { id: string }) => id);
}

function expectNoFault(replies: readonly Reply[], allowed: readonly number[]): void {
  for (const reply of replies) expect(allowed, reply.story).toContain(reply.status);
}

describe('sixteen clients at once', () => {
  it('each read their own writes: what is stored is there, what is changed is changed, what is erased is gone', async () => {
    const agent = await service.newAccount();
    await Promise.all(
      times(16, async (client) => {
        for (let round = 0; round < 2; round++) {
          const mark = `marker${client}z${round}q`;
          const id = await agent.store({ content: `The first text with ${mark}`, user_id: `user-${client % 4}`, tags: [mark] });
          await expectState(agent, id, { content: `The first text with ${mark}`, tag: mark, version: 1 });

          const changed = await agent.patch(`/memory/${id}`, { content: `Another wording of ${mark}`, tags: [`${mark}-new`] });
          expect(changed.body, changed.story).toEqual({ id, updated: true, version: 2 });
          await expectState(agent, id, { content: `Another wording of ${mark}`, tag: `${mark}-new`, version: 2 });
          const byOldTag = await agent.get('/memory/list', { tags: mark });
          expect(idsOf(byOldTag), byOldTag.story).toEqual([]);

          const erased = await agent.delete(`/memory/${id}`);
          expect(erased.status, erased.story).toBe(200);
          const [got, listed, searched] = await lookedUp(agent, id, `${mark}-new`);
          expect(got.status, got.story).toBe(404);
          expect(idsOf(listed), listed.story).toEqual([]);
          expect(idsOf(searched), searched.story).not.toContain(id);
        }
      }),
    );
    const left = await agent.get('/memory/list', { count_only: true });
    expect(left.body.count, left.story).toBe(0);
  });

  it('read at one instance what was just written at the other', async () => {
    const [here, there] = atBoth(await service.newAccount());
    await Promise.all(
      times(8, async (client) => {
        const mark = `crossing${client}q`;
        const id = await here.store({ content: `Stored here: ${mark}`, tags: [mark] });
        await expectState(there, id, { content: `Stored here: ${mark}`, tag: mark, version: 1 });
        expect((await there.patch(`/memory/${id}`, { content: `Changed there: ${mark}` })).status).toBe(200);
        await expectState(here, id, { content: `Changed there: ${mark}`, tag: mark, version: 2 });
        expect((await here.delete(`/memory/${id}`)).status).toBe(200);
        expect((await there.get(`/memory/${id}`)).status).toBe(404);
      }),
    );
  });

  const lookedUp = (agent: Client, id: string, tag: string) =>
    Promise.all([agent.get(`/memory/${id}`), agent.get('/memory/list', { tags: tag }), agent.get('/memory/search', { q: tag, limit: 100 })]);

  async function expectState(agent: Client, id: string, { content, tag, version }: { content: string; tag: string; version: number }) {
    const [got, listed, searched] = await lookedUp(agent, id, tag);
    expect(got.body, got.story).toMatchObject({ id, content, version });
    expect(listed.body.memories, listed.story).toEqual([expect.objectContaining({ id, content, version })]);
    expect(searched.body.memories, searched.story).toContainEqual(expect.objectContaining({ id, content, version }));
  }
});

describe('many changes of one memory', () => {
  it('are all kept: two hundred PATCHes, each with a key of its own', async () => {
    const agent = await service.newAccount();
    const id = await agent.store('A memory that everyone annotates');
    const replies = await Promise.all(times(200, (index) => agent.patch(`/memory/${id}`, { metadata: { [`key${index}`]: index } })));
    expectNoFault(replies, [200]);
    expect(replies.map(({ body }) => body.version as number).sort((a, b) => a - b)).toEqual(times(200, (index) => index + 2));
    const got = await agent.get(`/memory/${id}`);
    expect(got.body.version, got.story).toBe(201);
    expect(got.body.metadata).toEqual(Object.fromEntries(times(200, (index) => [`key${index}`, index])));
  });

  it('through two instances lose nothing', async () => {
    const agents = atBoth(await service.newAccount());
    const id = await agents[0].store('A memory that two instances change');
    const replies = await Promise.all(times(60, (index) => agents[index % 2]!.patch(`/memory/${id}`, { metadata: { [`key${index}`]: index } })));
    expectNoFault(replies, [200]);
    expect(replies.map(({ body }) => body.version as number).sort((a, b) => a - b)).toEqual(times(60, (index) => index + 2));
    const got = await agents[0].get(`/memory/${id}`);
    expect(got.body.metadata, got.story).toEqual(Object.fromEntries(times(60, (index) => [`key${index}`, index])));
  });

  it('that are the same change one time, and the others find nothing to change', async () => {
    const agents = atBoth(await service.newAccount());
    const id = await agents[0].store('A memory that is archived by everyone');
    const replies = await Promise.all(times(24, (index) => agents[index % 2]!.patch(`/memory/${id}`, { archived: true })));
    expectNoFault(replies, [200]);
    expect(replies.filter(({ body }) => body.updated === true)).toHaveLength(1);
    expect(new Set(replies.map(({ body }) => body.version as number))).toEqual(new Set([2]));
  });

  it('in one GraphQL document each answer with the memory as it is after that change', async () => {
    const agent = await service.newAccount();
    const id = await agent.store('A memory that is changed twice in a document');
    const reply = await agent.graphql(
      `mutation ($id: ID!) {
         first: updateMemory(id: $id, input: { type: "one" }) { version memory { type version } }
         second: updateMemory(id: $id, input: { type: "two" }) { version memory { type version } }
         store: storeMemory(input: { content: "A memory that is changed twice in a document" }) { id stored memory { type version } }
         gone: deleteMemory(id: $id) { deleted }
       }`,
      { id },
    );
    expect(reply.body.data, reply.story).toEqual({
      first: { version: 2, memory: { type: 'one', version: 2 } },
      second: { version: 3, memory: { type: 'two', version: 3 } },
      store: { id, stored: false, memory: { type: 'two', version: 3 } },
      gone: { deleted: true },
    });
  });
});

describe('many stores of the same content', () => {
  it('make one memory, and exactly one of them stored it', async () => {
    const agent = await service.newAccount();
    const replies = await Promise.all(times(64, () => agent.post('/memory', { content: 'Said by everyone at once' })));
    expectStoredOnce(replies);
    expect((await agent.get('/memory/list', { count_only: true })).body.count).toBe(1);
  });

  it('through two instances too, for several contents at a time', async () => {
    const agents = atBoth(await service.newAccount());
    const contents = times(4, (index) => `Content number ${index} that two instances get`);
    const replies = await Promise.all(times(128, (index) => agents[index % 2]!.post('/memory', { content: contents[(index >> 1) % 4]! })));
    for (const [position] of contents.entries()) expectStoredOnce(replies.filter((_, index) => (index >> 1) % 4 === position));
    expect((await agents[0].get('/memory/list', { count_only: true })).body.count).toBe(4);
  });

  function expectStoredOnce(replies: readonly Reply[]): void {
    expectNoFault(replies, [200]);
    expect(new Set(replies.map(({ body }) => body.id as string)).size, replies[0]!.story).toBe(1);
    expect(replies.filter(({ body }) => body.stored === true)).toHaveLength(1);
    expect(replies.filter(({ body }) => body.stored === false && body.duplicate === true)).toHaveLength(replies.length - 1);
  }
});

describe('many deletes of one memory', () => {
  it('erase it once: one answers 200, the others 404', async () => {
    const agents = atBoth(await service.newAccount());
    for (const round of times(6, (index) => index)) {
      const id = await agents[0].store(`A memory that is erased by everyone, ${round}`);
      const replies = await Promise.all(times(16, (index) => agents[index % 2]!.delete(`/memory/${id}`)));
      expectNoFault(replies, [200, 404]);
      expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    }
  });
});

describe('a race', () => {
  it('of PATCHes with a DELETE ends in 200 or 404 for each, and the memory is gone', async () => {
    const agents = atBoth(await service.newAccount());
    for (const round of times(10, (index) => index)) {
      const id = await agents[0].store(`A memory that is changed while it is erased, ${round}`);
      const [erased, ...changed] = await Promise.all([
        agents[1].delete(`/memory/${id}`),
        ...times(6, (index) => agents[index % 2]!.patch(`/memory/${id}`, { metadata: { [`k${index}`]: 1 }, content: `New text ${round} ${index}` })),
      ]);
      expect(erased.status, erased.story).toBe(200);
      expectNoFault(changed, [200, 404]);
      expect((await agents[0].get(`/memory/${id}`)).status).toBe(404);
    }
  });

  it('of stores with the DELETE of the same content ends in a memory that is there or in none, never in a fault', async () => {
    const agents = atBoth(await service.newAccount());
    for (const round of times(5, (index) => index)) {
      const content = `Stored and erased again and again, ${round}`;
      const id = await agents[0].store(content);
      const [erased, ...stored] = await Promise.all([
        agents[1].delete(`/memory/${id}`),
        ...times(4, (index) => agents[index % 2]!.post('/memory', { content })),
      ]);
      expect(erased.status, erased.story).toBe(200);
      expectNoFault(stored, [200]);
      const anew = stored.filter(({ body }) => body.stored === true);
      expect(anew.length, 'at most one of them stored it anew').toBeLessThanOrEqual(1);
      for (const { body } of anew) expect((await agents[0].get(`/memory/${body.id}`)).status).toBe(200);
      expect((await agents[0].get(`/memory/${id}`)).status).toBe(404);
    }
  });

  it('of stores with the DELETE of what they derive from ends in 200 or 400', async () => {
    const agents = atBoth(await service.newAccount());
    for (const round of times(10, (index) => index)) {
      const source = await agents[0].store(`A source that goes, ${round}`);
      const [erased, ...derived] = await Promise.all([
        agents[1].delete(`/memory/${source}`),
        ...times(4, (index) => agents[index % 2]!.post('/memory', { content: `Derived ${round} ${index}`, source_ids: [source] })),
      ]);
      expect(erased.status, erased.story).toBe(200);
      expectNoFault(derived, [200, 400]);
      for (const { status, body } of derived)
        if (status === 200) {
          const got = await agents[0].get(`/memory/${body.id}`);
          expect(got.body.source_ids, `lineage names nothing that is gone: ${got.story}`).toEqual([]);
        }
    }
  });

  it('of two memories for the same new content, by PATCH and by store, is never a fault', async () => {
    const agents = atBoth(await service.newAccount());
    for (const round of times(8, (index) => index)) {
      const ids = await Promise.all(times(4, (index) => agents[0].store(`Before ${round} ${index}`)));
      const content = `What all of them become, ${round}`;
      const [stored, ...changed] = await Promise.all([
        agents[1].post('/memory', { content }),
        ...ids.map((id, index) => agents[index % 2]!.patch(`/memory/${id}`, { content })),
      ]);
      expectNoFault([stored, ...changed], [200]);
      for (const { body } of changed) expect(body.version).toBe(2);
      const again = await agents[0].post('/memory', { content });
      expect(again.body, again.story).toMatchObject({ stored: false, duplicate: true });
    }
  });

  it('of PATCHes that archive, restore and move between shared and own leaves what the last one said', async () => {
    const agents = atBoth(await service.newAccount());
    const id = await agents[0].store({ content: 'A memory that is moved about', tier: 3 });
    const changes = [{ tier: 3 }, { tier: 2 }, { archived: true }, { archived: false }, { tier: 1 }, { tags: ['a'] }, { expires_at: null }];
    expectNoFault(await Promise.all(times(42, (index) => agents[index % 2]!.patch(`/memory/${id}`, changes[index % changes.length]!))), [200]);
    const last = await agents[0].patch(`/memory/${id}`, { tier: 3, archived: false, tags: ['end'] });
    expect(last.status, last.story).toBe(200);
    for (const user_id of ['anyone']) {
      const searched = await agents[1].get('/memory/search', { q: 'moved about', user_id, tags: 'end', tier: 3 });
      expect(idsOf(searched), searched.story).toEqual([id]);
      const listed = await agents[1].get('/memory/list', { user_id, tags: 'end', tier: 3 });
      expect(idsOf(listed), listed.story).toEqual([id]);
    }
  });
});

describe('a read', () => {
  it('while memories come, change and go shows whole ones only', async () => {
    const agent = await service.newAccount();
    const end = performance.now() + 4_000;
    const untilEnd = async (work: (round: number) => Promise<void>) => {
      for (let round = 0; performance.now() < end; round++) await work(round);
    };
    await Promise.all([
      ...times(6, (writer) =>
        untilEnd(async (round) => {
          const id = await agent.store({ content: `A passing text ${writer} ${round}`, tags: ['passing'] });
          await agent.patch(`/memory/${id}`, { content: `A changed text ${writer} ${round}` });
          expect((await agent.delete(`/memory/${id}`)).status).toBe(200);
        }),
      ),
      ...times(6, (reader) =>
        untilEnd(async (round) => {
          const tags: Record<string, string> = round % 2 ? { tags: 'passing' } : {};
          idsOf(await agent.get('/memory/search', { q: `text ${reader} ${round % 20}`, limit: 100, ...tags }));
          idsOf(await agent.get('/memory/list', { limit: 100, ...tags }));
        }),
      ),
    ]);
  });
});

describe('paging by cursor', () => {
  it('shows each memory once while others are added and taken away', async () => {
    const agent = await service.newAccount();
    const before = await Promise.all(
      times(30, (index) => agent.store({ content: `Memory ${index} of the list`, user_id: index % 2 ? 'maya' : 'tom' })),
    );
    const seen: string[] = [];
    let cursor: string | null = null;
    let adding = 0;
    do {
      const page: Reply = await agent.get('/memory/list', { limit: 4, sort: 'recent', ...(cursor === null ? {} : { cursor }) });
      expect(page.status, page.story).toBe(200);
      seen.push(...idsOf(page));
      cursor = page.body.cursor as string | null;
      await Promise.all([agent.store(`Added while paging, ${adding++}`), agent.delete(`/memory/${seen.at(-1)}`)]);
    } while (cursor !== null);
    expect(seen).toHaveLength(new Set(seen).size);
    expect(seen.sort()).toEqual(before.sort());
  });
});
