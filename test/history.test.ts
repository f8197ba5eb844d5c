import { describe, expect, it } from 'vitest';
import { deadlineIn } from '../src/deadline.ts';
import { countStatements } from './testkit/counting-database.ts';
import { startService, useService } from './testkit/service.ts';

const service = useService();
const MISSING_ID = '0190b3c1-0000-7000-8000-000000000000';

describe('the history of a memory', () => {
  it('is what it was before each change, the latest first', async () => {
    const client = await service.newAccount();
    const id = await client.store({ content: 'The deploy is on Monday', tags: ['ci'], metadata: { by: 'ben' } });
    expect((await client.get(`/memory/${id}/history`)).body).toEqual({ id, version: 1, versions: [], count: 0 });
    const first = (await client.get(`/memory/${id}`)).body;
    await client.patch(`/memory/${id}`, { content: 'The deploy is on Tuesday', tier: 0, tags: ['release'], metadata: { by: null } });
    const second = (await client.get(`/memory/${id}`)).body;
    await client.patch(`/memory/${id}`, { archived: true, expires_at: '2999-01-01T00:00:00Z' });

    const reply = await client.get(`/v1/memory/${id}/history`);
    expect(reply.body, reply.story).toEqual({
      id,
      version: 3,
      versions: [
        {
          version: 2,
          content: 'The deploy is on Tuesday',
          tier: 0,
          type: 'fact',
          tags: ['release'],
          metadata: {},
          expires_at: null,
          archived: false,
          updated_at: second.updated_at,
        },
        {
          version: 1,
          content: 'The deploy is on Monday',
          tier: 2,
          type: 'fact',
          tags: ['ci'],
          metadata: { by: 'ben' },
          expires_at: null,
          archived: false,
          updated_at: first.updated_at,
        },
      ],
      count: 2,
    });
  });

  it('keeps the last 100 versions', async () => {
    const client = await service.newAccount();
    const id = await client.store('Counter');
    for (let at = 1; at <= 103; at++) await client.patch(`/memory/${id}`, { metadata: { at } });
    const { body } = await client.get(`/memory/${id}/history`);
    expect(body.versions.map(({ version }: { version: number }) => version)).toEqual(Array.from({ length: 100 }, (_, at) => 103 - at));
    const refused = await client.post(`/memory/${id}/restore`, { version: 3 });
    expect(refused.status, refused.story).toBe(404);
    expect(refused.body.error).toContain('Version 3');
  });

  it('is gone with the memory', async () => {
    const client = await service.newAccount();
    const id = await client.store('The deploy is on Monday');
    await client.patch(`/memory/${id}`, { content: 'The deploy is on Tuesday' });
    await client.delete(`/memory/${id}`);
    expect((await client.get(`/memory/${id}/history`)).status).toBe(404);
    const left = await service.database.read('MATCH (v:MemoryVersion) WHERE v.content STARTS WITH $text RETURN v', { text: id }, deadlineIn(5_000));
    expect(left).toEqual([]);
  });

  it('is as hidden from others as the memory, and so is going back', async () => {
    const [client, other] = [await service.newAccount(), await service.newAccount()];
    const id = await client.store({ content: 'Maya likes tea', user_id: 'maya' });
    await client.patch(`/memory/${id}`, { content: 'Maya likes coffee' });
    const bound = await service.newKey(client, { scopes: ['memory:read', 'memory:write'], userId: 'ben' });
    for (const [caller, query] of [
      [other, ''],
      [client, '?user_id=ben'],
      [bound, ''],
    ] as const) {
      const [read, restored] = [
        await caller.get(`/memory/${id}/history${query}`),
        await caller.post(`/memory/${id}/restore${query}`, { version: 1 }),
      ];
      expect([read.status, restored.status], read.story + restored.story).toEqual([404, 404]);
      expect(read.body.error).toBe((await caller.get(`/memory/${MISSING_ID}/history${query}`)).body.error);
    }
    expect((await client.get(`/memory/${id}/history?user_id=maya`)).body.count).toBe(1);
    const reader = await service.newKey(client, { scopes: ['memory:read'] });
    expect((await reader.post(`/memory/${id}/restore`, { version: 1 })).status).toBe(403);
    const boundToMaya = await service.newKey(client, { scopes: ['memory:read', 'memory:write'], userId: 'maya' });
    expect((await boundToMaya.post(`/memory/${id}/restore`, { version: 1 })).status).toBe(200);
  });

  it('of a shared memory is read by a bound key, which cannot go back in it', async () => {
    const client = await service.newAccount();
    const id = await client.store({ content: 'Holidays are in July', tier: 3 });
    await client.patch(`/memory/${id}`, { content: 'Holidays are in August' });
    const bound = await service.newKey(client, { scopes: ['memory:read', 'memory:write'], userId: 'ben' });
    expect((await bound.get(`/memory/${id}/history`)).body.count).toBe(1);
    const refused = await bound.post(`/memory/${id}/restore`, { version: 1 });
    expect(refused.status, refused.story).toBe(403);
  });

  it('of many memories is read in one statement in GraphQL', async () => {
    const counting = countStatements(service.database);
    const own = await startService({ database: counting });
    try {
      const statementsFor = async (memories: number) => {
        const client = await own.newAccount();
        for (let at = 0; at < memories; at++) await client.patch(`/memory/${await client.store(`Note ${at}`)}`, { content: `Changed ${at}` });
        counting.takeStatements();
        const reply = await client.graphql('{ memories(first: 50) { nodes { history(first: 2) { version content updatedAt expiresAt } } } }');
        expect(reply.body.data.memories.nodes, reply.story).toHaveLength(memories);
        for (const { history } of reply.body.data.memories.nodes)
          expect(history).toMatchObject([{ version: 1, content: expect.stringMatching(/^Note/) }]);
        return counting.takeStatements().length;
      };
      expect(await statementsFor(12)).toBe(await statementsFor(1));
    } finally {
      await own.close();
    }
  });
});

describe('going back to a version', () => {
  it('gives back what it said, is found by it, and is a new version', async () => {
    const client = await service.newAccount();
    const id = await client.store({ content: 'Maya drinks green tea', tags: ['drink'], type: 'preference', metadata: { cups: 2 } });
    await client.patch(`/memory/${id}`, { content: 'The printer is out of toner', tags: [], type: 'fact', metadata: { cups: null, floor: 3 } });
    const reply = await client.post(`/memory/${id}/restore`, { version: 1 });
    expect(reply.body, reply.story).toEqual({ id, updated: true, version: 3 });
    expect((await client.get(`/memory/${id}`)).body).toMatchObject({
      content: 'Maya drinks green tea',
      tags: ['drink'],
      type: 'preference',
      metadata: { cups: 2 },
      version: 3,
    });
    const { body } = await client.get('/memory/search', { q: 'which hot drink does she like', explain: true });
    expect(body.memories[0].score).toBeGreaterThan(0.3);
    expect((await client.get(`/memory/${id}/history`)).body.versions.map(({ version }: { version: number }) => version)).toEqual([2, 1]);
    const again = await client.post('/memory', { content: 'Maya drinks green tea' });
    expect(again.body, 'it is the one memory of its content again').toMatchObject({ id, duplicate: true });
  });

  it('to the version that it has, or to one that says the same, changes nothing', async () => {
    const client = await service.newAccount();
    const id = await client.store('Maya drinks green tea');
    expect((await client.post(`/memory/${id}/restore`, { version: 1 })).body).toEqual({ id, updated: false, version: 1 });
    await client.patch(`/memory/${id}`, { type: 'preference' });
    await client.patch(`/memory/${id}`, { type: 'fact' });
    expect((await client.post(`/memory/${id}/restore`, { version: 1 })).body).toEqual({ id, updated: false, version: 3 });
  });

  it('brings archived and an expiry back, but none that has passed', async () => {
    let now = Date.now();
    const own = await startService({ now: () => now });
    try {
      const client = await own.newAccount();
      const id = await client.store({ content: 'The offer holds', expires_at: new Date(now + 60_000).toISOString() });
      await client.patch(`/memory/${id}`, { archived: true });
      await client.patch(`/memory/${id}`, { archived: false, expires_at: null });
      await client.post(`/memory/${id}/restore`, { version: 2 });
      expect((await client.get(`/memory/${id}`)).body).toMatchObject({ archived: true, expires_at: new Date(now + 60_000).toISOString() });
      await client.patch(`/memory/${id}`, { expires_at: null, content: 'The offer held' });
      now += 61_000;
      const reply = await client.post(`/memory/${id}/restore`, { version: 1 });
      expect(reply.status, reply.story).toBe(200);
      expect((await client.get(`/memory/${id}`)).body).toMatchObject({ content: 'The offer holds', archived: false, expires_at: null });
    } finally {
      await own.close();
    }
  });

  it('lets the tier decide in the place of an expiry that has passed', async () => {
    let now = Date.now();
    const own = await startService({ now: () => now });
    try {
      const client = await own.newAccount();
      const [offer, visit] = [
        await client.store({ content: 'The offer holds', expires_at: new Date(now + 60_000).toISOString() }),
        await client.store({ content: 'Maya is at the door', tier: 1 }),
      ];
      await client.patch(`/memory/${offer}`, { expires_at: null });
      await client.patch(`/memory/${offer}`, { tier: 1 });
      await client.patch(`/memory/${visit}`, { tier: 2 });
      now += 86_400_000 - 1_000;
      await client.post(`/memory/${offer}/restore`, { version: 1 });
      expect((await client.get(`/memory/${offer}`)).body, 'not the expiry of the tier that it leaves').toMatchObject({ tier: 2, expires_at: null });
      now += 2_000;
      await client.post(`/memory/${visit}/restore`, { version: 1 });
      expect((await client.get(`/memory/${visit}`)).body).toMatchObject({ tier: 1, expires_at: new Date(now + 86_400_000).toISOString() });
    } finally {
      await own.close();
    }
  });

  it('moves a memory without a user between what is shared and what is not', async () => {
    const client = await service.newAccount();
    const id = await client.store({ content: 'Holidays are in July', tier: 3 });
    await client.patch(`/memory/${id}`, { tier: 2 });
    expect(await client.found('holidays', { user_id: 'maya' })).toEqual([]);
    await client.post(`/memory/${id}/restore`, { version: 1 });
    expect(await client.found('holidays', { user_id: 'maya' })).toEqual(['Holidays are in July']);
  });

  it('knows that a tier 1 expiry was the usual one', async () => {
    const client = await service.newAccount();
    const id = await client.store({ content: 'Maya is at the door', tier: 1 });
    await client.patch(`/memory/${id}`, { tier: 2 });
    await client.post(`/memory/${id}/restore`, { version: 1 });
    expect((await client.get(`/memory/${id}`)).body.expires_at).not.toBeNull();
    await client.patch(`/memory/${id}`, { tier: 2 });
    expect((await client.get(`/memory/${id}`)).body.expires_at).toBeNull();
  });

  it.each([
    ['no version', {}, 'version'],
    ['version 0', { version: 0 }, 'version'],
    ['a text', { version: '1' }, 'version'],
    ['a fraction', { version: 1.5 }, 'version'],
    ['a version beyond every number of versions', { version: 2 ** 31 }, 'version'],
    ['a misspelt user', { version: 1, userId: 'maya' }, 'userId'],
  ])('with %s is a 400', async (_, body, field) => {
    const client = await service.newAccount();
    const id = await client.store('Maya drinks green tea');
    const reply = await client.post(`/memory/${id}/restore`, body);
    expect(reply.status, reply.story).toBe(400);
    expect(reply.body.details[0].field).toBe(field);
  });

  it('to a version that never was is a 404 that says so', async () => {
    const client = await service.newAccount();
    const id = await client.store('Maya drinks green tea');
    const reply = await client.post(`/memory/${id}/restore`, { version: 9 });
    expect(reply.status, reply.story).toBe(404);
    expect(reply.body.error).toContain('Version 9');
  });
});
