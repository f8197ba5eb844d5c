import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { EmbedOptions, Embedder, PassageVector } from './embedder.ts';
import { EmbedderBusy, unitVector } from './embedder.ts';
import { createWorkerPool } from './pool.ts';
import type { Answer, Task, WorkerSettings } from './worker.ts';

/** Names the model in the index, and says how long its vectors are. */
export const LOCAL_MODEL = { model: 'e5-small-v2-q', dimensions: 384 } as const;

/** e5 was trained with these in front of every text. */
const PREFIX = { query: 'query: ', passage: 'passage: ' };

/** tsx registers itself in the main thread only, so a thread that runs TypeScript has to do it for itself. */
const WORKER = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { register } from ${JSON.stringify(import.meta.resolve('tsx/esm/api'))};
    register();
    await import(${JSON.stringify(import.meta.resolve('./worker.ts'))});
  `)}`,
);

export interface LocalEmbedderSettings {
  modelPath: string;
  tokenizerPath: string;
  /** Threads that each hold the model (about 110 MB); one a core, at most four, unless said otherwise. */
  workers?: number;
  /** How many queries, and how many passages, may be under way; beyond it EmbedderBusy. */
  queueLimit?: number;
}

/**
 * Runs the e5-small-v2 model (int8, English) in threads of this process.
 * @throws EmbedderUnavailable when the model or its tokenizer can't be loaded
 */
export async function createLocalEmbedder(settings: LocalEmbedderSettings): Promise<Embedder> {
  const { modelPath, tokenizerPath, workers = Math.min(availableParallelism(), 4), queueLimit = 4_096 } = settings;
  // The runtime otherwise reports its use to its maker. It reads the process's environment when it is first loaded.
  process.env['ORT_DISABLE_TELEMETRY'] = '1';
  const workerData: WorkerSettings = { modelPath, tokenizerPath };
  const pool = await createWorkerPool<Task, Answer>({
    size: workers,
    start: () => new Worker(WORKER, { workerData, execArgv: [] }),
  });
  const underWay = { query: 0, passage: 0 };

  async function read(kind: 'query' | 'passage', text: string, { signal }: EmbedOptions): Promise<PassageVector> {
    const options = { urgent: kind === 'query', signal };
    const answer = await pool.run({ text: PREFIX[kind] + text }, options);
    if ('vector' in answer) return { vector: unitVector(answer.vector, LOCAL_MODEL.dimensions), cut: false };
    const mean = new Float32Array(LOCAL_MODEL.dimensions);
    const add = async (tokens: number[]) => {
      const window = await pool.run({ tokens }, options);
      if ('vector' in window) unitVector(window.vector, LOCAL_MODEL.dimensions).forEach((value, at) => (mean[at]! += value * tokens.length));
    };
    await Promise.all(answer.windows.map(add));
    return { vector: unitVector(mean, LOCAL_MODEL.dimensions), cut: answer.cut };
  }

  async function embed(kind: 'query' | 'passage', text: string, options: EmbedOptions): Promise<PassageVector> {
    if (underWay[kind] >= queueLimit) throw new EmbedderBusy(`${queueLimit} texts already wait to be embedded`);
    underWay[kind]++;
    try {
      return await read(kind, text, options);
    } finally {
      underWay[kind]--;
    }
  }

  return {
    model: LOCAL_MODEL.model,
    dimensions: LOCAL_MODEL.dimensions,
    embedQuery: async (text, options) => (await embed('query', text, options)).vector,
    embedPassage: (text, options) => embed('passage', text, options),
    status: () => (pool.alive() ? 'ok' : 'down'),
    close: () => pool.close(),
  };
}
