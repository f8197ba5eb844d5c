import { describe, expect, it } from 'vitest';
import { useService } from './testkit/service.ts';

const service = useService();

describe('a memory that was stored', () => {
  it('is found by what it means, and comes back with every field', async () => {
    const agent = await service.newAccount();
    const stored = await agent.post('/memory', {
      content: '  Maya moved to Lisbon in May and works at a ceramics studio ',
      user_id: 'maya',
      tier: 0,
      type: 'context',
      tags: ['travel', 'work', 'travel'],
      metadata: { source: 'chat', nested: { deep: [1, 2.5, null] } },
      session_id: 's-1',
      occurred_at: '2026-05-04T10:00:00+02:00',
    });
    expect(stored.status, stored.story).toBe(200);
    expect(stored.body).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), stored: true });
    expect(stored.headers.get('location')).toBe(`/memory/${stored.body.id}`);

    const search = await agent.get('/memory/search', { q: 'which city does Maya live in?' });
    expect(search.body.count, search.story).toBe(1);
    expect(search.body.memories[0]).toMatchObject({
      id: stored.body.id,
      content: 'Maya moved to Lisbon in May and works at a ceramics studio',
      user_id: 'maya',
      tier: 0,
      type: 'context',
      tags: ['travel', 'work'],
      metadata: { source: 'chat', nested: { deep: [1, 2.5, null] } },
      session_id: 's-1',
      occurred_at: '2026-05-04T08:00:00.000Z',
      expires_at: null,
      source_ids: [],
      archived: false,
      version: 1,
    });
  });
});
