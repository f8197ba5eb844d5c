import { createHash } from 'node:crypto';
import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { deadlineIn } from '../src/deadline.ts';
import type { Row, Run } from '../src/graph/database.ts';
import { EMPTY_CHAIN, hashOf } from '../src/modules/access/audit.ts';
import { type ChainReport, checkChain } from '../src/modules/access/audit-check.ts';
import { createAuditLog } from '../src/modules/access/audit-log.ts';
import { hashApiKey } from '../src/modules/access/key.ts';
import { createAccessStore } from '../src/modules/access/store.ts';
import { createMemoryStore } from '../src/modules/memory/store.ts';
import { byCommand } from './testkit/accounts.ts';
import { type BoltProxy, type Moment, startBoltProxy } from './testkit/bolt-proxy.ts';
import { Client } from './testkit/client.ts';
import { runOnTestDatabase } from './testkit/command.ts';
import { startService, type TestService, useService } from './testkit/service.ts';

/** What is looked at is what is recorded, not how long that takes on a busy machine. */
const patient = { settings: { requestTimeout: 45_000 } };
const service = useService(patient);
/** A second instance on the same Neo4j. */
const other = useService(patient);

const LOG = '{ auditLog(first: 100) { nodes { id sequence at actor action target details previousHash hash } } }';
const CREATE = 'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key apiKey { id createdAt expiresAt } } }';
const ROTATE = 'mutation ($id: ID!) { rotateApiKey(id: $id) { key apiKey { id expiresAt } previous { expiresAt replacedBy } } }';
const REVOKE = 'mutation ($id: ID!) { revokeApiKey(id: $id) { apiKey { id revokedAt } } }';

/** The data of an operation that succeeds. */
async function ask(client: Client, document: string, variables: Record<string, unknown> = {}): Promise<any> {
  const reply = await client.graphql(document, variables);
  expect(reply.body.errors, reply.story).toBeUndefined();
  return Object.values(reply.body.data as object)[0];
}

/** The account's log, the first entry first. */
const entriesOf = async (client: Client): Promise<any[]> => (await ask(client, LOG)).nodes.reverse();
const check = (client: Client, head?: string): Promise<ChainReport> => checkChain(createAuditLog(service.database), client.account.id, head);

async function expectIntact(client: Client, entries: number): Promise<string> {
  const report = await check(client);
  expect(report).toEqual({ intact: true, entries, head: expect.stringMatching(/^[0-9a-f]{64}$/), containsHead: true });
  return (report as { head: string }).head;
}

/** An account with a change of every kind, several times over: 26 entries. */
async function busyAccount(): Promise<{ admin: Client; keys: string[]; memories: string[] }> {
  const admin = await service.newAccount({ plan: 'free' });
  const keys: string[] = [];
  const memories: string[] = [];
  for (let round = 0; round < 4; round++) {
    const made = await ask(admin, CREATE, {
      input: { name: `key ${round}`, userId: round % 2 ? 'maya' : null, scopes: ['MEMORY_WRITE', 'MEMORY_READ'] },
    });
    const rotated = await ask(admin, ROTATE, { id: made.apiKey.id });
    await ask(admin, REVOKE, { id: made.apiKey.id });
    keys.push(made.key, rotated.key);
    await service.access.changePlan(admin.account.id, round % 2 ? 'pro' : 'teams', byCommand(), deadlineIn(10_000));
    for (let index = 0; index < 2; index++) {
      const content = `The secret content ${round} ${index}`;
      const id = await admin.store({ content, user_id: 'maya', tags: ['secret'] });
      expect((await admin.delete(`/memory/${id}`)).status).toBe(200);
      memories.push(id);
    }
  }
  return { admin, keys, memories };
}

describe('the audit log of an account', () => {
  it('has an entry for each change: who did what, when, to what', async () => {
    const before = Date.now();
    const admin = await service.newAccount({ plan: 'free' });
    const expiresAt = new Date(before + 3_600_000).toISOString();
    const made = await ask(admin, CREATE, { input: { name: 'agent', scopes: ['MEMORY_READ'], userId: 'maya', expiresAt } });
    const rotated = await ask(admin, ROTATE, { id: made.apiKey.id });
    await ask(admin, REVOKE, { id: rotated.apiKey.id });
    await service.access.changePlan(admin.account.id, 'pro', byCommand(), deadlineIn(10_000));
    const id = await admin.store('To be deleted');
    await admin.delete(`/memory/${id}`);

    const details = { name: 'agent', scopes: ['memory:read'], userId: 'maya', expiresAt: Date.parse(expiresAt) };
    const entries = await entriesOf(admin);
    expect(entries).toMatchObject([
      { actor: 'command', action: 'account.created', target: admin.account.id, details: { name: admin.account.name, plan: 'free' } },
      { actor: 'command', action: 'key.created', target: admin.keyId, details: { name: null, scopes: ['admin'], userId: null, expiresAt: null } },
      { actor: admin.keyId, action: 'key.created', target: made.apiKey.id, details },
      {
        actor: admin.keyId,
        action: 'key.rotated',
        target: made.apiKey.id,
        details: { replacedBy: rotated.apiKey.id, expiresAt: Date.parse(expiresAt) },
      },
      { actor: admin.keyId, action: 'key.revoked', target: rotated.apiKey.id, details: {} },
      { actor: 'command', action: 'account.plan_changed', target: admin.account.id, details: { from: 'free', to: 'pro' } },
      { actor: admin.keyId, action: 'memory.deleted', target: id, details: {} },
    ]);
    expect(entries.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    for (const { at } of entries) {
      expect(Date.parse(at)).toBeGreaterThanOrEqual(before);
      expect(Date.parse(at)).toBeLessThanOrEqual(Date.now());
    }
    await expectIntact(admin, 7);
  });

  it('can be checked by its reader, with the hash as it is documented', async () => {
    const { admin } = await busyAccount();
    let previousHash = '0'.repeat(64);
    for (const { sequence, id, at, actor, action, target, details, previousHash: given, hash } of await entriesOf(admin)) {
      const fields = [
        admin.account.id,
        sequence,
        id,
        Date.parse(at),
        actor,
        action,
        target,
        JSON.stringify(details, Object.keys(details).sort()),
        previousHash,
      ];
      expect(given).toBe(previousHash);
      expect(hash).toBe(createHash('sha256').update(JSON.stringify(fields)).digest('hex'));
      previousHash = hash;
    }
  });

  it('has no entry for what changes nothing', async () => {
    const admin = await service.newAccount({ plan: 'free' });
    const bound = await service.newKey(admin, { userId: 'maya' });
    const shared = await admin.store({ content: 'Shared', tier: 3 });
    const id = await admin.store('Kept');
    await ask(admin, REVOKE, { id: bound.keyId });
    await ask(admin, REVOKE, { id: bound.keyId });
    await service.access.changePlan(admin.account.id, 'free', byCommand(), deadlineIn(10_000));
    expect((await admin.delete(`/memory/${uuid()}`)).status).toBe(404);
    expect((await admin.delete(`/memory/${shared}`, { user_id: 'maya' })).status).toBe(200);
    expect((await admin.send('DELETE', `/memory/${id}`, undefined, { 'if-match': '"7"' })).status).toBe(412);
    for (const document of [CREATE, ROTATE, REVOKE]) await admin.graphql(document, { id: uuid(), input: { name: '' } });
    const actions = (await entriesOf(admin)).map(({ action }) => action);
    expect(actions).toEqual(['account.created', 'key.created', 'key.created', 'key.revoked', 'memory.deleted']);
  });

  it('has none for a memory that expires', async () => {
    const admin = await service.newAccount();
    const expiresAt = Date.now() + 1_500;
    await admin.store({ content: 'Soon forgotten', expires_at: new Date(expiresAt).toISOString() });
    const store = createMemoryStore(service.database);
    while (!(await store.sweep({ now: expiresAt + 1, commitsBefore: 0, limit: 100 }, deadlineIn(30_000))).finished);
    expect((await admin.get('/memory/list')).body.count).toBe(0);
    await expectIntact(admin, 2);
  });

  it('holds no key, no hash of one, and nothing of a memory but its id', async () => {
    const { admin, keys, memories } = await busyAccount();
    const nodes = await service.database.read(
      'MATCH (n:AuditEntry|AuditHead {accountId: $accountId}) RETURN properties(n) AS properties',
      { accountId: admin.account.id },
      deadlineIn(10_000),
    );
    const text = JSON.stringify(nodes);
    for (const key of [admin.key, ...keys]) {
      expect(text).not.toContain(key);
      expect(text).not.toContain(key.slice(4, 20));
      expect(text).not.toContain(hashApiKey(key));
    }
    expect(text).not.toMatch(/secret content|embedding/);
    for (const id of memories) expect(text).toContain(id);
  });
});

describe('a chain that somebody has edited', () => {
  let admin: Client;
  let entries: Row[];
  let head: string;
  beforeAll(async () => {
    ({ admin } = await busyAccount());
    head = await expectIntact(admin, 26);
    const rows = await service.database.read(
      'MATCH (e:AuditEntry {accountId: $accountId}) RETURN properties(e) AS entry ORDER BY e.sequence',
      { accountId: admin.account.id },
      deadlineIn(10_000),
    );
    entries = rows.map((row) => row['entry'] as Row);
  });

  /** What the check says while the edit is in the graph; nothing of it is ever committed. */
  async function checkedWith(edit: (run: Run) => Promise<unknown>, wantedHead?: string): Promise<ChainReport> {
    class Undone extends Error {}
    let report: ChainReport | undefined;
    const editing = service.database.transaction(async (run) => {
      await edit(run);
      const log = createAuditLog({ read: (statement, parameters) => run(statement, parameters), transaction: (work) => work(run) });
      report = await checkChain(log, admin.account.id, wantedHead);
      throw new Undone();
    }, deadlineIn(30_000));
    await expect(editing).rejects.toThrow(Undone);
    return report!;
  }

  const random = mulberry32(20_260_901);
  const below = (limit: number) => Math.floor(random() * limit);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
  const at = (sequence: number) => ({ accountId: admin.account.id, sequence });
  const ENTRY = 'MATCH (e:AuditEntry {accountId: $accountId, sequence: $sequence})';
  const HEAD = 'MATCH (h:AuditHead {accountId: $accountId})';

  /** Another value for a field, of its kind or of another. */
  function otherThan(field: string, value: unknown): unknown {
    if (typeof value === 'number') {
      // Two entries of one place are refused by the database itself.
      const outside = [0, -1, entries.length + 1 + below(5), value + 0.5, String(value), 2 ** 40];
      return pick(field === 'sequence' ? outside : [...outside, value + 1, value - 1, -value].filter((candidate) => candidate !== value));
    }
    const text = String(value);
    const place = below(text.length + 1);
    const candidates = [
      `${text.slice(0, place)}${text.slice(place + 1)}`,
      `${text.slice(0, place)}x${text.slice(place)}`,
      `${text} `,
      text.toUpperCase(),
      [...text].reverse().join(''),
      String(pick(entries)[field]),
      '',
      0,
      true,
    ].filter((candidate) => candidate !== value && !(field === 'id' && entries.some(({ id }) => id === candidate)));
    return pick(candidates);
  }

  /** An entry as someone would write it who knows how hashes are made. */
  const forged = (entry: Row, change: Row) => {
    const changed = { ...entry, ...change };
    return { ...changed, hash: hashOf(changed as never) };
  };
  const put = (run: Run, entry: Row) => run('CREATE (e:AuditEntry) SET e = $entry', { entry });
  const set = (run: Run, sequence: number, values: Row) => run(`${ENTRY} SET e += $values`, { ...at(sequence), values });
  const last = () => entries.length;
  const anyPlace = () => 1 + below(last());

  const EDITS: Record<string, () => (run: Run) => Promise<unknown>> = {
    'a property is changed': () => {
      const sequence = anyPlace();
      const field = pick(Object.keys(entries[0]!));
      const value = otherThan(field, entries[sequence - 1]![field]);
      return (run) => set(run, sequence, { [field]: value });
    },
    'a property is taken away': () => {
      const sequence = anyPlace();
      const field = pick(Object.keys(entries[0]!));
      return (run) => set(run, sequence, { [field]: null });
    },
    'a property is added': () => {
      const sequence = anyPlace();
      return (run) => set(run, sequence, { [pick(['note', 'Actor', 'lock'])]: pick(['', 'x', 1, false]) });
    },
    'an entry is changed and hashed anew': () => {
      const sequence = anyPlace();
      const field = pick(['actor', 'action', 'target', 'details', 'at', 'id']);
      const entry = entries[sequence - 1]!;
      return (run) => set(run, sequence, forged(entry, { [field]: otherThan(field, entry[field]) }));
    },
    'an entry is deleted': () => {
      const sequence = anyPlace();
      return (run) => run(`${ENTRY} DELETE e`, at(sequence));
    },
    'an entry is deleted and the gap is closed': () => {
      const sequence = 1 + below(last() - 1);
      return async (run) => {
        await run(`${ENTRY} DELETE e`, at(sequence));
        for (let next = sequence + 1; next <= last(); next++) await set(run, next, { sequence: next - 1 });
        await run(`${HEAD} SET h.sequence = h.sequence - 1`, at(0));
      };
    },
    'several entries are deleted': () => {
      const places = Array.from({ length: 2 + below(5) }, anyPlace);
      return async (run) => {
        for (const sequence of places) await run(`${ENTRY} DELETE e`, at(sequence));
      };
    },
    'all entries are deleted': () => (run) => run('MATCH (e:AuditEntry {accountId: $accountId}) DELETE e', at(0)),
    'two entries change places': () => {
      const [one, two] = twoPlaces();
      return async (run) => {
        await set(run, one, { sequence: -1 });
        await set(run, two, { sequence: one });
        await set(run, -1, { sequence: two });
      };
    },
    'two entries change what they say': () => {
      const [one, two] = twoPlaces();
      const fields = pick([['actor', 'action', 'target', 'details', 'at'], ['id'], ['hash'], ['previousHash'], ['hash', 'previousHash']]);
      const said = (entry: Row) => Object.fromEntries(fields.map((field) => [field, entry[field]]));
      const [first, second] = [entries[one - 1]!, entries[two - 1]!];
      if (fields.every((field) => first[field] === second[field])) return (run) => set(run, one, { actor: 'nobody' });
      return async (run) => {
        await set(run, one, { id: uuid() });
        await set(run, two, { id: uuid() });
        await set(run, one, { id: first['id'], ...said(second), ...(fields.includes('id') ? { id: uuid() } : {}) });
        await set(run, two, { id: second['id'], ...said(first) });
      };
    },
    'the entries are put in another order': () => {
      const shift = 1 + below(last() - 1);
      return async (run) => {
        for (let place = 1; place <= last(); place++) await set(run, place, { sequence: -place });
        for (let place = 1; place <= last(); place++) await set(run, -place, { sequence: ((place - 1 + shift) % last()) + 1 });
      };
    },
    'an entry is put in': () => {
      const twin = pick(entries);
      const sequence = pick([0, -5, last() + 1, last() + 2, 1 + below(last()) + 0.5, '3', null]);
      return (run) => put(run, { ...twin, id: uuid(), sequence });
    },
    'an entry is put in where another was': () => {
      const sequence = anyPlace();
      const twin = entries[sequence - 1]!;
      return async (run) => {
        await run(`${ENTRY} DELETE e`, at(sequence));
        await put(run, forged(twin, { id: uuid(), target: uuid() }));
      };
    },
    'an entry is appended, and the head left': () => {
      const id = uuid();
      return (run) => put(run, forged(entries.at(-1)!, { id, sequence: last() + 1, previousHash: head }));
    },
    'the end is cut off, and the head left': () => {
      const kept = below(last());
      return (run) => run('MATCH (e:AuditEntry {accountId: $accountId}) WHERE e.sequence > $kept DELETE e', { ...at(0), kept });
    },
    'the beginning is cut off': () => {
      const dropped = anyPlace();
      return (run) => run('MATCH (e:AuditEntry {accountId: $accountId}) WHERE e.sequence <= $dropped DELETE e', { ...at(0), dropped });
    },
    'an entry is given to another account': () => {
      const sequence = anyPlace();
      return (run) => set(run, sequence, { accountId: uuid() });
    },
    'the head is changed': () => {
      const values = pick<Row>([
        { sequence: below(last()) },
        { sequence: last() + 1 },
        { sequence: String(last()) },
        { hash: pick(entries.slice(0, -1))['hash'] },
        { hash: head.toUpperCase() },
        { hash: EMPTY_CHAIN.hash },
        { sequence: null },
        { hash: null },
        { sequence: last() - 1, hash: entries.at(-2)!['hash'] },
        { ...EMPTY_CHAIN },
      ]);
      return (run) => run(`${HEAD} SET h += $values`, { ...at(0), values });
    },
    'the head is deleted': () => (run) => run(`${HEAD} DELETE h`, at(0)),
  };

  function twoPlaces(): [number, number] {
    const one = anyPlace();
    const two = anyPlace();
    return one === two ? twoPlaces() : [one, two];
  }

  it('is found out, in a thousand ways', { timeout: 240_000 }, async () => {
    const titles = Object.keys(EDITS);
    const problems = new Set<string>();
    for (let round = 0; round < 1_000; round++) {
      const title = titles[round % titles.length]!;
      const report = await checkedWith(EDITS[title]!());
      expect(report, `round ${round}: ${title}`).toEqual({ intact: false, problem: expect.any(String) });
      problems.add((report as { problem: string }).problem.replace(/[0-9a-f-]{36}|\{.*\}|-?[\d.]+/g, '#'));
    }
    expect(problems.size, 'the check tells kinds of damage apart').toBeGreaterThan(6);
    expect(await expectIntact(admin, 26), 'nothing of it stayed').toBe(head);
  });

  it('and whose head says so too is found out by a head that was kept elsewhere', async () => {
    for (const kept of [1, 13, 25]) {
      const cut = async (run: Run) => {
        await run('MATCH (e:AuditEntry {accountId: $accountId}) WHERE e.sequence > $kept DELETE e', { ...at(0), kept });
        await run(`${HEAD} SET h.sequence = $kept, h.hash = $hash`, { ...at(0), kept, hash: entries[kept - 1]!['hash'] });
      };
      expect(await checkedWith(cut, head)).toEqual({ intact: true, entries: kept, head: entries[kept - 1]!['hash'], containsHead: false });
    }
    const writtenAnew = async (run: Run) => {
      let previousHash = EMPTY_CHAIN.hash;
      for (const entry of entries) {
        const anew = forged(entry, { previousHash, ...(entry['sequence'] === 5 ? { target: uuid() } : {}) });
        await set(run, entry['sequence'] as number, anew);
        previousHash = anew.hash;
      }
      await run(`${HEAD} SET h.hash = $hash`, { ...at(0), hash: previousHash });
    };
    expect(await checkedWith(writtenAnew, head)).toMatchObject({ intact: true, entries: 26, containsHead: false });
    expect(await check(admin, head)).toMatchObject({ intact: true, containsHead: true });
    expect(await check(admin, entries[7]!['hash'] as string), 'an earlier head is in the chain for ever').toMatchObject({ containsHead: true });
  });
});

describe('many changes at once, at two instances', () => {
  it('make one chain without gaps, and none fails', async () => {
    const admin = await service.newAccount();
    const there = new Client(other.url, admin.key, admin.account, admin.keyId);
    const ids = await admin.storeAll(Array.from({ length: 50 }, (_, index) => `To be deleted: ${index}`));
    const derived = await Promise.all(
      ids.slice(0, 20).map((id, index) => admin.store({ content: `Derived ${index}`, source_ids: [id, ids[49 - index]!] })),
    );
    const checking = (async () => {
      const reports: ChainReport[] = [];
      for (let round = 0; round < 15; round++) reports.push(await check(admin));
      return reports;
    })();
    const [deleted, made] = await Promise.all([
      Promise.all([...ids, ...derived].map((id, index) => (index % 2 ? admin : there).delete(`/memory/${id}`))),
      Promise.all(Array.from({ length: 50 }, (_, index) => (index % 2 ? admin : there).graphql(CREATE, { input: { name: `key ${index}` } }))),
    ]);
    for (const reply of deleted) expect(reply.status, reply.story).toBe(200);
    for (const reply of made) expect(reply.body.errors, reply.story).toBeUndefined();
    for (const report of await checking)
      expect(report, 'a check never mistakes an entry that is being appended for an edit').toMatchObject({ intact: true });
    await expectIntact(admin, 2 + 70 + 50);
    const targets = await service.database.read(
      "MATCH (e:AuditEntry {accountId: $accountId, action: 'memory.deleted'}) RETURN collect(e.target) AS targets",
      { accountId: admin.account.id },
      deadlineIn(10_000),
    );
    expect((targets[0]!['targets'] as string[]).sort()).toEqual([...ids, ...derived].sort());
  });
});

describe('when a connection is cut', () => {
  let proxy: BoltProxy;
  /** Reaches Neo4j through the proxy. */
  let shaky: TestService;
  beforeAll(async () => {
    proxy = await startBoltProxy(inject('neo4j').uri);
    shaky = await startService({ databaseUri: proxy.uri });
  });
  afterAll(async () => {
    await shaky.close();
    await proxy.close();
  });

  const MOMENTS: readonly Moment[] = ['while running', 'before commit', 'after commit'];
  /** A piece of the statement that appends an entry. */
  const APPEND = 'CREATE (e:AuditEntry)';

  describe.each(MOMENTS)('%s', (moment) => {
    it('a DELETE erases once, and is recorded once', async () => {
      const admin = await shaky.newAccount();
      const id = await admin.store('To be deleted');
      const cut = proxy.cut(moment, APPEND, id);
      const [deleted] = await Promise.all([admin.delete(`/memory/${id}`), cut]);
      expect(deleted.body, deleted.story).toEqual({ id, deleted: true });
      await expectIntact(admin, 3);
    });

    it('a key is made once, and is the one that is answered', async () => {
      const admin = await shaky.newAccount();
      const cut = proxy.cut(moment, APPEND, admin.account.id);
      const [{ key, apiKey }] = await Promise.all([ask(admin, CREATE, { input: { name: 'made once' } }), cut]);
      expect((await new Client(admin.url, key, admin.account, '').get('/memory/list')).status).toBe(200);
      const entries = await entriesOf(admin);
      expect(entries.map(({ target }) => target)).toEqual([admin.account.id, admin.keyId, apiKey.id]);
      await expectIntact(admin, 3);
    });

    it('a key is rotated once, and the new one is answered', async () => {
      const admin = await shaky.newAccount();
      const cut = proxy.cut(moment, APPEND, 'key.rotated', admin.account.id);
      const [{ key, apiKey, previous }] = await Promise.all([ask(admin, ROTATE, { id: admin.keyId }), cut]);
      expect(previous.replacedBy).toBe(apiKey.id);
      expect(Date.parse(previous.expiresAt)).toBeGreaterThan(Date.now() + 86_000_000);
      expect((await new Client(admin.url, key, admin.account, '').get('/memory/list')).status).toBe(200);
      await expectIntact(admin, 3);
    });

    it('a key is revoked once, the plan changed once, and the account made once', async () => {
      const store = createAccessStore(shaky.database);
      const account = { id: uuid(), name: `cut-${uuid()}`, plan: 'free' };
      const making = proxy.cut(moment, APPEND, account.id);
      const [created] = await Promise.all([store.createAccount(account, byCommand(), deadlineIn(10_000)), making]);
      expect(created).toMatchObject({ account, created: true });
      const changing = proxy.cut(moment, APPEND, 'account.plan_changed', account.id);
      const [changed] = await Promise.all([store.changePlan(account.id, 'pro', byCommand(), deadlineIn(10_000)), changing]);
      expect(changed).toMatchObject({ ...account, plan: 'pro' });
      const admin = await shaky.newAccount();
      const lost = await shaky.newKey(admin, {});
      const revoking = proxy.cut(moment, APPEND, 'key.revoked', lost.keyId);
      const [{ apiKey }] = await Promise.all([ask(admin, REVOKE, { id: lost.keyId }), revoking]);
      expect(apiKey).toEqual({ id: lost.keyId, revokedAt: expect.any(String) });
      await expectIntact(admin, 4);
      expect(await checkChain(createAuditLog(service.database), account.id)).toMatchObject({ intact: true, entries: 2 });
    });
  });
});

describe('npm run audit', () => {
  const command = (...args: string[]) => runOnTestDatabase(args);

  it('verifies one account or all, knows a head that it printed before, and says what is broken', { timeout: 180_000 }, async () => {
    const admin = await service.newAccount({ plan: 'free' });
    const name = admin.account.name;
    const first = await command('audit', 'verify', '--account', name);
    expect(first, JSON.stringify(first)).toMatchObject({ code: 0 });
    const [, head] = /^test-\S+ {2}2 entries {2}head ([0-9a-f]{64})\n$/.exec(first.stdout)!;

    const planned = await command('accounts', 'plan', name, 'pro');
    expect(planned.stdout, planned.stderr).toContain(`The account '${name}' has the plan pro now, in place of free`);
    const rotated = await command('keys', 'rotate', admin.keyId, '--account', name, '--grace', '1');
    expect(rotated.code, rotated.stderr).toBe(0);
    const renewed = new Client(admin.url, rotated.stdout.trim(), admin.account, '');
    expect((await entriesOf(renewed)).slice(2)).toMatchObject([
      { actor: 'command', action: 'account.plan_changed', details: { from: 'free', to: 'pro' } },
      { actor: 'command', action: 'key.rotated', target: admin.keyId },
    ]);
    const again = await command('audit', 'verify', '--head', head!);
    expect(again.code, again.stderr).toBe(0);
    expect(again.stdout).toContain(`${name}  4 entries`);
    const unknown = await command('audit', 'verify', '--account', name, '--head', 'f'.repeat(64));
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('No entry has the hash ffff') });

    const listed = await command('audit', 'list', '--account', name);
    expect(
      listed.stdout
        .trim()
        .split('\n')
        .map((line) => line.split('  ')[3]),
    ).toEqual(['key.rotated', 'account.plan_changed', 'key.created', 'account.created']);

    const change = (actor: string) =>
      service.database.write(
        'MATCH (e:AuditEntry {accountId: $id, sequence: 3}) SET e.actor = $actor',
        { id: admin.account.id, actor },
        deadlineIn(10_000),
      );
    await change('nobody');
    const broken = await command('audit', 'verify');
    await change('command');
    expect(broken.code).toBe(1);
    expect(broken.stdout).toMatch(new RegExp(`^${name}  BROKEN: entry 3 .* does not say what was recorded: its hash does not fit$`, 'm'));
    expect(broken.stderr).toMatch(/The audit log is broken in 1 of \d+ accounts/);
  });

  it('says how it is called', { timeout: 180_000 }, async () => {
    for (const args of [
      ['audit'],
      ['audit', 'verify', 'x'],
      ['audit', 'verify', '--head', 'x'],
      ['audit', 'list', '--head', 'f'.repeat(64)],
      ['accounts', 'plan', 'x'],
      ['keys', 'rotate', 'x', '--grace', '721'],
    ]) {
      const { code, stderr } = await command(...args);
      expect(code, args.join(' ')).toBe(2);
      expect(stderr).toMatch(/Usage: npm run|--grace must be a whole number from 0 to 720/);
    }
    expect((await command('audit', 'verify', '--account', 'nobody')).stderr).toContain("There is no account 'nobody'");
    expect((await command('accounts', 'plan', 'nobody', 'gold')).stderr).toContain("There is no plan 'gold'");
  });
});

/** A small generator of the same numbers every time. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  };
}
