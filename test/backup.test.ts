import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import neo4j from 'neo4j-driver';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { backUp } from '../src/backup/backup.ts';
import { BackupFileError, headerOf, requireWritable, writeBackup } from '../src/backup/file.ts';
import { checkBackup, restore } from '../src/backup/restore.ts';
import { AppearedError, holdWriters } from '../src/backup/writers.ts';
import { deadlineIn } from '../src/deadline.ts';
import { connectExactly } from '../src/graph/exact.ts';
import { migrate, SCHEMA_VERSION } from '../src/graph/migrations.ts';
import { createMemoryStore } from '../src/modules/memory/store.ts';
import { byCommand } from './testkit/accounts.ts';
import { Client } from './testkit/client.ts';
import { type Neo4j, setUpSchema, startNeo4j } from './testkit/neo4j.ts';
import { environmentWith, start } from './testkit/npm-start.ts';
import { startService, type TestService } from './testkit/service.ts';

const { signal } = new AbortController();
const report = () => undefined;

let folder: string;
let source: Neo4j;
let target: Neo4j;
let service: TestService;
let client: Client;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'memory-backup-'));
  [source, target] = await Promise.all([startNeo4j(), startNeo4j()]);
  await setUpSchema(source);
  service = await startService({ neo4j: source.address });
  client = await service.newAccount();
});
afterAll(async () => {
  await service.close();
  await Promise.all([source.close(), target.close()]);
  rmSync(folder, { recursive: true, force: true });
});

describe('a backup and its restore', () => {
  it('bring back every node, property, relationship and index', async () => {
    await fill();
    const path = await backup();
    await restoreInto(target, path);
    const [original, copy] = [await contentsOf(source), await contentsOf(target)];
    expect(copy.nodes).toEqual(original.nodes);
    expect(copy.relationships).toEqual(original.relationships);
    expect(copy.schema).toEqual(original.schema);
    expect(original.nodes.length).toBeGreaterThan(20);
  });

  it('give the API with its old keys', async () => {
    const bound = await service.newKey(client, { userId: 'maya', scopes: ['memory:read'] });
    const revoked = await service.newKey(client, {});
    await service.access.revokeKey(client.account.id, revoked.keyId, byCommand(), deadlineIn(10_000));
    const expired = await service.newKey(client, { expiresAt: Date.now() - 1 });
    const id = await client.store({ content: 'Maya keeps a sourdough starter called Otto', user_id: 'maya', tags: ['bread'] });
    await restoreInto(target, await backup());

    const restored = await startService({ neo4j: target.address });
    try {
      const [all, maya, gone, late] = [client, bound, revoked, expired].map(
        ({ key, account, keyId }) => new Client(restored.url, key, account, keyId),
      );
      const memory = await all!.get(`/memory/${id}`);
      expect(memory.status, memory.story).toBe(200);
      expect(memory.body).toEqual((await client.get(`/memory/${id}`)).body);
      expect((await all!.get('/memory/list', { limit: 100 })).body.memories).toEqual(
        (await client.get('/memory/list', { limit: 100 })).body.memories,
      );
      expect((await maya!.found('What does Maya bake with'))[0]).toBe('Maya keeps a sourdough starter called Otto');
      expect((await maya!.get('/memory/list', { user_id: 'someone' })).status).toBe(403);
      expect((await gone!.get('/memory/list')).status).toBe(401);
      expect((await late!.get('/memory/list')).status).toBe(401);
    } finally {
      await restored.close();
    }
  });

  it('are of one moment, while others write', async () => {
    const acknowledged = new Set<string>();
    const slowest = { milliseconds: 0 };
    let stopping = false;
    const writers = Array.from({ length: 8 }, async (_, number) => {
      for (let count = 0; !stopping; count++) {
        const startedAt = performance.now();
        const first = await client.store(`Writer ${number} wrote sentence ${count} about the weather`);
        acknowledged.add(first);
        const second = await client.store({ content: `Writer ${number} concluded ${count}`, source_ids: [first] });
        acknowledged.add(second);
        const patched = await client.patch(`/memory/${second}`, { content: `Writer ${number} reconsidered ${count}` });
        expect(patched.status, patched.story).toBe(200);
        slowest.milliseconds = Math.max(slowest.milliseconds, performance.now() - startedAt);
      }
    });
    // Of each pair both or none are there, and they are alike.
    const pairs = Array.from({ length: 3 }, async (_, number) => {
      for (let count = 0; !stopping; count++)
        await source.database.write(
          `MERGE (a:PairA {number: $number}) MERGE (b:PairB {number: $number}) SET a.count = $count, b.count = $count
           CREATE (a)-[:TICK {count: $count}]->(b)`,
          { number, count },
          deadlineIn(10_000),
        );
    });
    await delay(500);
    const before = new Set(acknowledged);
    const path = await backup();
    await delay(200);
    stopping = true;
    await Promise.all([...writers, ...pairs]);
    expect(acknowledged.size).toBeGreaterThan(before.size);
    expect(slowest.milliseconds).toBeLessThan(10_000);

    await restoreInto(target, path);
    const rows = await target.database.read('MATCH (m:Memory) RETURN m.id AS id', {}, deadlineIn(30_000));
    const ids = new Set(rows.map(({ id }) => id as string));
    expect([...before].filter((id) => !ids.has(id))).toEqual([]);
    const broken = await target.database.read(
      `MATCH (m:Memory) WHERE m.embedding IS NULL OR m.version <> 1 + COUNT { (m)-[:HAS_VERSION]->() } OR size(m.sourceIds) <> COUNT { (m)-[:DERIVED_FROM]->() }
       RETURN m.id AS broken
       UNION ALL MATCH (a:PairA) OPTIONAL MATCH (b:PairB {number: a.number})
       WITH a, b WHERE b IS NULL OR a.count <> b.count OR COUNT { (a)-[:TICK]->(b) } <> a.count + 1 RETURN 'pair ' + a.number AS broken`,
      {},
      deadlineIn(30_000),
    );
    expect(broken).toEqual([]);
    const [pairsThere] = await target.database.read('MATCH (a:PairA) RETURN count(a) AS count', {}, deadlineIn(10_000));
    expect(pairsThere!['count']).toBe(3);
  });
});

describe('while writers are held back', () => {
  it('no change of what is there is made, and all are made afterwards', async () => {
    await source.database.write('CREATE (:HeldA {id: 1})-[:HELD {w: 1}]->(:HeldB {id: 1}), (:HeldA {id: 2})', {}, deadlineIn(10_000));
    const connections = connectExactly(source.address);
    const hold = await holdWriters(connections, signal);
    const writes = [
      'CREATE (:HeldA {id: 3})',
      'MATCH (a:HeldA {id: 1}) SET a.changed = true',
      'MATCH (b:HeldB {id: 1}) REMOVE b.id',
      'MATCH (a:HeldA {id: 2}) DETACH DELETE a',
      'MATCH ()-[r:HELD]->() SET r.w = 2',
      'MATCH (b:HeldB) SET b:HeldA',
    ];
    let settled = 0;
    const pending = writes.map((statement) => source.database.write(statement, {}, deadlineIn(20_000)).finally(() => settled++));
    await delay(500);
    expect(settled).toBe(0);
    await hold.confirm();
    await hold.release();
    await Promise.all(pending);
    await connections.close();
  });

  it('a label that nobody had used is noticed, and held at the next attempt', async () => {
    const connections = connectExactly(source.address);
    const hold = await holdWriters(connections, signal);
    await source.database.write('CREATE (:Newcomer)', {}, deadlineIn(10_000));
    await expect(hold.confirm()).rejects.toThrow(AppearedError);
    await hold.release();
    const again = await holdWriters(connections, signal);
    expect(again.labels).toContain('Newcomer');
    await again.release();
    await connections.close();
  });
});

describe('a restore refuses a file', () => {
  it.each<[string, (whole: Buffer) => Buffer, RegExp]>([
    ['that is cut off', (whole) => whole.subarray(0, -20), /damaged or not complete/],
    ['that is cut in half', (whole) => whole.subarray(0, whole.length >> 1), /damaged or not complete/],
    ['with a byte changed', (whole) => whole.fill(whole[whole.length >> 1]! ^ 1, whole.length >> 1, (whole.length >> 1) + 1), /damaged|not a backup/],
    ['with a text changed', (whole) => rewritten(whole, (text) => text.replace('Everyone in the firm', 'Everyone in the farm')), /checksum/],
    ['without its last line', (whole) => rewritten(whole, (text) => text.slice(0, text.lastIndexOf('\n', text.length - 2) + 1)), /checksum/],
    ['without an entry', (whole) => rewritten(whole, (text) => text.replace(/\n\{"node".*/, '')), /checksum/],
    ['that is empty', () => Buffer.alloc(0), /not a backup/],
    ['of something else, compressed', () => gzipSync('{"name": "something else"}\n'), /not a backup/],
    ['of something else', () => Buffer.from('a text'), /not a backup/],
    [
      'of a newer schema',
      (whole) => rewritten(whole, (text) => text.replace(`"schemaVersion":${SCHEMA_VERSION}`, `"schemaVersion":${SCHEMA_VERSION + 1}`)),
      /checksum|newer/,
    ],
  ])('%s', async (_, spoil, message) => {
    const path = join(folder, 'spoilt.gz');
    writeFileSync(path, spoil(readFileSync(await backup())));
    await expect(checkBackup(path)).rejects.toThrow(message);
    await expect(checkBackup(path)).rejects.toThrow(BackupFileError);
  });

  it('that a newer service wrote', async () => {
    const path = join(folder, 'newer.gz');
    const lines = async function* () {
      yield await Promise.resolve(headerOf({ schemaVersion: SCHEMA_VERSION + 1, serviceVersion: '99.0.0', at: new Date().toISOString() }));
    };
    await writeBackup(path, lines(), signal);
    await expect(checkBackup(path)).rejects.toThrow(`schema version ${SCHEMA_VERSION + 1}, written by the newer memory service 99.0.0`);
  });
});

describe('a restore that is broken off', () => {
  it('leaves a database that the service and a backup refuse, and that a further restore clears', async () => {
    const path = await backup();
    await target.database.write('MATCH (n) DETACH DELETE n', {}, deadlineIn(30_000));
    const contents = await checkBackup(path);
    // What comes after the last batch of the file finds that it is not the one that was checked.
    writeFileSync(
      join(folder, 'swapped.gz'),
      rewritten(readFileSync(path), (text) => text.replace('Everyone in the firm', 'Everyone in the farm')),
    );
    await expect(restore(opened(target), contents, { path: join(folder, 'swapped.gz'), report, signal })).rejects.toThrow(/checksum/);

    await expect(migrate(target.database, report)).rejects.toThrow(/restored into this database, and that was broken off/);
    await expect(backUp(opened(target), { path: join(folder, 'half.gz'), report, signal })).rejects.toThrow(/broken off/);
    await restore(opened(target), contents, { path, report, signal });
    await setUpSchema(target);
    expect(await contentsOf(target)).toEqual(await contentsOf(source));
  });

  it('is not begun on a database that has something in it', async () => {
    const path = await backup();
    await expect(restore(opened(source), await checkBackup(path), { path, report, signal })).rejects.toThrow(
      /only restored into an empty database; this one has nodes: \d+ \w+.*DATA_DIR/,
    );
  });
});

describe('a file that can not be written', () => {
  it('is refused before anything is done', async () => {
    const path = await backup();
    expect(() => requireWritable(path, { force: false })).toThrow(/There is a file .* already.*--force/);
    requireWritable(path, { force: true });
    expect(() => requireWritable(join(folder, 'no-such-folder', 'backup.gz'), { force: false })).toThrow(/ENOENT/);
    await expect(backUp(opened(source), { path: join(folder, 'no-such-folder', 'backup.gz'), report, signal })).rejects.toThrow(/ENOENT/);
  });

  it('leaves no part of it behind when the disk is full', async ({ skip }) => {
    const small = join(folder, 'small-disk');
    mkdirSync(small);
    if (!mounted(small)) return skip('no disk can be mounted here');
    try {
      await expect(backUp(opened(source), { path: join(small, 'backup.gz'), report, signal })).rejects.toThrow(/ENOSPC/);
      expect(readdirSync(small)).toEqual([]);
      await client.store('Stored after a backup found no space');
    } finally {
      execFileSync('umount', [small]);
    }
  });
});

describe('a backup that is broken off', () => {
  it('lets the writers go on', async () => {
    const killed = begin(source.dataDir, 'backup', join(folder, 'killed.gz'));
    await killed.printed('Waiting for the writes');
    await killed.kill('SIGKILL');
    await client.store('Stored right after a backup was killed');
    expect(existsSync(join(folder, 'killed.gz'))).toBe(false);
  });
});

describe('npm run backup and npm run restore', () => {
  it('work beside the service, and into a new folder', async () => {
    const path = join(folder, 'by-command.gz');
    const made = await command(source.dataDir, 'backup', path);
    expect(made.code, made.output).toBe(0);
    expect(made.output).toMatch(/has the database as of .*: \d+ nodes and \d+ relationships/);
    const again = await command(source.dataDir, 'backup', path);
    expect(again.code).toBe(1);
    expect(again.output).toContain('already');
    expect((await command(source.dataDir, 'backup', path, '--force')).code).toBe(0);
    expect(statSync(path).mode & 0o777).toBe(0o600);

    const dataDir = join(folder, 'restored');
    const restored = await command(dataDir, 'restore', path);
    expect(restored.code, restored.output).toBe(0);
    expect(restored.output).toContain('with its API keys');
    const copy = await startNeo4j({ dataDir });
    try {
      expect(await contentsOf(copy)).toEqual(await contentsOf(source));
      const busy = await command(source.dataDir, 'restore', path);
      expect(busy.code).toBe(1);
      expect(busy.output).toMatch(/in use by process \d+ \(a test\)/);
    } finally {
      await copy.close();
    }
  }, 120_000);

  it('say how they are called, and what is wrong with the file', async () => {
    for (const args of [['backup'], ['restore'], ['restore', 'a', 'b'], ['backup', 'a', '--no']]) {
      const { code, output } = await command(source.dataDir, ...args);
      expect(code, args.join(' ')).toBe(2);
      expect(output).toContain('Usage: npm run');
    }
    const missing = await command(join(folder, 'nothing'), 'restore', join(folder, 'no-such-file.gz'));
    expect(missing.code).toBe(1);
    expect(missing.output).toContain('There is no file');
    expect(existsSync(join(folder, 'nothing'))).toBe(false);
  });
});

async function fill(): Promise<void> {
  const user = { user_id: 'maya' };
  const first = await client.store({ content: 'Pinned: allergic to penicillin 💊 «Ünïcödé»\u2028 line', tier: 0, ...user });
  await client.store({ content: 'A session note', tier: 1, session_id: 's1', ...user });
  await client.store({ content: 'Everyone in the firm knows this', tier: 3, tags: ['firm', 'größe'] });
  await client.store({
    content: 'It expires',
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    metadata: { nested: { a: [1, 2.5, null, 'x'] } },
  });
  await client.store({ content: 'long '.repeat(2_000) });
  const derived = await client.store({ content: 'Must not be given penicillin', source_ids: [first], ...user });
  for (const content of ['Changed once', 'Changed twice']) await client.patch(`/memory/${derived}`, { content }, user);
  const archived = await client.store('Archived later');
  await client.patch(`/memory/${archived}`, { archived: true });
  await createMemoryStore(source.database).addRecalls([{ accountId: client.account.id, id: first, recalls: 3 }], deadlineIn(10_000));
  const connections = connectExactly(source.address);
  const session = connections.session();
  const integer = (value: number) => value as unknown as bigint;
  try {
    await session.run('CREATE (a:`of ``every`` kind`:Second $properties)-[r:`TO BE` $properties]->(:Second {x: 1}), (a)-[:SELF]->(a)', {
      properties: {
        whole: 1n,
        large: 9223372036854775807n,
        negative: -1n,
        float: 1,
        fraction: 0.1,
        huge: 1e300,
        notANumber: NaN,
        infinite: -Infinity,
        negativeZero: -0,
        yes: true,
        text: 'quotes " \\ \u2029',
        empty: '',
        'a key `with` backticks': 'there',
        integers: [1n, 2n],
        floats: [1, 0.5],
        doubles: [0.1, 1e300],
        texts: ['a', ''],
        nothing: [],
        flags: [true, false],
        bytes: new Int8Array([-1, 0, 1]),
        date: new neo4j.types.Date(integer(2026), integer(2), integer(28)),
        time: new neo4j.types.Time(integer(1), integer(2), integer(3), integer(4), integer(3600)),
        localTime: new neo4j.types.LocalTime(integer(1), integer(2), integer(3), integer(4)),
        moment: new neo4j.types.DateTime(integer(2026), integer(1), integer(2), integer(3), integer(4), integer(5), integer(6), integer(7200)),
        zoned: new neo4j.types.DateTime(
          integer(2026),
          integer(7),
          integer(2),
          integer(3),
          integer(4),
          integer(5),
          integer(6),
          undefined,
          'Europe/Berlin',
        ),
        local: new neo4j.types.LocalDateTime(integer(2026), integer(1), integer(2), integer(3), integer(4), integer(5), integer(6)),
        span: new neo4j.types.Duration(integer(1), integer(2), integer(3), integer(4)),
        place: new neo4j.types.Point(integer(4326), 13.4, 52.5),
        dates: [new neo4j.types.Date(integer(1), integer(1), integer(1))],
      },
    });
  } finally {
    await session.close();
    await connections.close();
  }
}

function opened({ database, address }: Neo4j) {
  return { database, address, disk: null, close: () => Promise.resolve() };
}

async function backup(): Promise<string> {
  const path = join(folder, `backup-${Math.random()}.gz`);
  await backUp(opened(source), { path, report, signal });
  return path;
}

async function restoreInto(neo4j: Neo4j, path: string): Promise<void> {
  await neo4j.database.write('MATCH (n) DETACH DELETE n', {}, deadlineIn(30_000));
  await restore(opened(neo4j), await checkBackup(path), { path, report, signal });
  await setUpSchema(neo4j);
}

/** Everything in a database, in a form that doesn't depend on where it is stored: integers and floats differ in it. */
async function contentsOf({ address }: Neo4j): Promise<{ nodes: string[]; relationships: string[]; schema: string[] }> {
  const connections = connectExactly(address);
  const session = connections.session();
  const print = (value: unknown) => inspect(value, { sorted: true, depth: 9, maxArrayLength: null, maxStringLength: null });
  const all = async (statement: string) => (await session.run(`CYPHER 25 ${statement}`)).records.map((record) => print(record.toObject())).sort();
  try {
    const plain = (name: string) => `{labels: labels(${name}), properties: properties(${name})}`;
    return {
      nodes: await all(`MATCH (n) RETURN ${plain('n')} AS node`),
      relationships: await all(`MATCH (a)-[r]->(b) RETURN type(r) AS type, properties(r) AS properties, ${plain('a')} AS a, ${plain('b')} AS b`),
      schema: await all("SHOW INDEXES YIELD type, state, createStatement WHERE type <> 'LOOKUP' RETURN state, createStatement"),
    };
  } finally {
    await session.close();
    await connections.close();
  }
}

/** The same backup with another text in it, as valid gzip. */
function rewritten(whole: Buffer, change: (text: string) => string): Buffer {
  return gzipSync(change(gunzipSync(whole).toString()));
}

function mounted(path: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', path], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const begin = (dataDir: string, ...args: string[]) => start(environmentWith({ DATA_DIR: dataDir }), args);

async function command(dataDir: string, ...args: string[]): Promise<{ code: number | null; output: string }> {
  const { exit, output } = begin(dataDir, ...args);
  return { code: await exit, output: output() };
}
