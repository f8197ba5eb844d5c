import { beforeAll, describe, expect, it } from 'vitest';
import type { Client } from './testkit/client.ts';
import { useService } from './testkit/service.ts';

const service = useService();
let agent: Client;
beforeAll(async () => {
  agent = await service.newAccount();
});

async function record(event: Record<string, unknown>, client = agent) {
  const reply = await client.post('/webhook/ci', event);
  expect(reply.status, reply.story).toBe(200);
  const got = await client.get(`/memory/${reply.body.id}`);
  expect(got.status, got.story).toBe(200);
  return { reply, memory: got.body.memory };
}

describe('POST /webhook/ci', () => {
  it('stores an event as a tagged memory with all that it says', async () => {
    const { reply, memory } = await record({
      content: ' Deployed v1.4.2 to production ',
      event_type: 'deployment',
      tags: ['prod', 'api', 'prod'],
      commit: 'a1b2c3',
    });
    expect(reply.body, reply.story).toEqual({ stored: true, id: memory.id, event_type: 'deployment' });
    expect(reply.headers.get('location')).toBe(`/memory/${memory.id}`);
    expect(memory).toMatchObject({
      content: 'Deployed v1.4.2 to production',
      type: 'ci_event',
      tier: 2,
      user_id: null,
      tags: ['ci:deployment', 'prod', 'api'],
      metadata: { commit: 'a1b2c3' },
      expires_at: null,
    });
    expect(await agent.found('what was deployed to production?', { tags: 'ci:deployment' })).toContain('Deployed v1.4.2 to production');
    expect(await agent.found('deployed', { type: 'ci_event' })).toContain('Deployed v1.4.2 to production');
  });

  it('needs nothing but a content', async () => {
    const { reply, memory } = await record({ content: 'Something happened' });
    expect(reply.body).toMatchObject({ event_type: 'ci_event' });
    expect(memory).toMatchObject({ tags: ['ci:ci_event'], metadata: {} });
  });

  it('keeps every other field as metadata, also those that mean something elsewhere', async () => {
    const others = {
      user_id: 'maya',
      tier: 3,
      type: 'fact',
      metadata: { nested: { deep: [1, 2, { three: null }] } },
      session_id: 's',
      eventType: 'x',
      Content: 'y',
      expires_at: 'never',
      nothing: null,
    };
    const { reply, memory } = await record({ content: 'With fields', ...others });
    expect(reply.body.warnings).toBeUndefined();
    expect(memory).toMatchObject({ metadata: others, user_id: null, tier: 2, type: 'ci_event', session_id: null, expires_at: null });
  });

  it('takes null for absent where it reads a field', async () => {
    const { reply } = await record({ content: 'With nulls', event_type: null, tags: null });
    expect(reply.body.event_type).toBe('ci_event');
  });

  it('never takes an event for a duplicate, of an event or of a memory', async () => {
    const own = await service.newAccount();
    const stored = await own.store('The build failed');
    const ids = await Promise.all(Array.from({ length: 3 }, async () => (await record({ content: 'The build failed' }, own)).memory.id as string));
    expect(new Set([stored, ...ids]).size).toBe(4);
    expect((await own.post('/memory', { content: 'The build failed' })).body).toMatchObject({ id: stored, duplicate: true });
  });

  it("stores with a key that is bound to a user as that user's", async () => {
    const bound = await service.newKey(agent, { scopes: ['memory:read', 'memory:write'], userId: 'ci-bot' });
    const { memory } = await record({ content: 'From the bot', user_id: 'maya' }, bound);
    expect(memory).toMatchObject({ user_id: 'ci-bot', metadata: { user_id: 'maya' } });
  });

  it.each<[string, unknown, string]>([
    ['no content', { event_type: 'x' }, 'content'],
    ['an empty content', { content: '  ' }, 'content'],
    ['an empty event_type', { content: 'x', event_type: '' }, 'event_type'],
    ['a long event_type', { content: 'x', event_type: 'e'.repeat(98) }, 'event_type'],
    ['an event_type that is no text', { content: 'x', event_type: 7 }, 'event_type'],
    ['tags that are no list', { content: 'x', tags: 'a,b' }, 'tags'],
    ['too many tags', { content: 'x', tags: Array.from({ length: 51 }, (_, n) => `t${n}`) }, 'tags'],
    ['metadata beyond 256 KiB', { content: 'x', log: 'l'.repeat(256 * 1024) }, 'metadata'],
    ['metadata beyond 32 levels', { content: 'x', deep: JSON.parse('['.repeat(32) + ']'.repeat(32)) }, 'metadata'],
    ['no object', ['x'], 'body'],
  ])('refuses %s', async (_, event, field) => {
    const reply = await agent.post('/webhook/ci', event);
    expect(reply.status, reply.story).toBe(400);
    expect(
      reply.body.details.map((detail: { field: string }) => detail.field),
      reply.story,
    ).toEqual([field]);
  });

  it('keeps 250 KiB and 32 levels, and a PATCH may change a part of it', async () => {
    const deep = JSON.parse('['.repeat(31) + ']'.repeat(31)) as unknown;
    const { memory } = await record({
      content: 'Large',
      event_type: 'e'.repeat(97),
      tags: Array.from({ length: 50 }, (_, n) => `t${n}`),
      log: 'l'.repeat(250 * 1024),
      deep,
    });
    expect(memory.metadata.log).toHaveLength(250 * 1024);
    expect(memory.metadata.deep).toEqual(deep);
    expect(memory.tags).toHaveLength(51);
    const patched = await agent.patch(`/memory/${memory.id}`, { metadata: { reviewed: true, deep: null } });
    expect(patched.body, patched.story).toMatchObject({ updated: true });
  });
});

describe('what CI systems send', () => {
  it.each<[string, Record<string, unknown>]>([
    [
      'a deployment_status of GitHub',
      {
        action: 'created',
        deployment_status: {
          state: 'success',
          environment: 'production',
          target_url: 'https://ci.example/runs/71',
          creator: { login: 'octo-deployer', id: 1 },
        },
        deployment: { id: 145988746, ref: 'main', sha: 'f95f852bd8fca8fcc58a9a2d6c842781e32a215e', task: 'deploy', payload: {} },
        repository: { id: 35129377, full_name: 'acme/api', private: true, topics: ['api', 'payments'] },
        workflow: null,
        sender: { login: 'octo-deployer', type: 'Bot' },
      },
    ],
    [
      'a pipeline of GitLab',
      {
        object_kind: 'pipeline',
        object_attributes: {
          id: 31,
          ref: 'master',
          tag: false,
          status: 'failed',
          stages: ['build', 'test', 'deploy'],
          duration: 63,
          variables: [{ key: 'NIGHTLY', value: 'true' }],
        },
        merge_request: { id: 1, iid: 1, title: 'Move sessions to Redis', state: 'merged', target_branch: 'master' },
        user: { name: 'Pipeline bot', username: 'bot' },
        project: { id: 7, name: 'api', path_with_namespace: 'acme/api', default_branch: 'master' },
        builds: [{ id: 380, stage: 'deploy', name: 'production', status: 'skipped', runner: null, artifacts_file: { filename: null, size: null } }],
      },
    ],
    [
      'a notification of Jenkins',
      {
        name: 'api-release',
        url: 'job/api-release/',
        build: {
          full_url: 'https://jenkins.example/job/api-release/118/',
          number: 118,
          phase: 'FINALIZED',
          status: 'SUCCESS',
          parameters: { BRANCH: 'release/2.1' },
          scm: { branch: 'origin/release/2.1', commit: '67f4e1f5', changes: [] },
          artifacts: {},
        },
      },
    ],
  ])('is kept whole: %s', async (title, payload) => {
    const { memory } = await record({ content: `CI said: ${title}`, event_type: 'pipeline', ...payload });
    expect(memory.metadata).toEqual(payload);
  });
});

describe('recordCiEvent', () => {
  it('does the same over GraphQL', async () => {
    const mutation =
      'mutation ($input: RecordCiEventInput!) { recordCiEvent(input: $input) { id stored eventType replayed memory { tags type metadata userId } } }';
    const reply = await agent.graphql(mutation, { input: { content: 'Merged #42', eventType: 'pr_merge', tags: ['api'], metadata: { number: 42 } } });
    expect(reply.body.data?.recordCiEvent, reply.story).toEqual({
      id: expect.any(String),
      stored: true,
      eventType: 'pr_merge',
      replayed: false,
      memory: { tags: ['ci:pr_merge', 'api'], type: 'ci_event', metadata: { number: 42 }, userId: null },
    });
  });
});
