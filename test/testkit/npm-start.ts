import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from './client.ts';
import { runtimeDir } from './runtime-dir.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The service as a process of its own. */
export interface Started {
  readonly pid: number;
  readonly client: Client;
  output(): string;
  stop(): Promise<number | null>;
}

/** Resolves when it is ready. */
export async function startProcess(dataDir: string, environment: Record<string, string> = {}): Promise<Started> {
  const port = await freePort();
  const env = { ...process.env, PORT: String(port), DATA_DIR: dataDir, RUNTIME_DIR: runtimeDir, LOG_LEVEL: 'silent', ...environment };
  const child = spawn('node', ['src/start.mjs'], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const exit = new Promise<number | null>((resolve) => child.once('close', resolve));
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        if (output.includes('Store a memory:')) resolve();
      });
    void exit.then(() => reject(new Error(`The service ended before it was ready:\n${output}`)));
  });
  const key = readFileSync(join(dataDir, 'api-key'), 'utf8').trim();
  return {
    pid: child.pid!,
    client: new Client(`http://127.0.0.1:${port}`, key, { id: '', name: 'default' }, ''),
    output: () => output,
    stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      return exit;
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
