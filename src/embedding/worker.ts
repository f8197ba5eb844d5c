import { readFile } from 'node:fs/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { Tokenizer } from '@huggingface/tokenizers';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { readInWindows } from './windows.ts';

/** What the thread is started with. */
export interface WorkerSettings {
  modelPath: string;
  tokenizerPath: string;
}

/** A prefixed text, or one window of a text that was too long to be read at once. */
export type Task = { text: string } | { tokens: number[] };

/** The vector, not yet of unit length, or the windows to send back as tasks of their own, so that others get their turn in between. */
export type Answer = { vector: Float32Array } | { windows: number[][]; cut: boolean };

const { modelPath, tokenizerPath } = workerData as WorkerSettings;
const tokenizer = new Tokenizer(JSON.parse(await readFile(tokenizerPath, 'utf8')), {});
const session = await InferenceSession.create(modelPath, { intraOpNumThreads: 1, interOpNumThreads: 1 });

/**
 * The mean over the tokens' last hidden states. One text a run: the model's activations are quantised by the range of the whole input, so in a
 * batch a text's vector would depend on its neighbours (cosine 0.997), and on one thread a batch is no faster.
 */
async function run(tokens: number[]): Promise<Float32Array> {
  const shape = [1, tokens.length];
  const { last_hidden_state: states } = await session.run({
    input_ids: new Tensor('int64', BigInt64Array.from(tokens, BigInt), shape),
    attention_mask: new Tensor('int64', new BigInt64Array(tokens.length).fill(1n), shape),
    token_type_ids: new Tensor('int64', new BigInt64Array(tokens.length), shape),
  });
  if (states?.type !== 'float32') throw new Error(`Expected float32 last_hidden_state, got ${states?.type}`);
  const values = states.data as Float32Array;
  const mean = new Float32Array(values.length / tokens.length);
  for (let at = 0; at < values.length; at++) mean[at % mean.length]! += values[at]! / tokens.length;
  return mean;
}

async function answer(task: Task): Promise<Answer> {
  if ('tokens' in task) return { vector: await run(task.tokens) };
  const { windows, cut } = readInWindows(tokenizer.encode(task.text).ids);
  const [whole, ...more] = windows;
  return whole && more.length === 0 ? { vector: await run(whole) } : { windows, cut };
}

parentPort!.on('message', (message: Task | { leave: true }) => {
  if ('leave' in message) return parentPort!.close();
  answer(message).then(
    (result) => parentPort!.postMessage({ result }),
    (error: unknown) => parentPort!.postMessage({ error: String(error) }),
  );
});
parentPort!.postMessage({ ready: true });
