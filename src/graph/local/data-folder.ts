import { mkdirSync, readFileSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive, processRun } from './process.ts';

export class DataFolderInUseError extends Error {
  override name = 'DataFolderInUseError';
}

type Claim = { path: string; pid: number; purpose: string; since: number };

/**
 * Makes the data folder (mode 0700) when it is not there, and takes it for this process alone until `release` or the end of the process.
 * `purpose` is what others are told, for example 'npm start'.
 * @throws DataFolderInUseError when another live process on this machine holds it
 */
// Why at most one process holds the folder: everyone first writes its own claim and only then lists all of them. Of two live claimants the one that
// wrote later therefore sees the other's claim and withdraws. A claim is removed by others only when its process has ended, and since it is named by
// pid and start time, no other process can ever mean the same file. The claims of killed processes count for nothing, so nobody has to wait for them.
export async function lockDataFolder(dataDir: string, purpose: string): Promise<{ release(): void }> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const claims = join(realpathSync(dataDir), 'claims');
  mkdirSync(claims, { recursive: true, mode: 0o700 });
  const self = processRun(process.pid);
  if (!self) throw new Error('the start time of this process could not be read');
  const own = join(claims, `${self.pid}.${self.started}`);
  const release = () => rmSync(own, { force: true });

  for (let attempt = 1; ; attempt++) {
    claim(own, purpose, dataDir);
    const [holder] = liveClaims(claims, own);
    if (!holder) return { release };
    release();
    if (attempt === 5) throw inUse(dataDir, holder);
    await delay(Math.random() * 50 * attempt);
  }
}

function claim(path: string, purpose: string, dataDir: string): void {
  try {
    writeFileSync(path, purpose, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new DataFolderInUseError(`the data folder ${dataDir} is already in use by this process`);
  }
}

/** The claims of other live processes, the oldest first. */
function liveClaims(claims: string, own: string): Claim[] {
  return readdirSync(claims)
    .map((name) => join(claims, name))
    .filter((path) => path !== own)
    .flatMap((path) => readClaim(path) ?? [])
    .sort((a, b) => a.since - b.since);
}

function readClaim(path: string): Claim | null {
  const [, pid, started] = /\/(\d+)\.([^/]+)$/.exec(path) ?? [];
  if (!pid || !started || !isAlive({ pid: Number(pid), started })) {
    rmSync(path, { force: true });
    return null;
  }
  try {
    return { path, pid: Number(pid), purpose: readFileSync(path, 'utf8'), since: statSync(path).mtimeMs };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function inUse(dataDir: string, { pid, purpose }: Claim): DataFolderInUseError {
  return new DataFolderInUseError(
    `the data folder ${dataDir} is in use by process ${pid} (${purpose}); stop that process, or give this one another folder with DATA_DIR`,
  );
}
