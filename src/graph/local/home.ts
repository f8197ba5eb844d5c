import { randomBytes, randomInt } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, realpathSync, renameSync, rmSync, writeSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { LOG_CONFIGURATIONS } from './logging.ts';
import { isAlive, type ProcessRun } from './process.ts';

/** The Neo4j home folder of one data folder: DATA_DIR/neo4j. */
export type Home = {
  folder: string;
  data: string;
  archive: string;
  consoleLog: string;
  userLog: string;
  password: string;
};

export class LocalServerError extends Error {
  override name = 'LocalServerError';
}

/**
 * Opens the home folder, and makes it on the first start with a password of its own.
 * @throws LocalServerError when there is data but its password is gone
 */
export function openHome(dataDir: string): Home {
  mkdirSync(join(dataDir, 'neo4j', 'logs'), { recursive: true, mode: 0o700 });
  const folder = realpathSync(join(dataDir, 'neo4j'));
  const home = paths(folder);
  const passwordFile = join(folder, 'password');
  if (!existsSync(passwordFile)) {
    if (isSetUp(home)) throw new LocalServerError(`${passwordFile} is missing, without which the data in ${home.data} cannot be opened`);
    // Hexadecimal, because a leading dash would be taken for an option by Neo4j's admin command.
    writeDurably(passwordFile, randomBytes(24).toString('hex'));
  }
  return { ...home, password: readFileSync(passwordFile, 'utf8').trim() };
}

/** The home folder when it has been made before, else null. */
export function existingHome(dataDir: string): Home | null {
  return existsSync(join(dataDir, 'neo4j', 'password')) ? openHome(dataDir) : null;
}

/** The marker lies inside the data that it speaks of, so that neither can be restored or removed without the other. */
export function isSetUp({ data }: Pick<Home, 'data'>): boolean {
  return existsSync(join(data, 'set-up-complete'));
}

export function markSetUp({ data }: Home): void {
  writeDurably(join(data, 'set-up-complete'), new Date().toISOString());
}

/** Removes what an interrupted set-up left behind. Nothing of value can be in it: the service gets the database only after `markSetUp`. */
export function discardUnfinishedData(home: Home): void {
  if (isSetUp(home)) throw new Error(`${home.data} is set up and must not be removed`);
  rmSync(home.data, { recursive: true, force: true });
}

/** The saved port, or null before the first start. */
export function savedPort({ folder }: Home): number | null {
  const file = join(folder, 'port');
  return existsSync(file) ? Number(readFileSync(file, 'utf8')) : null;
}

/** The saved port when it is free, else a new one, which is then saved. */
export async function claimPort(home: Home): Promise<number> {
  const saved = savedPort(home);
  if (saved !== null && (await isFree(saved))) return saved;
  for (let attempt = 0; attempt < 100; attempt++) {
    // Below the ports that systems give to outgoing connections, so that none of those can take it while Neo4j is down.
    const port = randomInt(17_000, 32_000);
    if (!(await isFree(port))) continue;
    writeDurably(join(home.folder, 'port'), String(port));
    return port;
  }
  throw new LocalServerError('no free port was found between 17000 and 32000');
}

export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

/** Noted before the signal is sent, so that a successor does not adopt a server that is on its way out. */
export function noteStopping({ folder }: Home, { pid, started }: ProcessRun): void {
  // Deleted while Neo4j ran: then there is no successor to tell.
  if (!existsSync(folder)) return;
  writeDurably(join(folder, 'stopping'), JSON.stringify({ pid, started }));
}

export function isStopping({ folder }: Home, run: ProcessRun): boolean {
  const file = join(folder, 'stopping');
  if (!existsSync(file)) return false;
  const noted = JSON.parse(readFileSync(file, 'utf8')) as ProcessRun;
  return noted.pid === run.pid && noted.started === run.started && isAlive(run);
}

export function writeConfiguration({ folder }: Home, port: number, pageCache: string): void {
  const settings = {
    'server.default_listen_address': '127.0.0.1',
    'server.bolt.enabled': 'true',
    'server.bolt.listen_address': `127.0.0.1:${port}`,
    'server.bolt.advertised_address': `127.0.0.1:${port}`,
    'server.http.enabled': 'false',
    'server.https.enabled': 'false',
    // Nothing about this server leaves the machine.
    'dbms.usage_report.enabled': 'false',
    'server.fleet_discovery.enabled': 'false',
    // Counts for a database that is made from now on.
    'db.query.default_language': 'CYPHER_25',
    'server.memory.pagecache.size': pageCache,
    // The space of a whole file is taken when it is begun, for each of the two databases.
    'db.tx_log.rotation.size': '16m',
    'db.tx_log.rotation.retention_policy': '2 files',
    // The service has finished its own requests before it stops Neo4j.
    'db.shutdown_transaction_end_timeout': '3s',
    // Twice the default of 5 s would be waited for after the databases are already closed.
    'internal.server.bolt.thread_pool_shutdown_wait_time': '0s',
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  writeDurably(join(folder, 'neo4j.conf'), lines.join(''));
  for (const [name, text] of Object.entries(LOG_CONFIGURATIONS)) writeDurably(join(folder, name), text);
}

/** The whole file or none of it, also after a power failure. Readable by its owner only. */
export function writeDurably(path: string, text: string): void {
  const temporary = `${path}.new`;
  const file = openSync(temporary, 'w', 0o600);
  writeSync(file, text);
  fsyncSync(file);
  closeSync(file);
  renameSync(temporary, path);
  const folder = openSync(dirname(path), 'r');
  fsyncSync(folder);
  closeSync(folder);
}

function paths(folder: string): Omit<Home, 'password'> {
  const logs = join(folder, 'logs');
  return {
    folder,
    data: join(folder, 'data'),
    archive: join(folder, 'classes.jsa'),
    consoleLog: join(logs, 'console.log'),
    userLog: join(logs, 'neo4j.log'),
  };
}
