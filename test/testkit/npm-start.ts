import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from './client.ts';
import { runtimeDir } from './runtime-dir.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** What the service prints last when it starts. */
export const READY = 'Store a memory:';

/** A process of the service or of one of its commands, and what it has printed. */
export interface Started {
  readonly process: ChildProcess;
  readonly output: () => string;
  /** Resolves when the text has been printed; throws when the process ends before. */
  printed(text: string): Promise<void>;
  readonly exit: Promise<number | null>;
  kill(signal: NodeJS.Signals): Promise<number | null>;
}

/** The environment of a process on this data folder. */
export function environmentWith(environment: Readonly<Record<string, string>> & { DATA_DIR: string }): NodeJS.ProcessEnv {
  return { ...process.env, RUNTIME_DIR: runtimeDir, LOG_LEVEL: 'silent', ...environment };
}

/** Runs what `npm start` runs, or with arguments what `npm run` runs. */
export function start(environment: NodeJS.ProcessEnv, args: readonly string[] = []): Started {
  const child = spawn('node', ['src/start.mjs', ...args], { cwd: ROOT, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const exit = new Promise<number | null>((resolve) => child.once('close', resolve));
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return {
    process: child,
    output: () => output,
    printed: (text) =>
      new Promise((resolve, reject) => {
        const look = () => output.includes(text) && resolve();
        for (const stream of [child.stdout, child.stderr]) stream.on('data', look);
        look();
        void exit.then(() => reject(new Error(`ended before it printed "${text}":\n${output}`)));
      }),
    exit,
    kill(signal) {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return exit;
    },
  };
}

/** The service as a process of its own, ready, and a client with its first key. */
export async function startReady(dataDir: string, environment: Record<string, string> = {}): Promise<Started & { readonly client: Client }> {
  const port = await freePort();
  const started = start(environmentWith({ PORT: String(port), DATA_DIR: dataDir, ...environment }));
  await started.printed(READY);
  const key = readFileSync(join(dataDir, 'api-key'), 'utf8').trim();
  return { ...started, client: new Client(`http://127.0.0.1:${port}`, key, { id: '', name: 'default' }, '') };
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
