import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { deadlineIn } from '../src/deadline.ts';
import { connectDatabase, type Database } from '../src/graph/database.ts';
import { createAccessStore } from '../src/modules/access/store.ts';
import { generateApiKey, hashApiKey, hintOf } from '../src/modules/access/key.ts';
import { createMemoryStore } from '../src/modules/memory/store.ts';
import { startFaultyProxy } from './testkit/faulty-proxy.ts';

let database: Database;
beforeAll(() => {
  database = connectDatabase(inject('neo4j'));
});
afterAll(() => database.close());

const name = (title: string) => `${title} ${Math.random()}`;

/** Takes the lock of a node and keeps it until it is told to let go. */
async function holdLock(id: string): Promise<{ release: () => void; done: Promise<unknown> }> {
  await database.write('MERGE (:TestLock {id: $id})', { id }, deadlineIn(10_000));
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  let taken = () => {};
  const held = new Promise<void>((resolve) => (taken = resolve));
  const done = database.transaction(async (run) => {
    await run('MATCH (n:TestLock {id: $id}) SET n.held = true', { id });
    taken();
    await released;
  }, deadlineIn(60_000));
  await held;
  return { release, done };
}

describe('a call to the database', () => {
  it('ends at its deadline with a 503, and leaves calls with more time alone, however many end so', async () => {
    const id = name('lock');
    const lock = await holdLock(id);
    const late = await Promise.allSettled(
      Array.from({ length: 30 }, () => database.write('MATCH (n:TestLock {id: $id}) SET n.late = true', { id }, deadlineIn(800))),
    );
    for (const result of late) expect(result).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } });
    const healthy = database.write('MATCH (n:TestLock {id: $id}) SET n.healthy = true RETURN n.late AS late', { id }, deadlineIn(30_000));
    await database.read('RETURN 1', {}, deadlineIn(2_000));
    lock.release();
    await lock.done;
    expect(await healthy, 'and what ended was not applied').toEqual([{ late: null }]);
  });

  it('is repeated at once after a deadlock, and both sides come through', async () => {
    const [a, b] = [name('a'), name('b')];
    for (const id of [a, b]) await database.write('MERGE (:TestLock {id: $id})', { id }, deadlineIn(10_000));
    const tries = { count: 0 };
    const cross = (first: string, second: string) =>
      database.transaction(async (run) => {
        tries.count++;
        await run('MATCH (n:TestLock {id: $id}) SET n.turn = coalesce(n.turn, 0) + 1', { id: first });
        await new Promise((resolve) => setTimeout(resolve, 100));
        await run('MATCH (n:TestLock {id: $id}) SET n.turn = coalesce(n.turn, 0) + 1', { id: second });
      }, deadlineIn(20_000));
    await Promise.all([cross(a, b), cross(b, a)]);
    expect(tries.count).toBeGreaterThan(2);
    const rows = await database.read('MATCH (n:TestLock) WHERE n.id IN $ids RETURN n.turn AS turn', { ids: [a, b] }, deadlineIn(10_000));
    expect(rows).toEqual([{ turn: 2 }, { turn: 2 }]);
  });

  it('fails with the reason long before its deadline when there is no server', async () => {
    const nowhere = connectDatabase({ ...inject('neo4j'), uri: 'bolt://127.0.0.1:1' });
    try {
      const deadline = deadlineIn(60_000);
      await expect(nowhere.read('RETURN 1', {}, deadline)).rejects.toMatchObject({ code: 'unavailable', cause: { code: 'ServiceUnavailable' } });
      expect(deadline.remaining()).toBeGreaterThan(40_000);
    } finally {
      await nowhere.close();
    }
  });

  it('fails with a 503 too when only a part of the first answer comes, and works when all of it does', async () => {
    const { hostname, port } = new URL(inject('neo4j').uri);
    const proxy = await startFaultyProxy({ hostname, port: Number(port) });
    const behind = connectDatabase({ ...inject('neo4j'), uri: `bolt://127.0.0.1:${proxy.port}` });
    try {
      proxy.begin('truncation');
      await expect(behind.read('RETURN 1', {}, deadlineIn(1_000))).rejects.toMatchObject({ code: 'unavailable' });
      const patient = behind.read('RETURN 1 AS one', {}, deadlineIn(30_000));
      await proxy.end();
      expect(await patient).toEqual([{ one: 1 }]);
    } finally {
      await behind.close();
      await proxy.close();
    }
  });
});

describe('the sweep', () => {
  it('says that it has not finished while old commits are left', async () => {
    const long = Date.UTC(2000, 0, 1);
    await database.write(
      'UNWIND range(1, 25) AS n CREATE (:Commit {id: $prefix + n, at: $at})',
      { prefix: name('commit'), at: long },
      deadlineIn(10_000),
    );
    const store = createMemoryStore(database);
    const request = { now: Date.UTC(1990, 0, 1), commitsBefore: long + 1, limit: 10 };
    expect(await store.sweep(request, deadlineIn(10_000))).toEqual({ finished: false });
    expect(await store.sweep(request, deadlineIn(10_000))).toEqual({ finished: false });
    expect(await store.sweep(request, deadlineIn(10_000))).toEqual({ finished: true });
  });
});

describe('an API key', () => {
  it('belongs to one account', async () => {
    const access = createAccessStore(database);
    const key = generateApiKey();
    const record = { id: key, hash: hashApiKey(key), hint: hintOf(key), name: null, scopes: [], userId: null, createdAt: 1, expiresAt: null };
    const author = { actor: 'command', at: 1 };
    const accounts = [name('one'), name('other')].map((title) => ({ id: title, name: title, plan: 'free' }));
    for (const account of accounts) await access.createAccount(account, author, deadlineIn(10_000));
    const created = await access.createKey(accounts[0]!.id, record, author, deadlineIn(10_000));
    expect(created).toMatchObject({ id: record.id, revokedAt: null });
    expect(await access.createKey(accounts[0]!.id, record, author, deadlineIn(10_000)), 'a repeat').toEqual(created);
    expect(await access.createKey(accounts[1]!.id, record, author, deadlineIn(10_000)), 'another account').toBe('taken');
    expect((await access.findKey(record.hash, deadlineIn(10_000)))?.account.name).toBe(accounts[0]!.name);
  });
});
