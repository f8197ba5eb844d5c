import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../src/config.ts';
import { deadlineIn } from '../src/deadline.ts';
import { isFree } from '../src/graph/local/home.ts';
import { isAlive, processRun } from '../src/graph/local/process.ts';
import { findLocalServer } from '../src/graph/local/server.ts';
import { type OpenDatabase, openDatabase } from '../src/graph/open.ts';
import { runtimeDir } from './testkit/runtime-dir.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'memory-own-'));
const lines: string[] = [];
let opened: OpenDatabase;
beforeAll(async () => {
  const config = loadConfig({ DATA_DIR: dataDir, RUNTIME_DIR: runtimeDir });
  opened = await openDatabase(config, { purpose: 'a test', report: (line) => lines.push(line), signal: new AbortController().signal });
});
afterAll(async () => {
  await opened.close();
  rmSync(dataDir, { recursive: true, force: true });
});

describe("the service's own Neo4j", () => {
  it('counts as running until it holds its port no more, and has it again', { timeout: 180_000 }, async () => {
    const { pid, uri } = (await findLocalServer(dataDir))!;
    const run = processRun(pid)!;
    process.kill(pid, 'SIGKILL');
    while (isAlive(run)) await delay(1);
    expect(await isFree(Number(new URL(uri).port))).toBe(true);
    await expect.poll(() => findLocalServer(dataDir), { timeout: 120_000, interval: 200 }).toMatchObject({ uri });
  });

  it('is used where it comes back when another program has taken its port', { timeout: 180_000 }, async () => {
    await opened.database.write("CREATE (:Note {text: 'kept'})", {}, deadlineIn(30_000));
    const { pid, uri } = (await findLocalServer(dataDir))!;
    process.kill(pid, 'SIGKILL');
    const intruder = await takePort(Number(new URL(uri).port));
    try {
      const read = () => opened.database.read('MATCH (note:Note) RETURN note.text AS text', {}, deadlineIn(2_000)).catch(() => null);
      await expect.poll(read, { timeout: 120_000, interval: 200 }).toEqual([{ text: 'kept' }]);
      expect(lines).toContainEqual(expect.stringMatching(new RegExp(`now listens at bolt://.* because ${uri} was taken`)));
    } finally {
      intruder.close();
    }
  });
});

/** Listens there as soon as nobody else does. */
async function takePort(port: number): Promise<Server> {
  for (;;) {
    const server = createServer((socket) => socket.destroy());
    const listens = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (listens) return server;
    await delay(10);
  }
}
