// What `npm start` runs. It needs nothing but Node, because the dependencies may not be installed yet.
import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { clearInterval, setInterval } from 'node:timers';
import { URL, fileURLToPath } from 'node:url';

const root = new URL('../', import.meta.url);
const installedList = new URL('node_modules/.package-lock.json', root);
const modules = new Map([
  [undefined, './main.ts'],
  ['keys', './commands/keys.ts'],
  ['accounts', './commands/accounts.ts'],
  ['audit', './commands/audit.ts'],
  ['backup', './commands/backup.ts'],
  ['restore', './commands/restore.ts'],
  ['reembed', './commands/reembed.ts'],
]);
const usage = `Usage: node src/start.mjs [keys … | accounts … | audit … | backup FILE | restore FILE | reembed | install]
  without an argument   start the service
  keys, accounts        manage API keys and accounts
  audit                 list and verify the audit log
  backup, restore       the whole database to a file, and back
  reembed               embed all memories anew for another model
  install               only install the dependencies, with those for development`;

class Failure extends Error {}

try {
  await run(process.argv[2]);
} catch (error) {
  console.error(`memory-service: ${describe(error)}`);
  process.exit(1);
}

async function run(command) {
  checkMachine();
  if (command !== 'install' && !modules.has(command)) throw new Failure(`unknown command "${command}"\n${usage}`);
  if (!isInstalled({ development: command === 'install' })) await install({ development: command === 'install' });
  if (command === 'install') return;
  const { register } = await import('tsx/esm/api');
  register();
  await import(modules.get(command));
}

function checkMachine() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) throw new Failure(`Node.js 20.19 or later is needed; this is ${process.versions.node}`);
  if (process.platform === 'win32') throw new Failure('Windows is not supported: use Linux, macOS, WSL 2 or Docker Compose');
}

/** Whether node_modules holds what package-lock.json says. Contents and not times, which a fresh checkout or an image layer sets anew. */
function isInstalled({ development }) {
  const wanted = readPackages(new URL('package-lock.json', root));
  const installed = readPackages(installedList);
  if (!installed) return false;
  return Object.entries(wanted).every(([path, { version, integrity, dev, optional, devOptional }]) => {
    const found = installed[path];
    if (path === '') return true;
    if (!found) return optional || devOptional || (dev && !development);
    return found.version === version && found.integrity === integrity;
  });
}

function readPackages(lock) {
  try {
    return JSON.parse(readFileSync(lock, 'utf8')).packages;
  } catch (error) {
    if (lock === installedList) return null;
    throw new Failure(`${fileURLToPath(lock)} cannot be read: ${error.message}`);
  }
}

async function install({ development }) {
  console.error('Installing the dependencies (npm ci) …');
  // npm writes this list last. Without it, an installation that is broken off is seen as such.
  rmSync(installedList, { force: true });
  const startedAt = Date.now();
  const progress = setInterval(() => console.error(`Installing the dependencies: ${Math.round((Date.now() - startedAt) / 1000)} s …`), 10_000);
  const npm = spawn('npm', ['ci', '--no-audit', '--no-fund', ...(development ? ['--include=dev'] : [])], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own, so that a signal to this process ends npm together with what npm has started.
    detached: true,
  });
  let output = '';
  for (const stream of [npm.stdout, npm.stderr]) stream.on('data', (chunk) => (output = (output + chunk).slice(-4000)));
  let signalled = null;
  const end = (signal) => {
    signalled = signal;
    // Not SIGTERM, on which npm spends ten seconds and more on taking back what the next installation removes anyway.
    if (npm.pid && npm.exitCode === null && npm.signalCode === null) process.kill(-npm.pid, 'SIGKILL');
  };
  process.on('SIGINT', end).on('SIGTERM', end).on('SIGHUP', end);

  const code = await new Promise((resolve) => npm.once('error', (error) => resolve(error.message)).once('close', resolve));

  clearInterval(progress);
  process.off('SIGINT', end).off('SIGTERM', end).off('SIGHUP', end);
  if (signalled) process.kill(process.pid, signalled);
  else if (code !== 0) throw new Failure(`npm ci failed (${code}):\n${output.trim().split('\n').slice(-10).join('\n')}`);
}

/** One line, and for a mistake in the program the place where it happened. */
function describe(error) {
  if (!(error instanceof Error)) return String(error);
  const isMistake = [TypeError, ReferenceError, RangeError, SyntaxError].some((kind) => error instanceof kind);
  const place = isMistake ? error.stack?.split('\n').find((line) => line.trimStart().startsWith('at ')) : undefined;
  return place ? `${error.message} (${place.trim()})` : error.message;
}
