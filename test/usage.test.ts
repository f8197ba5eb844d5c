import { describe, expect, it } from 'vitest';
import { useService } from './testkit/service.ts';

const service = useService();
describe('usage', () => {
  it('is counted', async () => {
    const agent = await service.newAccount({ plan: 'free' });
    await agent.store('One');
    await agent.store('Two');
    await agent.found('one');
    const usage = await agent.get('/usage');
    console.log(usage.story);
    const e = await agent.post('/webhook/ci', { content: 'Deployed', event_type: 'deployment', tags: ['a'], user_id: 'x', n: null });
    console.log(e.story, (await agent.get(`/memory/${e.body.id}`)).story);
    const k = () => agent.send('POST', '/memory', { content: 'Keyed' }, { 'idempotency-key': 'k1' });
    console.log((await Promise.all([k(), k(), k()])).map((r) => r.story + r.headers.get('idempotency-replayed')));
    console.log((await agent.send('POST', '/memory', { content: 'Keyed 2' }, { 'idempotency-key': 'k1' })).story);
    console.log((await agent.get('/usage')).story);
    console.log((await agent.graphql('{usage {months {month stores retrievals}}}')).story);
  });
});
