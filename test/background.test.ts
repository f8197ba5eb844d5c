import { describe, expect, it } from 'vitest';
import { deadlineIn } from '../src/deadline.ts';
import { createMemoryStore } from '../src/modules/memory/store.ts';
import { startService, useService } from './testkit/service.ts';

const service = useService();

describe('the sweep', () => {
  it('erases what has expired, with its versions and from the lineage of others, and nothing else', async () => {
    const agent = await service.newAccount();
    const soon = new Date(Date.now() + 1_500).toISOString();
    const expiring = await agent.store({ content: 'The build token is valid until the evening', expires_at: soon });
    const derived = await agent.store({ content: 'Derived from the build token', source_ids: [expiring] });
    await agent.patch(`/memory/${expiring}`, { tags: ['secret'] });
    await expect.poll(async () => (await agent.get(`/memory/${expiring}`)).status, { timeout: 5_000 }).toBe(404);

    const store = createMemoryStore(service.database);
    while (!(await store.sweep({ now: Date.now(), commitsBefore: 0, limit: 100 }, deadlineIn(30_000))).finished);

    const left = await service.database.read(
      `MATCH (m:Memory {accountId: $accountId}) OPTIONAL MATCH (m)-[:HAS_VERSION]->(v) RETURN m.id AS id, m.sourceIds AS sources, count(v) AS versions`,
      { accountId: agent.account.id },
      deadlineIn(10_000),
    );
    expect(left).toEqual([{ id: derived, sources: [], versions: 0 }]);
    const [orphans] = await service.database.read(
      'MATCH (v:MemoryVersion) WHERE NOT EXISTS { ()-[:HAS_VERSION]->(v) } RETURN count(v) AS count',
      {},
      deadlineIn(10_000),
    );
    expect(orphans).toEqual({ count: 0 });
  });
});

describe('being found', () => {
  it('raises the salience of a memory, once the counts are written', async () => {
    const agent = await service.newAccount();
    const second = await startService();
    try {
      const id = await agent.store('The office closes at six on Fridays');
      const salience = async () => (await agent.get('/memory/search', { q: 'office hours' })).body.memories[0].salience as number;
      const before = await salience();
      // Counts are written every few seconds, and at the latest when a service closes: so the searches go through a second one.
      for (let search = 0; search < 3; search++)
        await fetch(`${second.url}/memory/search?q=office`, { headers: { authorization: `Bearer ${agent.key}` } }).then((reply) => reply.text());
      await second.close();
      const after = await salience();
      expect(after).toBeGreaterThan(before + 0.05);
      expect((await agent.get(`/memory/${id}`)).body.version).toBe(1);
    } finally {
      await second.close().catch(() => undefined);
    }
  });
});
