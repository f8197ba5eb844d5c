import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const VERSION = '4.32.5';
const HERE = fileURLToPath(new URL('.', import.meta.url));
const FOLDER = fileURLToPath(new URL('../../.data/fuzz-venv', import.meta.url));

/** Fetches schemathesis into a virtual environment of its own, once. Throws an Error that says what is missing. */
export function prepareSchemathesis(report: (line: string) => void): string {
  const program = join(FOLDER, 'bin', 'schemathesis');
  if (existsSync(program) && run(program, ['--version']).includes(VERSION)) return program;
  report(`Fetching schemathesis ${VERSION} into ${FOLDER} …`);
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(dirname(FOLDER), { recursive: true });
  try {
    run('python3', ['-m', 'venv', FOLDER]);
    run(join(FOLDER, 'bin', 'pip'), ['install', '--quiet', `schemathesis==${VERSION}`]);
  } catch (error) {
    rmSync(FOLDER, { recursive: true, force: true });
    throw new Error(
      `schemathesis could not be fetched: ${(error as Error).message}\n` +
        `It takes Python 3.10 or later with venv (Debian: apt-get install python3-venv) and a package index that pip reaches (PIP_INDEX_URL). ` +
        `Or make the folder yourself: python3 -m venv ${FOLDER} && ${FOLDER}/bin/pip install schemathesis==${VERSION}`,
      { cause: error },
    );
  }
  return program;
}

/** Sends what its document allows, and what it does not, to every operation of the REST API; false when an answer was not as documented. */
export function runSchemathesis(program: string, { url, key, examples }: { url: string; key: string; examples: number }): Promise<boolean> {
  // One worker, because Python 3.11 fails at parsing in several threads at once.
  const options = ['--checks', 'all', '--max-examples', String(examples), '--workers', '1', '--continue-on-failure'];
  const child = spawn(program, ['--config-file', join(HERE, 'schemathesis.toml'), 'run', `${url}/openapi.json`, ...options], {
    // Where it may leave what it remembers.
    cwd: FOLDER,
    env: { ...process.env, MEMORY_API_KEY: key, SCHEMATHESIS_HOOKS: join(HERE, 'hooks.py') },
    stdio: 'inherit',
  });
  return new Promise((resolve, reject) => child.once('error', reject).once('close', (code) => resolve(code === 0)));
}

function run(program: string, args: readonly string[]): string {
  return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
