import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from './npm-start.ts';

/** Whether there is a redis-server on the PATH. */
export const hasRedis = (() => {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

/** A real Redis on a port of its own, which keeps nothing on disk. */
export interface TestRedis {
  readonly url: string;
  readonly client: Redis;
  /** Stops answering, with its connections open. */
  freeze(): void;
  thaw(): void;
  /** As a machine that goes off; it forgets everything. */
  kill(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

export async function startRedis(): Promise<TestRedis> {
  const port = await freePort();
  let server: ChildProcess;
  const client = new Redis(port, { retryStrategy: () => 50 });
  client.on('error', () => undefined);

  async function start(): Promise<void> {
    server = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'], { stdio: 'ignore' });
    // It takes a moment until it listens, and the client tries again until then.
    while ((await client.ping().catch(() => null)) === null) await delay(20);
  }

  async function kill(): Promise<void> {
    const ended = once(server, 'exit');
    server.kill('SIGKILL');
    await ended;
  }

  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    client,
    freeze: () => void server.kill('SIGSTOP'),
    thaw: () => void server.kill('SIGCONT'),
    kill,
    start,
    async close() {
      client.disconnect();
      if (server.exitCode === null && server.signalCode === null) await kill();
    },
  };
}
