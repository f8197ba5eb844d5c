import type { Worker } from 'node:worker_threads';
import { EmbedderUnavailable } from './embedder.ts';

/** What a thread sends: `ready` once, then one of the others for each task. It is sent tasks, and `{ leave: true }` when it shall end. */
type Message<Result> = { ready: true } | { result: Result } | { error: string };

interface Job<Task, Result> {
  task: Task;
  signal: AbortSignal | undefined;
  tries: number;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

interface Slot<Task, Result> {
  worker?: Worker;
  state: 'starting' | 'ready' | 'failed';
  job?: Job<Task, Result> | undefined;
}

export interface WorkerPool<Task, Result> {
  /**
   * Runs a task on a free thread; urgent ones come before all others that wait, each kind in its order.
   * Rejects with the signal's reason, or with EmbedderUnavailable when the task fails, kills two threads, or no thread can be started.
   */
  run(task: Task, options: { urgent: boolean; signal?: AbortSignal | undefined }): Promise<Result>;
  alive(): boolean;
  close(): Promise<void>;
}

/** A thread that dies before it is ready would most likely die again at once. */
const RESTART_DELAY_MS = 1_000;

/** Starts `size` threads and resolves when all are ready. A thread that dies is replaced, and its task is tried once more. */
export async function createWorkerPool<Task, Result>({ size, start }: { size: number; start: () => Worker }): Promise<WorkerPool<Task, Result>> {
  const urgent = new Set<Job<Task, Result>>();
  const patient = new Set<Job<Task, Result>>();
  const restarts = new Set<NodeJS.Timeout>();
  let closed = false;

  function next(): Job<Task, Result> | undefined {
    for (const queue of [urgent, patient])
      for (const job of queue) {
        queue.delete(job);
        return job;
      }
  }

  function dispatch(): void {
    for (const slot of slots) {
      if (slot.state !== 'ready' || slot.job) continue;
      slot.job = next();
      if (!slot.job) return;
      slot.job.tries++;
      slot.worker?.postMessage(slot.job.task);
    }
  }

  function launch(slot: Slot<Task, Result>, started?: (error?: Error) => void): void {
    const worker = start();
    let cause: unknown;
    slot.worker = worker;
    slot.state = 'starting';
    worker.on('message', (message: Message<Result>) => {
      if ('ready' in message) {
        slot.state = 'ready';
        started?.();
      } else if ('result' in message) slot.job?.resolve(message.result);
      else slot.job?.reject(new EmbedderUnavailable(message.error));
      slot.job = undefined;
      dispatch();
    });
    worker.on('error', (error) => (cause = error));
    worker.on('exit', () => {
      if (closed) return;
      const { job, state } = slot;
      slot.state = 'failed';
      slot.job = undefined;
      if (job && !job.signal?.aborted) {
        if (job.tries < 2) urgent.add(job);
        else job.reject(new EmbedderUnavailable('The embedding thread died twice over this text', { cause }));
      }
      dispatch();
      if (state === 'ready') return launch(slot);
      if (started) return started(new EmbedderUnavailable('The embedding model could not be loaded', { cause }));
      if (slots.every((other) => other.state === 'failed')) rejectAll(cause);
      const timer = setTimeout(() => {
        restarts.delete(timer);
        launch(slot);
      }, RESTART_DELAY_MS);
      restarts.add(timer);
    });
  }

  /** Never `terminate()`: stopped within the native code of the model, a thread takes the whole process along. */
  function leave(worker: Worker): Promise<void> {
    return new Promise((resolve) => {
      if (worker.threadId === -1) return resolve();
      worker.once('exit', () => resolve());
      worker.postMessage({ leave: true });
    });
  }

  function rejectAll(cause?: unknown): void {
    for (let job = next(); job; job = next()) job.reject(new EmbedderUnavailable('The embedding model is not running', { cause }));
  }

  async function close(): Promise<void> {
    closed = true;
    restarts.forEach(clearTimeout);
    rejectAll();
    for (const { job } of slots) job?.reject(new EmbedderUnavailable('The embedding model is not running'));
    await Promise.all(slots.flatMap(({ worker }) => (worker ? [leave(worker)] : [])));
  }

  const slots = Array.from({ length: size }, (): Slot<Task, Result> => ({ state: 'starting' }));
  try {
    await Promise.all(slots.map((slot) => new Promise<void>((resolve, reject) => launch(slot, (error) => (error ? reject(error) : resolve())))));
  } catch (error) {
    await close();
    throw error;
  }

  return {
    run(task, { urgent: first, signal }) {
      return new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        if (closed || slots.every(({ state }) => state === 'failed')) throw new EmbedderUnavailable('The embedding model is not running');
        const abort = () => {
          urgent.delete(job);
          patient.delete(job);
          job.reject(signal?.reason);
        };
        const settle =
          <Value>(done: (value: Value) => void) =>
          (value: Value) => {
            signal?.removeEventListener('abort', abort);
            done(value);
          };
        const job: Job<Task, Result> = { task, signal, tries: 0, resolve: settle(resolve), reject: settle(reject) };
        signal?.addEventListener('abort', abort, { once: true });
        (first ? urgent : patient).add(job);
        dispatch();
      });
    },
    alive: () => !closed && slots.some(({ state }) => state === 'ready'),
    close,
  };
}
