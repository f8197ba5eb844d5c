import { createHash, randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Deadline, deadlineIn } from '../src/deadline.ts';
import { connectDatabase, type Database } from '../src/graph/database.ts';
import { recordOf } from '../src/modules/access/audit.ts';
import { beginChain } from '../src/modules/access/audit-log.ts';
import { facetsOf } from '../src/modules/memory/filter.ts';
import { NEVER } from '../src/modules/memory/model.ts';
import { scopeOf } from '../src/modules/memory/scope.ts';
import { createMemoryStore, type MemoryStore } from '../src/modules/memory/store.ts';
import type { StoreRow } from '../src/modules/memory/store-batch.ts';
import { createMemoryWriter, type MemoryWriter } from '../src/modules/memory/writer.ts';

let database: Database;
let store: MemoryStore;

beforeAll(() => {
  database = connectDatabase(inject('neo4j'));
  store = createMemoryStore(database);
});
afterAll(() => database.close());

/** A row as the service makes them. */
function rowOf(accountId: string, content: string, { properties = {}, sourceIds = [] as string[] } = {}): StoreRow {
  const keyed = { accountId, userId: null, tier: 2, type: 'fact', tags: [], sessionId: null, archived: false };
  const scope = scopeOf(keyed);
  const now = Date.now();
  return {
    properties: {
      ...keyed,
      id: uuid(),
      scope,
      facets: facetsOf({ ...keyed, scope }),
      dedupeKey: createHash('sha256').update(`${accountId} ${content}`).digest('hex'),
      content,
      metadata: '{}',
      sourceIds,
      specificity: 0.5,
      recalls: 0,
      occurredAt: now,
      createdAt: now,
      updatedAt: now,
      expiresAt: NEVER,
      expiryDefaulted: false,
      version: 1,
      embeddingModel: 'test',
      embeddingCut: false,
      ...properties,
    },
    vector: Float32Array.from(randomBytes(384), (byte) => byte - 127),
    sourceIds,
    sourceScopes: null,
    idempotency: null,
    storeLimit: null,
  };
}

const rowsOf = (accountId: string, count: number) => Array.from({ length: count }, (_, index) => rowOf(accountId, `Row ${index}`));

async function storedContents(accountId: string): Promise<string[]> {
  const rows = await database.read('MATCH (m:Memory {accountId: $accountId}) RETURN m.content AS content', { accountId }, deadlineIn(10_000));
  return rows.map((row) => row['content'] as string).sort();
}

/** The real store, with the sizes of its transactions; while the gate is shut they wait before the database. */
function watched() {
  const sizes: number[] = [];
  let open: (() => void) | undefined;
  let gate: Promise<void> | undefined;
  const storeBatch: MemoryStore['storeBatch'] = async (rows, commitId, now, deadline) => {
    sizes.push(rows.length);
    await gate;
    return store.storeBatch(rows, commitId, now, deadline);
  };
  return {
    sizes,
    storeBatch,
    shut: () => void (gate = new Promise((resolve) => (open = resolve))),
    open: () => open?.(),
  };
}

const put = (writer: MemoryWriter, row: StoreRow, deadline: Deadline) => writer.store(Promise.resolve(row), deadline);

/** A deadline that passes when the test says so. */
function deadlineByHand(): { deadline: Deadline; pass: () => void } {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return {
    deadline: { signal: controller.signal, remaining: () => (controller.signal.aborted ? 0 : 10_000) },
    pass: () => controller.abort(),
  };
}

describe('the writer', () => {
  it('commits a lone store at once, in a transaction of its own', async () => {
    const { sizes, storeBatch } = watched();
    const writer = createMemoryWriter({ storeBatch });
    const accountId = uuid();
    for (const row of rowsOf(accountId, 3))
      expect(await put(writer, row, deadlineIn(10_000))).toEqual({ id: row.properties.id, stored: true, replayed: false });
    expect(sizes).toEqual([1, 1, 1]);
  });

  it('waits a second for a transaction that does not answer, and goes on beside it', async () => {
    const { sizes, storeBatch, shut, open } = watched();
    const writer = createMemoryWriter({ storeBatch }, Date.now, { rows: 64, underWay: 1, patience: 50 });
    const [first, second] = rowsOf(uuid(), 2);
    shut();
    const silent = put(writer, first!, deadlineIn(10_000));
    await expect.poll(() => sizes).toEqual([1]);
    const next = put(writer, second!, deadlineIn(10_000));
    await expect.poll(() => sizes, { timeout: 3_000 }).toEqual([1, 1]);
    open();
    for (const outcome of await Promise.all([silent, next])) expect(outcome).toMatchObject({ stored: true });
  });

  it('gathers what comes and what waits, 64 rows at most, in the order of coming; a transaction starts when half of that waits', async () => {
    const { sizes, storeBatch } = watched();
    const writer = createMemoryWriter({ storeBatch });
    const accountId = uuid();
    const rows = rowsOf(accountId, 200);
    const outcomes = await Promise.all(rows.map((row) => put(writer, row, deadlineIn(10_000))));
    expect(sizes).toEqual([32, 32, 64, 64, 8]);
    expect(outcomes, 'each caller gets the outcome of its own row').toEqual(
      rows.map((row) => ({ id: row.properties.id, stored: true, replayed: false })),
    );
    expect(await storedContents(accountId)).toEqual(rows.map(({ properties }) => properties['content']).sort());
  });

  it('waits for rows that are coming, but not for long, and not for one that does not come', async () => {
    const { sizes, storeBatch } = watched();
    const writer = createMemoryWriter({ storeBatch });
    const accountId = uuid();
    const [first, second, third] = rowsOf(accountId, 3) as [StoreRow, StoreRow, StoreRow];
    let arrive: (row: StoreRow) => void = () => undefined;
    let fail: (error: Error) => void = () => undefined;
    const coming = writer.store(new Promise((resolve) => (arrive = resolve)), deadlineIn(10_000));
    const failing = writer.store(new Promise((_, reject) => (fail = reject)), deadlineIn(10_000));
    const stored = put(writer, first, deadlineIn(10_000));
    expect(sizes).toEqual([]);
    await stored;
    expect(sizes, 'it went without the others').toEqual([1]);
    const next = put(writer, second, deadlineIn(10_000));
    arrive(third);
    fail(new Error('not embedded'));
    await expect(failing).rejects.toThrow('not embedded');
    await Promise.all([next, coming]);
    expect(sizes).toEqual([1, 2]);
  });

  it('does not let a few wait for long for a transaction that does not end', async () => {
    const watch = watched();
    const writer = createMemoryWriter(watch);
    const accountId = uuid();
    watch.shut();
    const [first, ...others] = rowsOf(accountId, 3);
    const storing = [put(writer, first!, deadlineIn(10_000))];
    await expect.poll(() => watch.sizes, { interval: 5 }).toEqual([1]);
    storing.push(...others.map((row) => put(writer, row, deadlineIn(10_000))));
    await expect.poll(() => watch.sizes, { timeout: 2_000, interval: 5 }).toEqual([1, 2]);
    watch.open();
    await Promise.all(storing);
  });

  it('stores the same content once within a transaction', async () => {
    const watch = watched();
    const writer = createMemoryWriter(watch);
    const accountId = uuid();
    const rows = Array.from({ length: 12 }, () => rowOf(accountId, 'The same'));
    watch.shut();
    const storing = rows.map((row) => put(writer, row, deadlineIn(10_000)));
    watch.open();
    const outcomes = await Promise.all(storing);
    expect(new Set(outcomes.map((outcome) => 'id' in outcome && outcome.id)).size).toBe(1);
    expect(outcomes.filter((outcome) => 'stored' in outcome && outcome.stored)).toHaveLength(1);
    expect(await storedContents(accountId)).toEqual(['The same']);
  });
});

describe('a row that the database refuses', () => {
  /** Neo4j can't keep a map in a property. */
  const BAD = { metadata: { nested: { map: true } } };

  it('fails alone: every other row of its transaction is stored', async () => {
    const watch = watched();
    const writer = createMemoryWriter(watch, Date.now, { rows: 64, underWay: 2, patience: 10_000 });
    const accountId = uuid();
    const rows = rowsOf(accountId, 40);
    rows[20] = rowOf(accountId, 'Bad', { properties: BAD });
    const results = await Promise.allSettled(rows.map((row) => put(writer, row, deadlineIn(10_000))));
    expect(results.map(({ status }) => status)).toEqual(rows.map(({ properties }) => (properties['content'] === 'Bad' ? 'rejected' : 'fulfilled')));
    expect(watch.sizes[0], 'they were in one transaction').toBe(32);
    expect(watch.sizes.length, 'halving, not one by one').toBeLessThanOrEqual(3 + 2 * Math.ceil(Math.log2(32)));
    expect(await storedContents(accountId)).toEqual(
      rows
        .map(({ properties }) => properties['content'])
        .filter((content) => content !== 'Bad')
        .sort(),
    );
  });

  it('fails alone when there are several, and when it stands alone', async () => {
    const writer = createMemoryWriter(store);
    const accountId = uuid();
    const rows = rowsOf(accountId, 30).map((row, index) => (index % 10 === 5 ? { ...row, properties: { ...row.properties, ...BAD } } : row));
    const results = await Promise.allSettled(rows.map((row) => put(writer, row, deadlineIn(10_000))));
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(3);
    expect(await storedContents(accountId)).toHaveLength(27);
    await expect(put(writer, rowOf(accountId, 'Alone', { properties: BAD }), deadlineIn(10_000))).rejects.toThrow();
    await expect(put(writer, rowOf(accountId, 'The writer goes on'), deadlineIn(10_000))).resolves.toMatchObject({ stored: true });
  });

  it('by its missing sources is told so, and its neighbours are stored', async () => {
    const watch = watched();
    const writer = createMemoryWriter(watch);
    const accountId = uuid();
    const source = rowOf(accountId, 'Source');
    await put(writer, source, deadlineIn(10_000));
    const missing = [uuid(), 'no id at all', uuid()];
    watch.shut();
    const storing = [
      put(writer, rowOf(accountId, 'First'), deadlineIn(10_000)),
      put(writer, rowOf(accountId, 'Second'), deadlineIn(10_000)),
      put(writer, rowOf(accountId, 'Derived', { sourceIds: [source.properties.id] }), deadlineIn(10_000)),
      put(writer, rowOf(accountId, 'Orphan', { sourceIds: [missing[0]!, source.properties.id, missing[1]!, missing[2]!] }), deadlineIn(10_000)),
    ];
    watch.open();
    const outcomes = await Promise.all(storing);
    expect(outcomes[3]).toEqual({ missingSources: missing });
    expect(await storedContents(accountId)).toEqual(['Derived', 'First', 'Second', 'Source']);
  });
});

describe('a transaction that is repeated', () => {
  it('under the same commit id answers as before and applies nothing', async () => {
    const accountId = uuid();
    const rows = [...rowsOf(accountId, 3), rowOf(accountId, 'Row 1'), rowOf(accountId, 'Orphan', { sourceIds: [uuid()] })];
    const commitId = uuid();
    const first = await store.storeBatch(rows, commitId, Date.now(), deadlineIn(10_000));
    await database.transaction((run) => beginChain(run, accountId), deadlineIn(10_000));
    const { id } = rows[0]!.properties;
    const record = recordOf(uuid(), accountId, { actor: 'test', at: Date.now() }, { action: 'memory.deleted', target: id, details: {} });
    await store.erase({ id, visibility: { accountId, scopes: null }, versions: null, record, now: Date.now() }, deadlineIn(10_000));
    const again = await store.storeBatch(rows, commitId, Date.now(), deadlineIn(10_000));
    expect(again).toEqual(first);
    expect(await storedContents(accountId), 'what was erased meanwhile stays erased').toEqual(['Row 1', 'Row 2']);
  });
});

describe('the queue', () => {
  /** So many rows keep both transactions busy. */
  const BUSY = 64;
  const busyContents = () => Array.from({ length: BUSY }, (_, index) => `Row ${index}`);

  it('takes 4,096 rows and refuses the next with 503, and takes more when there is room again', async () => {
    const watch = watched();
    const writer = createMemoryWriter(watch);
    const accountId = uuid();
    const { deadline, pass } = deadlineByHand();
    watch.shut();
    const underWay = rowsOf(accountId, BUSY).map((row) => put(writer, row, deadlineIn(10_000)));
    const row = rowOf(accountId, 'Waiting');
    const waiting = Array.from({ length: 4_096 }, () => put(writer, row, deadline).catch((error: unknown) => error));
    await expect(put(writer, rowOf(accountId, 'One too many'), deadlineIn(10_000))).rejects.toMatchObject({
      code: 'unavailable',
      retryAfterSeconds: 1,
    });

    pass();
    for (const error of await Promise.all(waiting)) expect(error).toMatchObject({ code: 'unavailable' });
    watch.open();
    await Promise.all(underWay);
    await expect(put(writer, rowOf(accountId, 'Later'), deadlineIn(10_000))).resolves.toMatchObject({ stored: true });
    expect(await storedContents(accountId), 'what was refused is not stored').toEqual(['Later', ...busyContents()].sort());
  });

  it('answers 503 to a row whose deadline passes while it waits, at that moment, and never stores it', async () => {
    const watch = watched();
    const writer = createMemoryWriter(watch);
    const accountId = uuid();
    watch.shut();
    const underWay = rowsOf(accountId, BUSY).map((row) => put(writer, row, deadlineIn(10_000)));
    const patient = put(writer, rowOf(accountId, 'Patient'), deadlineIn(10_000));
    const started = performance.now();
    await expect(put(writer, rowOf(accountId, 'Hasty'), deadlineIn(100))).rejects.toMatchObject({ code: 'unavailable' });
    expect(performance.now() - started).toBeLessThan(2_000);
    watch.open();
    await Promise.all([...underWay, patient]);
    await writer.drain();
    expect(watch.sizes).toEqual([32, 32, 1]);
    expect(await storedContents(accountId)).toEqual(['Patient', ...busyContents()].sort());
  });

  it('is empty when draining ends', async () => {
    const watch = watched();
    const writer = createMemoryWriter(watch);
    const accountId = uuid();
    const storing = Promise.all(rowsOf(accountId, 150).map((row) => put(writer, row, deadlineIn(10_000))));
    await writer.drain();
    expect(await storedContents(accountId)).toHaveLength(150);
    await storing;
    await writer.drain();
  });
});
