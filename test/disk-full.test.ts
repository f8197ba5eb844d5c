import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { deadlineIn } from '../src/deadline.ts';
import { connectDatabase } from '../src/graph/database.ts';
import { findLocalServer } from '../src/graph/local/server.ts';
import { startReady } from './testkit/npm-start.ts';
import { mountSmallDisk, type SmallDisk } from './testkit/small-disk.ts';

const parent = mkdtempSync(join(tmpdir(), 'memory-disk-'));
const dataDir = join(parent, 'data');
const disk = mountSmallDisk(dataDir, '500m');
if (!disk) console.log('disk-full.test.ts is skipped: no disk can be mounted here, which takes root');

// One story on one disk.
describe.skipIf(!disk)('a disk that is full', () => {
  const { fill, empty, unmount } = disk as SmallDisk;
  let service: Awaited<ReturnType<typeof startReady>>;
  const acknowledged: string[] = [];

  const store = async (content: string) => {
    const reply = await service.client.post('/memory', { content });
    if (reply.status === 200) acknowledged.push(reply.body.id);
    return reply;
  };
  const stored = async () => {
    const ids: string[] = [];
    for (let offset = 0, page; offset === 0 || page.length === 100; offset += 100) {
      const reply = await service.client.get('/memory/list', { limit: 100, offset });
      if (reply.status !== 200) throw new Error(reply.story);
      page = reply.body.memories;
      ids.push(...page.map(({ id }: { id: string }) => id));
    }
    return ids;
  };
  const recovers = (seconds: number) =>
    expect.poll(async () => (await store('The first after it was full')).status, { timeout: seconds * 1000, interval: 200 }).toBe(200);

  beforeAll(async () => {
    service = await startReady(dataDir, { MIN_FREE_DISK: '60m' });
    await store('The first memory');
  });
  afterEach(() => empty());
  afterAll(async () => {
    await service.kill('SIGTERM');
    unmount();
    rmSync(parent, { recursive: true, force: true });
  });

  it('is said to whoever stores; reads go on, and storing too when there is space', async () => {
    fill(40);
    await expect.poll(async () => (await store(`Stored at ${Math.random()}`)).status, { timeout: 5_000, interval: 100 }).toBe(503);
    const refused = await store('Stored on a full disk');
    expect(refused.body, refused.story).toMatchObject({ code: 'unavailable', error: expect.stringContaining('disk of the database is full') });
    expect(refused.headers.get('retry-after')).toBe('5');
    const patched = await service.client.patch(`/memory/${acknowledged[0]}`, { content: 'changed' });
    expect(patched.status, patched.story).toBe(503);

    expect(await service.client.found('first memory')).toContain('The first memory');
    expect((await service.client.get(`/memory/${acknowledged[0]}`)).status).toBe(200);
    expect((await service.client.get('/health')).body).toMatchObject({ status: 'degraded', checks: { database: 'ok', disk: 'down' } });
    expect(service.output()).toContain('Reading goes on.');

    empty();
    await recovers(5);
    expect((await service.client.get('/health')).body).toMatchObject({ status: 'ok', checks: { database: 'ok' } });
  });

  it('breaks no more than the moment when it fills up too fast to be seen', async () => {
    const before = (await findLocalServer(dataDir))!;
    const database = connectDatabase({ ...before, database: 'neo4j' });
    fill(5);
    // Past the refusal, which comes within a second, as a burst of large writes would go.
    let failed: unknown;
    for (let count = 0; !failed && count < 2_000; count++)
      await database
        .write('CREATE (:Filler {text: $text})', { text: 'x'.repeat(200_000) }, deadlineIn(10_000))
        .catch((error: unknown) => (failed = error));
    expect(failed).toMatchObject({ code: 'unavailable' });
    const refused = await store('Stored on a broken database');
    expect(refused.status, refused.story).toBe(503);
    await database.close();

    empty();
    await recovers(45);
    expect((await findLocalServer(dataDir))!.pid).not.toBe(before.pid);
    expect(service.output()).toContain("Neo4j can't go on with its database; starting it again");
    const ids = await stored();
    expect(acknowledged.filter((id) => !ids.includes(id))).toEqual([]);
  });

  it('is told from a Neo4j that died, which is started again', async () => {
    const { pid } = (await findLocalServer(dataDir))!;
    process.kill(pid, 'SIGKILL');
    await recovers(45);
    expect(service.output()).toContain('Neo4j has ended unexpectedly; starting it again');
    const ids = await stored();
    expect(acknowledged.filter((id) => !ids.includes(id))).toEqual([]);
  });
});
