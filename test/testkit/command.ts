import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { runtimeDir } from './runtime-dir.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What `npm run …` does, or `npm start` without arguments, on the Neo4j of the test run; resolves when it ends. */
export function runOnTestDatabase(args: readonly string[], environment: Record<string, string> = {}): Promise<CommandResult> {
  const { uri, username, password } = inject('neo4j');
  const env = { ...process.env, NEO4J_URI: uri, NEO4J_USERNAME: username, NEO4J_PASSWORD: password, RUNTIME_DIR: runtimeDir, ...environment };
  const child = spawn('node', ['src/start.mjs', ...args], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) child[name].on('data', (chunk: Buffer) => (output[name] += chunk.toString()));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, ...output })));
}
