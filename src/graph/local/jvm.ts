import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, readSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { LocalServerError, writeDurably, type Home } from './home.ts';
import { endProcess, findProcesses, hasEnded, processRun, type ProcessRun } from './process.ts';
import type { Runtime } from './runtime.ts';

const setUpArgument = ({ folder }: Home): string => `-Dmemory.set-up=${folder}`;
const homeArgument = ({ folder }: Home): string => `--home-dir=${folder}`;

/** Neo4j servers of this home folder, whoever started them. */
export function findServers(home: Home): ProcessRun[] {
  return findProcesses('java', homeArgument(home));
}

/** Starts Neo4j in a session of its own, so that it outlives Ctrl-C and this process, with its output in the console log. */
export async function spawnServer(home: Home, runtime: Runtime, heap: string): Promise<ProcessRun> {
  discardBrokenArchive(home);
  if (existsSync(home.consoleLog)) renameSync(home.consoleLog, `${home.consoleLog}.previous`);
  const log = openSync(home.consoleLog, 'w', 0o600);
  try {
    return await spawnJava(home, runtime, [...serverFlags(home, runtime, heap), 'org.neo4j.server.Neo4jCommunity', ...serverArguments(home)], log);
  } finally {
    closeSync(log);
  }
}

/**
 * Gives the database, which must not have been started yet, its password.
 * @throws LocalServerError with the command's output when it fails
 */
export async function setInitialPassword(home: Home, runtime: Runtime, signal: AbortSignal): Promise<void> {
  // The java launcher reads the rest of its arguments from this file, which keeps the password out of the list of processes.
  const argumentsFile = join(home.folder, 'set-up.arguments');
  const logFile = join(home.folder, 'logs', 'set-up.log');
  writeDurably(argumentsFile, `org.neo4j.server.startup.Neo4jAdminCommand dbms set-initial-password ${home.password}\n`);
  const log = openSync(logFile, 'w', 0o600);
  try {
    const flags = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xmx256m', setUpArgument(home), `@${argumentsFile}`];
    const run = await spawnJava(home, runtime, flags, log);
    const abort = () => void endProcess(run, 0);
    signal.addEventListener('abort', abort, { once: true });
    const ended = await hasEnded(run, 60_000);
    signal.removeEventListener('abort', abort);
    if (!ended) await endProcess(run, 0);
  } finally {
    closeSync(log);
    rmSync(argumentsFile);
  }
  signal.throwIfAborted();
  if (!existsSync(join(home.data, 'dbms', 'auth.ini'))) {
    throw new LocalServerError(`Neo4j's initial password could not be set:\n${lastLines(logFile)}\nThe whole log: ${logFile}`);
  }
}

/** Waits for the end of a set-up whose owner was killed. */
export async function endAbandonedSetUp(home: Home): Promise<void> {
  for (const run of findProcesses('java', setUpArgument(home))) if (!(await hasEnded(run, 30_000))) await endProcess(run, 0);
}

export function lastLines(file: string): string {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
  return lines.slice(-15).join('\n');
}

function serverArguments(home: Home): string[] {
  return [homeArgument(home), `--config-dir=${home.folder}`, '--console-mode'];
}

function serverFlags({ archive }: Home, { javaVersion }: Runtime, heap: string): string[] {
  const opened = ['java.nio', 'java.io', 'sun.nio.ch', 'java.util.concurrent'];
  return [
    ...opened.map((name) => `--add-opens=java.base/${name}=ALL-UNNAMED`),
    '--enable-native-access=ALL-UNNAMED',
    ...(parseInt(javaVersion, 10) >= 23 ? ['--sun-misc-unsafe-memory-access=allow'] : []),
    '--add-modules=jdk.incubator.vector',
    '-XX:+UseG1GC',
    '-XX:-OmitStackTraceInFastThrow',
    '-XX:+ExitOnOutOfMemoryError',
    '-Xms64m',
    `-Xmx${heap}`,
    // Classes as they were laid out by the last orderly stop: halves the time of a start.
    '-XX:+AutoCreateSharedArchive',
    `-XX:SharedArchiveFile=${archive}`,
    // The archive's warnings about flags would hide the log's last lines.
    '-Xlog:disable',
  ];
}

/** Java writes the beginning of the archive last, and never replaces one without it, which a kill during the stop leaves behind. */
function discardBrokenArchive({ archive }: Home): void {
  if (!existsSync(archive)) return;
  const magic = Buffer.alloc(4);
  const file = openSync(archive, 'r');
  readSync(file, magic);
  closeSync(file);
  if (magic.readUInt32LE() !== 0xf00baba8) rmSync(archive);
}

/** The environment is a short one, because the service's own may hold keys of other services. */
function javaEnvironment({ folder }: Home, { classPath }: Runtime): NodeJS.ProcessEnv {
  const kept = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'LD_LIBRARY_PATH'];
  const inherited = Object.entries(process.env).filter(([name]) => kept.includes(name));
  return { ...Object.fromEntries(inherited), CLASSPATH: classPath, NEO4J_HOME: folder, NEO4J_CONF: folder };
}

async function spawnJava(home: Home, runtime: Runtime, args: string[], log: number): Promise<ProcessRun> {
  const child = spawn(runtime.javaExecutable, args, {
    cwd: home.folder,
    env: javaEnvironment(home, runtime),
    stdio: ['ignore', log, log],
    detached: true,
  });
  await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject));
  child.unref();
  const pid = child.pid as number;
  return processRun(pid) ?? { pid, started: 'already ended' };
}
