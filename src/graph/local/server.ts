import { setTimeout as delay } from 'node:timers/promises';
import { boltUri, tryLogin, username } from './bolt.ts';
import {
  LocalServerError,
  claimPort,
  discardUnfinishedData,
  existingHome,
  isFree,
  isSetUp,
  isStopping,
  markSetUp,
  noteStopping,
  openHome,
  savedPort,
  writeConfiguration,
  type Home,
} from './home.ts';
import { endAbandonedSetUp, findServers, lastLines, setInitialPassword, spawnServer } from './jvm.ts';
import { endProcess, isAlive, type ProcessRun } from './process.ts';
import type { Runtime } from './runtime.ts';

export type LocalServer = {
  uri: string;
  username: 'neo4j';
  password: string;
  pid: number;
  /** Whether it was already running, started by a process that has been killed since. */
  adopted: boolean;
  hasExited(): boolean;
  /** Ends Neo4j; resolves when it is gone. SIGKILL after 45 seconds. */
  stop(): Promise<void>;
};

export type LocalServerOptions = {
  /** The caller holds its lock (`lockDataFolder`). */
  dataDir: string;
  runtime: Runtime;
  /** As Java writes it, for example '512m'. */
  heap: string;
  pageCache?: string;
  report: (line: string) => void;
  signal: AbortSignal;
};

type Outcome = 'ready' | 'rejected' | 'ended' | 'timeout';

const secondsToAdopt = 60;
/** Long, because a large database recovers after it was killed. */
const secondsToStart = 600;
const secondsToStop = 45;

/**
 * A Neo4j of this data folder that answers: the one that still runs there, or else a new one. Every step can be repeated, whenever it was killed.
 * @throws LocalServerError with the end of Neo4j's log and its path; the signal's reason, after what was started has ended
 */
export async function startLocalServer(options: LocalServerOptions): Promise<LocalServer> {
  const home = openHome(options.dataDir);
  await endAbandonedSetUp(home);
  for (const run of findServers(home)) {
    if (await adopt(home, run, options)) return connected(home, run, true);
  }
  if (!isSetUp(home)) {
    options.report('Setting up Neo4j …');
    discardUnfinishedData(home);
    await setInitialPassword(home, options.runtime, options.signal);
  }
  return connected(home, await start(home, options), false);
}

/**
 * The Neo4j of this data folder, when one runs: waits for it while it is still starting. Null when there is none or it is being stopped.
 * @throws LocalServerError when it runs but does not let us in
 */
export async function findLocalServer(dataDir: string): Promise<LocalServer | null> {
  const home = existingHome(dataDir);
  const run = home && findServers(home).find((server) => !isStopping(home, server));
  if (!home || !run) return null;
  const outcome = await waitUntilReady(home, run, secondsToAdopt, { report: () => {}, signal: new AbortController().signal });
  if (outcome === 'ready') return connected(home, run, true);
  if (outcome === 'ended') return null;
  throw new LocalServerError(`Neo4j runs as process ${run.pid}, but ${whyNot[outcome]}`);
}

const whyNot = {
  rejected: `it does not accept the password in its home folder`,
  timeout: 'it does not answer',
};

async function adopt(home: Home, run: ProcessRun, { report, signal }: LocalServerOptions): Promise<boolean> {
  // Without its port it can't be spoken to: its folder was deleted under it.
  if (!isStopping(home, run) && savedPort(home) !== null) {
    report('Found Neo4j running; connecting …');
    const outcome = await waitUntilReady(home, run, secondsToAdopt, { report, signal });
    if (outcome === 'ready') {
      markSetUp(home);
      return true;
    }
  }
  report('Waiting for an earlier Neo4j to stop …');
  await stop(home, run);
  signal.throwIfAborted();
  return false;
}

async function start(home: Home, options: LocalServerOptions): Promise<ProcessRun> {
  const { runtime, heap, pageCache = '512m', report, signal } = options;
  const startedAt = Date.now();
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    const port = await claimPort(home);
    writeConfiguration(home, port, pageCache);
    report('Starting Neo4j …');
    const run = await spawnServer(home, runtime, heap);
    const outcome = await waitUntilReady(home, run, secondsToStart, { report, signal });
    if (outcome === 'ready') {
      markSetUp(home);
      report(`Neo4j is ready after ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
      return run;
    }
    const portWasTaken = outcome === 'ended' && !(await isFree(port));
    await stop(home, run);
    signal.throwIfAborted();
    if (!portWasTaken || attempt === 3) throw startFailed(home, outcome);
  }
}

function startFailed(home: Home, outcome: Exclude<Outcome, 'ready'>): LocalServerError {
  const reasons = {
    rejected: `Neo4j does not accept the password in ${home.folder}/password, with which its data was set up`,
    timeout: `Neo4j did not answer within ${secondsToStart} seconds`,
    ended: 'Neo4j ended while starting',
  };
  return new LocalServerError(
    `${reasons[outcome]}. The end of its logs (${home.userLog}, ${home.consoleLog}):\n${lastLines(home.userLog)}\n${lastLines(home.consoleLog)}`,
  );
}

/** Also returns, with 'timeout', when the signal is aborted. */
async function waitUntilReady(
  home: Home,
  run: ProcessRun,
  seconds: number,
  { report, signal }: Pick<LocalServerOptions, 'report' | 'signal'>,
): Promise<Outcome> {
  const startedAt = Date.now();
  let nextReport = 10;
  while (!signal.aborted) {
    if (!isAlive(run)) return 'ended';
    const answer = await tryLogin(uriOf(home), home.password);
    if (answer === 'accepted') return 'ready';
    if (answer === 'rejected') return 'rejected';
    const waited = (Date.now() - startedAt) / 1000;
    if (waited > seconds) return 'timeout';
    if (waited > nextReport) {
      report(`Neo4j is still starting (${nextReport} s) …`);
      nextReport += 10;
    }
    await delay(100, undefined, { signal }).catch(() => {});
  }
  return 'timeout';
}

function connected(home: Home, run: ProcessRun, adopted: boolean): LocalServer {
  let stopping: Promise<void> | null = null;
  return {
    uri: uriOf(home),
    username,
    password: home.password,
    pid: run.pid,
    adopted,
    hasExited: () => !isAlive(run),
    stop: () =>
      (stopping ??= stop(home, run).catch((error: unknown) => {
        stopping = null;
        throw error;
      })),
  };
}

async function stop(home: Home, run: ProcessRun): Promise<void> {
  if (!isAlive(run)) return;
  noteStopping(home, run);
  await endProcess(run, secondsToStop * 1000);
}

function uriOf(home: Home): string {
  const port = savedPort(home);
  if (port === null) throw new LocalServerError(`${home.folder}/port is missing while Neo4j runs`);
  return boltUri(port);
}
