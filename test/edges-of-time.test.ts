import { describe, expect, it } from 'vitest';
import { useService } from './testkit/service.ts';

const service = useService();
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

describe('a duplicate', () => {
  it('renews a defaulted expiry by a defaulted one only, and never shortens it', async () => {
    const agent = await service.newAccount();
    const id = await agent.store({ content: 'The door code of today', tier: 1 });
    const before = (await agent.get(`/memory/${id}`)).body.expires_at as string;
    const short = await agent.post('/memory', { content: 'The door code of today', tier: 1, expires_at: inSeconds(60) });
    expect(short.body, short.story).toEqual({ id, stored: false, duplicate: true });
    expect((await agent.get(`/memory/${id}`)).body.expires_at).toBe(before);
    await agent.store({ content: 'The door code of today', tier: 1 });
    expect((await agent.get(`/memory/${id}`)).body.expires_at > before).toBe(true);
  });
});

describe('a time', () => {
  it.each(['9999-12-31T23:59:59-01:00', '0000-01-01T00:00:00+01:00', '9999-01-01T00:00:00Z'])(
    'outside of the years 0000 to 9998 in UTC is refused: %s',
    async (time) => {
      const agent = await service.newAccount();
      const reply = await agent.post('/memory', { content: 'x', occurred_at: time });
      expect(reply.status, reply.story).toBe(400);
      expect(reply.body.details[0].field).toBe('occurred_at');
    },
  );
});

describe('a search with a filter by time', () => {
  it('finds the one older memory that has the word among many newer ones that have it too', async () => {
    const agent = await service.newAccount();
    const old = await agent.store('The invoice of the printer has the number zyxquark and was paid in cash at the counter');
    const moment = (await agent.get(`/memory/${old}`)).body.created_at as string;
    await new Promise((resolve) => setTimeout(resolve, 5));
    await agent.storeAll(Array.from({ length: 70 }, (_, index) => `zyxquark ${index}`));
    const { body } = await agent.get('/memory/search', { q: 'zyxquark', before: new Date(Date.parse(moment) + 1).toISOString(), explain: true });
    expect(body.memories.map(({ id }: { id: string }) => id)).toEqual([old]);
    expect(body.memories[0].explanation.lexical).toBeGreaterThan(0);
  });
});
