import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Pool } from 'undici';
import type { ApiOptions, EventLoopDelay } from './api.ts';
import { type BenchGraph, startGraph } from './graph.ts';

/** One caller's connections to the API. */
export interface Client {
  /** The answer's body; throws for any other status than 200. */
  request(method: 'GET' | 'POST', path: string, body?: unknown): Promise<any>;
  /** The answer's status, whatever it is. */
  status(method: 'GET' | 'POST', path: string, body?: unknown): Promise<number>;
  close(): Promise<void>;
}

/** The API in a process of its own, with the settings of somebody who sets nothing. */
export interface BenchApi {
  readonly pid: number;
  /** A client with this key; each request that is under way has a connection of its own. */
  client(key: string): Client;
  /** How late the API's event loop was since the last time that this was asked. */
  eventLoopDelay(): Promise<EventLoopDelay>;
  close(): Promise<void>;
}

export async function startApi(
  graph: BenchGraph,
  { embedder, ...options }: { embedder: 'local model' | 'ready-made' } & Pick<ApiOptions, 'batching' | 'maxConcurrentRequests'>,
): Promise<BenchApi> {
  // The log goes where a service's log would go, and costs what it would cost there.
  const api = fork(new URL('./api.ts', import.meta.url), { execArgv: ['--import', 'tsx'], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const ended = new Promise<never>((_, reject) => api.once('exit', () => reject(new Error('The API has ended'))));
  ended.catch(() => undefined);
  const ask = async <Answer>(question: object): Promise<Answer> => {
    api.send(question);
    const [answer] = (await Promise.race([once(api, 'message'), ended])) as [Answer];
    return answer;
  };
  const { modelPath, tokenizerPath } = graph.runtime;
  const model = embedder === 'local model' ? { modelPath, tokenizerPath } : null;
  const port = await ask<number>({ address: graph.address, model, ...options } satisfies ApiOptions);

  return {
    pid: api.pid!,
    client(key) {
      const pool = new Pool(`http://127.0.0.1:${port}`, { pipelining: 1 });
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const ask = async (method: 'GET' | 'POST', path: string, body: unknown) => {
        const answer = await pool.request({ method, path, headers, body: body === undefined ? null : JSON.stringify(body) });
        return { status: answer.statusCode, text: await answer.body.text() };
      };
      return {
        async request(method, path, body) {
          const { status, text } = await ask(method, path, body);
          if (status !== 200) throw new Error(`${method} ${path.slice(0, 200)} → ${status} ${text.slice(0, 500)}`);
          return JSON.parse(text);
        },
        status: async (method, path, body) => (await ask(method, path, body)).status,
        close: () => pool.close(),
      };
    },
    eventLoopDelay: () => ask<EventLoopDelay>({}),
    async close() {
      api.disconnect();
      await ended.catch(() => undefined);
    },
  };
}

/** All of it with one account, for a benchmark of what the service answers. */
export async function startBenchService(report: (line: string) => void): Promise<Client> {
  const graph = await startGraph(report, '1g');
  try {
    const { key } = await graph.newAccount('bench');
    const api = await startApi(graph, { embedder: 'local model' });
    const client = api.client(key);
    return {
      request: client.request,
      status: client.status,
      async close() {
        await client.close();
        await api.close();
        await graph.close();
      },
    };
  } catch (error) {
    await graph.close();
    throw error;
  }
}
