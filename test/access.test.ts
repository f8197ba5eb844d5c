import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { deadlineIn } from '../src/deadline.ts';
import { connectDatabase, type Database } from '../src/graph/database.ts';
import { hashApiKey, isApiKey } from '../src/modules/access/key.ts';
import { byCommand } from './testkit/accounts.ts';
import { Client, type Reply } from './testkit/client.ts';
import { runOnTestDatabase } from './testkit/command.ts';
import { startService, useService } from './testkit/service.ts';

const service = useService();

const KEY_FIELDS = 'id hint name scopes userId state createdAt expiresAt revokedAt lastUsedAt replacedBy';
const CREATE = `mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key apiKey { ${KEY_FIELDS} } } }`;
const ROTATE = `mutation ($id: ID!, $grace: Int) { rotateApiKey(id: $id, graceSeconds: $grace) { key apiKey { ${KEY_FIELDS} } previous { ${KEY_FIELDS} } } }`;
const ROTATE_BY_DEFAULT = `mutation ($id: ID!) { rotateApiKey(id: $id) { key apiKey { ${KEY_FIELDS} } previous { ${KEY_FIELDS} } } }`;
const REVOKE = `mutation ($id: ID!) { revokeApiKey(id: $id) { apiKey { ${KEY_FIELDS} } } }`;
const LIST = `query ($first: Int, $after: String) { apiKeys(first: $first, after: $after) { nodes { ${KEY_FIELDS} } edges { cursor } pageInfo { hasNextPage hasPreviousPage endCursor } } }`;

/** The data of an operation that succeeds. */
async function ask(client: Client, document: string, variables: Record<string, unknown> = {}): Promise<any> {
  const reply = await client.graphql(document, variables);
  expect(reply.body.errors, reply.story).toBeUndefined();
  return Object.values(reply.body.data as object)[0];
}

function expectRefusal(reply: Reply, code: string, message: RegExp): void {
  expect(reply.body.errors, reply.story).toHaveLength(1);
  const [{ message: text, extensions }] = reply.body.errors;
  expect(extensions.code, reply.story).toBe(code);
  expect(
    [text, ...(extensions.details ?? []).map((detail: { field: string; message: string }) => `${detail.field}: ${detail.message}`)].join('\n'),
    reply.story,
  ).toMatch(message);
}

const withKey = (client: Client, key: string) => new Client(client.url, key, client.account, '');
const stateOf = async (client: Client) => (await client.get('/memory/list')).status;
const secondsUntil = (time: string) => (Date.parse(time) - Date.now()) / 1_000;

describe('the account', () => {
  it('is shown with what its plan allows', async () => {
    const document = `{ account { id name plan createdAt limits { storesPerMonth retrievalsPerMonth requestsPerMinute overage { usdPerThousandStores usdPerThousandRetrievals } } } }`;
    const rich = await service.newAccount({ plan: 'max' });
    expect(await ask(rich, document)).toEqual({
      ...rich.account,
      plan: 'max',
      createdAt: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
      limits: {
        storesPerMonth: 1_000_000,
        retrievalsPerMonth: 5_000_000,
        requestsPerMinute: 5_000,
        overage: { usdPerThousandStores: 2, usdPerThousandRetrievals: 1 },
      },
    });
    const own = await service.newAccount();
    expect((await ask(own, document)).limits).toEqual({ storesPerMonth: null, retrievalsPerMonth: null, requestsPerMinute: 60_000, overage: null });
  });
});

describe('a key that is made over the API', () => {
  it('is shown once, is let in, and reads and writes unless it is to do something else', async () => {
    const admin = await service.newAccount();
    const { key, apiKey } = await ask(admin, CREATE, { input: { name: 'my agent' } });
    expect(isApiKey(key)).toBe(true);
    expect(apiKey).toEqual({
      id: expect.any(String),
      hint: key.slice(0, 8),
      name: 'my agent',
      scopes: ['MEMORY_READ', 'MEMORY_WRITE'],
      userId: null,
      state: 'ACTIVE',
      createdAt: expect.any(String),
      expiresAt: null,
      revokedAt: null,
      lastUsedAt: null,
      replacedBy: null,
    });
    const agent = withKey(admin, key);
    const id = await agent.store('Stored with a new key');
    expect((await agent.delete(`/memory/${id}`)).status).toBe(403);
    const listed = await admin.graphql(LIST);
    expect(listed.body.data.apiKeys.nodes[0], listed.story).toEqual({ ...apiKey, lastUsedAt: listed.body.data.apiKeys.nodes[0].lastUsedAt });
    expect(JSON.stringify(listed.body), 'neither the key nor its hash is shown again').not.toMatch(new RegExp(`${key}|${hashApiKey(key)}`));
  });

  it('has the scopes, the user and the end that it was given', async () => {
    const admin = await service.newAccount();
    const expiresAt = new Date(Date.now() + 2_500).toISOString();
    const input = { name: 'n'.repeat(100), scopes: ['MEMORY_READ'], userId: 'maya', expiresAt };
    const { key, apiKey } = await ask(admin, CREATE, { input });
    expect(apiKey).toMatchObject({ ...input, state: 'ACTIVE' });
    const maya = withKey(admin, key);
    expect(await stateOf(maya)).toBe(200);
    expect((await maya.get('/memory/list', { user_id: 'someone' })).status).toBe(403);
    expect((await maya.post('/memory', { content: 'Not allowed' })).status).toBe(403);
    await wait(secondsUntil(expiresAt) * 1_000 + 10);
    const expired = await maya.get('/memory/list');
    expect(expired.status, expired.story).toBe(401);
    expect(expired.body.error).toContain('expired');
    expect((await ask(admin, LIST)).nodes[0]).toMatchObject({ id: apiKey.id, state: 'EXPIRED' });
  });

  it.each([
    [{ name: '' }, /name: must be a string of 1 to 100 characters/],
    [{ name: 'n'.repeat(101) }, /name: must be a string of 1 to 100 characters; got a string of 101 characters/],
    [{ name: 'a\0b' }, /name: must be valid Unicode without NUL/],
    [{ name: 'a', scopes: [] }, /scopes: must name at least one scope/],
    [{ name: 'a', scopes: ['ADMIN', 'ADMIN'] }, /scopes: must name each scope once/],
    [{ name: 'a', userId: '' }, /userId: must be a string of 1 to 256/],
    [{ name: 'a', expiresAt: '2020-01-01T00:00:00Z' }, /expiresAt: must be in the future; got 2020/],
    [{ name: 'a', expiresAt: '9999-06-01T00:00:00Z' }, /expiresAt: must be an ISO 8601 time/],
  ])('is refused for %j', async (input, message) => {
    expectRefusal(await (await service.newAccount()).graphql(CREATE, { input }), 'INVALID_PARAMETER', message);
  });

  it('is refused beside a thousand active ones; those that were revoked or have expired do not count', async () => {
    const admin = await service.newAccount();
    const prefix = uuid();
    await service.database.write(
      `MATCH (a:Account {id: $accountId})
       UNWIND range(1, 1001) AS index
       CREATE (k:ApiKey {id: $prefix + index, hash: $prefix + index, hint: 'mem_none', name: 'filler', scopes: [], accountId: a.id, createdAt: index})-[:OF]->(a)
       SET k.expiresAt = CASE index WHEN 1000 THEN 1 END, k.revokedAt = CASE index WHEN 1001 THEN 1 END`,
      { accountId: admin.account.id, prefix },
      deadlineIn(30_000),
    );
    const create = (by: Client) => by.graphql(CREATE, { input: { name: 'one more' } });
    const full = await create(admin);
    expectRefusal(full, 'CONFLICT', /has 1,000 active keys, the most it can have; revoke one first/);
    expect(full.body.errors[0].extensions.status).toBe(409);
    expectRefusal(await admin.graphql(ROTATE, { id: admin.keyId, grace: 60 }), 'CONFLICT', /1,000 active keys/);

    const renewed = withKey(admin, (await ask(admin, ROTATE, { id: admin.keyId, grace: 0 })).key);
    expectRefusal(await create(renewed), 'CONFLICT', /1,000 active keys/);
    await ask(renewed, REVOKE, { id: `${prefix}1` });
    const fits = await create(renewed);
    expect(fits.body.errors, fits.story).toBeUndefined();
    expectRefusal(await create(renewed), 'CONFLICT', /1,000 active keys/);
  });
});

describe('rotating a key', () => {
  it('gives one of the same name, scopes, user and end, and both are valid until the grace is over', async () => {
    const admin = await service.newAccount();
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
    const input = { name: 'rotating', scopes: ['MEMORY_READ', 'MEMORY_DELETE'], userId: 'maya', expiresAt };
    const first = await ask(admin, CREATE, { input });
    const rotated = await ask(admin, ROTATE, { id: first.apiKey.id, grace: 2 });
    expect(rotated.apiKey).toMatchObject({ ...input, state: 'ACTIVE', replacedBy: null });
    expect(rotated.apiKey.id).not.toBe(first.apiKey.id);
    expect(rotated.previous).toMatchObject({ id: first.apiKey.id, state: 'ACTIVE', replacedBy: rotated.apiKey.id });
    expect(secondsUntil(rotated.previous.expiresAt)).toBeGreaterThan(0.5);
    expect(secondsUntil(rotated.previous.expiresAt)).toBeLessThanOrEqual(2);
    const [old, current] = [withKey(admin, first.key), withKey(admin, rotated.key)];
    expect([await stateOf(old), await stateOf(current)]).toEqual([200, 200]);
    await expect.poll(() => stateOf(old), { timeout: 5_000, interval: 100 }).toBe(401);
    expect(await stateOf(current)).toBe(200);
  });

  it('leaves the old one a day unless told otherwise, and never longer than it had', async () => {
    const admin = await service.newAccount();
    const endless = await ask(admin, CREATE, { input: { name: 'endless' } });
    const rotated = await ask(admin, ROTATE_BY_DEFAULT, { id: endless.apiKey.id });
    expect(secondsUntil(rotated.previous.expiresAt) / 3_600).toBeCloseTo(24, 1);
    expect(rotated.apiKey.expiresAt).toBeNull();
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    const ending = await ask(admin, CREATE, { input: { name: 'ending', expiresAt } });
    expect((await ask(admin, ROTATE_BY_DEFAULT, { id: ending.apiKey.id })).previous.expiresAt).toBe(expiresAt);
    const at = await ask(admin, ROTATE, { id: rotated.apiKey.id, grace: 0 });
    expect(at.previous.state).toBe('EXPIRED');
  });

  it('is refused for a key that was replaced, revoked or has expired, and for another grace than 0 to 30 days', async () => {
    const admin = await service.newAccount();
    const { apiKey } = await ask(admin, CREATE, { input: { name: 'a' } });
    const rotated = await ask(admin, ROTATE, { id: apiKey.id, grace: 60 });
    expectRefusal(await admin.graphql(ROTATE, { id: apiKey.id, grace: 60 }), 'CONFLICT', new RegExp(`was replaced by ${rotated.apiKey.id}`));
    await ask(admin, REVOKE, { id: rotated.apiKey.id });
    expectRefusal(await admin.graphql(ROTATE, { id: rotated.apiKey.id, grace: 60 }), 'CONFLICT', /was revoked/);
    const gone = await service.newKey(admin, { expiresAt: Date.now() - 1 });
    expectRefusal(await admin.graphql(ROTATE, { id: gone.keyId, grace: 60 }), 'CONFLICT', /has expired/);
    for (const grace of [-1, 2_592_001])
      expectRefusal(
        await admin.graphql(ROTATE, { id: admin.keyId, grace }),
        'INVALID_PARAMETER',
        /graceSeconds: must be a whole number from 0 to 2,592,000/,
      );
  });

  it('of one key by many at once makes one new key', async () => {
    const admin = await service.newAccount();
    const { apiKey } = await ask(admin, CREATE, { input: { name: 'wanted' } });
    const replies = await Promise.all(Array.from({ length: 8 }, () => admin.graphql(ROTATE, { id: apiKey.id, grace: 60 })));
    const made = replies.filter(({ body }) => !body.errors);
    expect(made).toHaveLength(1);
    for (const reply of replies.filter(({ body }) => body.errors)) expectRefusal(reply, 'CONFLICT', /was replaced by/);
    expect((await ask(admin, LIST)).nodes).toHaveLength(3);
  });
});

describe('revoking a key', () => {
  it('ends it within a second, once and for all', async () => {
    const admin = await service.newAccount();
    const { key, apiKey } = await ask(admin, CREATE, { input: { name: 'lost' } });
    const lost = withKey(admin, key);
    expect(await stateOf(lost)).toBe(200);
    const first = await ask(admin, REVOKE, { id: apiKey.id });
    expect(first.apiKey).toMatchObject({ id: apiKey.id, state: 'REVOKED', revokedAt: expect.any(String) });
    await expect.poll(() => stateOf(lost), { timeout: 1_000, interval: 50 }).toBe(401);
    const again = await ask(admin, REVOKE, { id: apiKey.id });
    expect(again.apiKey.revokedAt).toBe(first.apiKey.revokedAt);
  });
});

describe('what is not yours', () => {
  it("another account's key answers as one that does not exist", async () => {
    const [admin, rival] = [await service.newAccount(), await service.newAccount()];
    for (const document of [ROTATE_BY_DEFAULT, REVOKE]) {
      const answers = [];
      for (const id of [rival.keyId, uuid(), 'not an id', '', `${rival.keyId} `]) {
        const reply = await admin.graphql(document, { id });
        expectRefusal(reply, 'NOT_FOUND', /^API key not found$/);
        answers.push(JSON.stringify(reply.body).replaceAll(reply.headers.get('x-request-id')!, ''));
      }
      expect(new Set(answers).size).toBe(1);
    }
    expect(await stateOf(rival)).toBe(200);
    const seen = JSON.stringify([await ask(admin, LIST), await ask(admin, '{ auditLog(first: 100) { nodes { id target actor details } } }')]);
    expect(seen).not.toContain(rival.keyId);
    expect(seen).not.toContain(rival.account.id);
  });

  it('a key that is bound to a user can not manage the account, whatever its scopes', async () => {
    const admin = await service.newAccount();
    const bound = await service.newKey(admin, { scopes: ['admin'], userId: 'maya' });
    for (const [document, variables] of [
      ['{ account { name } }', {}],
      [LIST, {}],
      ['{ auditLog { nodes { id } } }', {}],
      [CREATE, { input: { name: 'unbound' } }],
      [ROTATE_BY_DEFAULT, { id: bound.keyId }],
      [REVOKE, { id: admin.keyId }],
    ] as const)
      expectRefusal(await bound.graphql(document, variables), 'FORBIDDEN', /^This key is bound to user_id 'maya' and can't manage the account$/);
    expect((await ask(admin, LIST)).nodes).toHaveLength(2);
  });
});

describe('lists of keys and of the audit log', () => {
  it('show each entry once, a page at a time, the latest first', async () => {
    const admin = await service.newAccount();
    for (let index = 1; index < 7; index++) await ask(admin, CREATE, { input: { name: `key ${index}` } });
    for (const [field, count] of [
      ['apiKeys', 7],
      ['auditLog', 8],
    ] as const) {
      const document = `query ($after: String) { ${field}(first: 3, after: $after) { nodes { id } edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`;
      const ids: string[] = [];
      for (let after: string | null = null, more = true; more;) {
        const page: any = await ask(admin, document, { after });
        expect(page.nodes).toEqual(page.edges.map(({ node }: { node: unknown }) => node));
        expect(page.pageInfo).toMatchObject({ hasPreviousPage: after !== null, startCursor: page.edges[0].cursor });
        ids.push(...page.nodes.map(({ id }: { id: string }) => id));
        more = page.pageInfo.hasNextPage;
        after = page.pageInfo.endCursor;
      }
      expect(new Set(ids).size).toBe(count);
      expect(ids).toEqual([...ids].sort().reverse());
    }
  });

  it('refuse a cursor that is not one of theirs', async () => {
    const admin = await service.newAccount();
    const { endCursor } = (await ask(admin, LIST)).pageInfo;
    const broken = ['', 'x', '!', Buffer.from('["keys",1,"\\ud800"]').toString('base64url'), Buffer.from('["audit",1.5]').toString('base64url')];
    for (const after of broken)
      expectRefusal(await admin.graphql(LIST, { after }), 'INVALID_PARAMETER', /after: must be a cursor that this list gave/);
    for (const after of [...broken, endCursor])
      expectRefusal(
        await admin.graphql('query ($after: String) { auditLog(after: $after) { nodes { id } } }', { after }),
        'INVALID_PARAMETER',
        /after: must be a cursor/,
      );
    expectRefusal(await admin.graphql(LIST, { first: 0 }), 'INVALID_PARAMETER', /first: must be a whole number of 1 or more/);
  });
});

describe('a plan that nobody knows', () => {
  it('has the limits of free, keeps the service from starting, and says whose it is', { timeout: 180_000 }, async () => {
    const agent = await service.newAccount({ plan: 'gold' });
    const { account } = agent;
    expect((await agent.get('/usage')).body).toMatchObject({ plan: 'free', stores: { limit: 100 } });
    const folder = mkdtempSync(join(tmpdir(), 'memory-test-'));
    const started = await runOnTestDatabase([], { DATA_DIR: folder, PORT: '0' });
    await service.access.changePlan(account.id, 'free', byCommand(), deadlineIn(10_000));
    rmSync(folder, { recursive: true });
    expect(started.code, started.stdout).toBe(1);
    expect(started.stderr).toContain(
      `the plans are free, pro, power, teams, max, self_hosted, but the account '${account.name}' has the plan 'gold'`,
    );
    expect(started.stderr).toContain('npm run accounts -- plan NAME PLAN');
  });

  it('is a mistake of a command, as is a file of plans that is none', async () => {
    const unknown = await runOnTestDatabase(['accounts', 'create', 'acme', '--plan', 'gold']);
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining("There is no plan 'gold'") });
    const broken = await runOnTestDatabase(['accounts', 'list'], { PLANS_FILE: 'package.json' });
    expect(broken.code).toBe(1);
    expect(broken.stderr).toMatch(/^The configuration has a mistake:\n {2}PLANS_FILE: package.json has no plans/);
  });
});

describe('when a key was last used', () => {
  let database: Database;
  beforeAll(() => {
    database = connectDatabase(inject('neo4j'));
  });
  afterAll(() => database.close());

  const lastUsedAt = async (admin: Client, keyId: string): Promise<string | null> =>
    (await ask(admin, LIST, { first: 100 })).nodes.find(({ id }: { id: string }) => id === keyId).lastUsedAt;

  /** Uses the key at a service of its own, at that time by its clock; what it noted is written when it ends. */
  async function useAt(time: number, agent: Client, requests = 1): Promise<number> {
    let writes = 0;
    const other = await startService({
      now: () => time,
      database: {
        ...database,
        write(statement, parameters, deadline) {
          if (statement.includes('k.lastUsedAt = ')) writes++;
          return database.write(statement, parameters, deadline);
        },
      },
    });
    for (let request = 0; request < requests; request++)
      expect(await stateOf(new Client(other.url, agent.key, agent.account, agent.keyId))).toBe(200);
    await other.close();
    return writes;
  }

  it('is written within seconds, off the path of the request', async () => {
    const admin = await service.newAccount();
    const agent = await service.newKey(admin, { scopes: ['memory:read'] });
    expect(await lastUsedAt(admin, agent.keyId)).toBeNull();
    const before = Date.now();
    expect(await stateOf(agent)).toBe(200);
    await expect.poll(() => lastUsedAt(admin, agent.keyId), { timeout: 8_000, interval: 200 }).not.toBeNull();
    const used = Date.parse((await lastUsedAt(admin, agent.keyId))!);
    expect(used).toBeGreaterThanOrEqual(before);
    expect(used).toBeLessThanOrEqual(Date.now());
  });

  it('is not lost when the service ends, and written at most once a minute, however many processes note it', async () => {
    const admin = await service.newAccount();
    const agent = await service.newKey(admin, { scopes: ['memory:read'] });
    const start = Date.now();
    const written = async () => Date.parse((await lastUsedAt(admin, agent.keyId))!) - start;
    expect(await useAt(start, agent, 5), 'one write for many requests').toBe(1);
    expect(await written()).toBe(0);
    await Promise.all([useAt(start + 30_000, agent), useAt(start + 59_999, agent)]);
    expect(await written()).toBe(0);
    await Promise.all([useAt(start + 60_000, agent), useAt(start + 60_001, agent)]);
    const second = await written();
    expect([60_000, 60_001]).toContain(second);
    await useAt(start + 200_000, agent);
    expect(await written()).toBe(200_000);
  });

  it('is not written for a key that is refused', async () => {
    const admin = await service.newAccount();
    const revoked = await service.newKey(admin, { scopes: ['memory:read'] });
    await ask(admin, REVOKE, { id: revoked.keyId });
    const other = await startService();
    expect(await stateOf(new Client(other.url, revoked.key, revoked.account, revoked.keyId))).toBe(401);
    await other.close();
    expect(await lastUsedAt(admin, revoked.keyId)).toBeNull();
  });

  it('is no reason for a request or the end of the service to fail', async () => {
    const admin = await service.newAccount();
    const refusing = await startService({
      database: {
        ...database,
        write: (statement, parameters, deadline) =>
          statement.includes('k.lastUsedAt = ') ? Promise.reject(new Error('the disk is full')) : database.write(statement, parameters, deadline),
      },
    });
    const agent = new Client(refusing.url, admin.key, admin.account, admin.keyId);
    expect(await stateOf(agent)).toBe(200);
    await wait(5_500);
    expect(await stateOf(agent)).toBe(200);
    await refusing.close();
  });
});
