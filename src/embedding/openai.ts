import { setTimeout as delay } from 'node:timers/promises';
import OpenAI, { APIConnectionError, APIError } from 'openai';
import { createAvailability } from './availability.ts';
import { createBatcher } from './batcher.ts';
import { cutIntoWindows } from './character-windows.ts';
import { type Embedder, type EmbedOptions, EmbedderUnavailable, unitVector } from './embedder.ts';

export interface OpenAiEmbedderSettings {
  /** Any text for servers that ask for none. */
  apiKey: string;
  /** Of a compatible server, such as http://localhost:11434/v1; OpenAI's own by default. */
  baseUrl?: string | undefined;
  model: string;
  /** How long the vectors are. */
  dimensions: number;
  /** Asks the provider for vectors of that length, which not every model can give. */
  requestDimensions: boolean;
  /** Characters that are embedded at once; a longer text is cut into windows, and their mean is taken. */
  window: number;
  /** Milliseconds within which a request has to be answered, its repeat included. */
  timeout: number;
  report: (line: string) => void;
}

/** Far below what OpenAI takes (2,048 texts, 300,000 tokens), so that a batch is answered soon. */
const BATCH_TEXTS = 64;
const BATCH_CHARACTERS = 100_000;
const BATCHES_UNDER_WAY = 4;
const QUEUE_LIMIT = 4_096;
/** Milliseconds before the one repeat, and how long a provider may ask to wait for it. */
const PAUSE = 250;
const LONGEST_PAUSE = 2_000;

/** What the provider sent is no answer to what was asked. */
class MalformedAnswer extends Error {
  override readonly name = 'MalformedAnswer';
}

type Connection = Pick<OpenAiEmbedderSettings, 'apiKey' | 'baseUrl'>;

/** Embeds through an OpenAI-compatible API. While that does not answer as it should, calls are rejected at once and it is probed. */
export function createOpenAiEmbedder(settings: OpenAiEmbedderSettings): Embedder {
  const { model, dimensions, requestDimensions, window, timeout, report } = settings;
  const client = connect(settings);
  const availability = createAvailability({ probe: async (signal) => void (await request(['probe'], signal)), report });
  const batcher = createBatcher<Float32Array | EmbedderUnavailable>({
    run: embedBatch,
    maximumTexts: BATCH_TEXTS,
    maximumCharacters: BATCH_CHARACTERS,
    underWay: BATCHES_UNDER_WAY,
    queueLimit: QUEUE_LIMIT,
  });

  /** One request; a vector that is no direction stands as an error in its place. */
  async function request(texts: readonly string[], signal: AbortSignal): Promise<(Float32Array | EmbedderUnavailable)[]> {
    const wanted = { model, texts, ...(requestDimensions ? { dimensions } : {}) };
    const vectors = await within(timeout, signal, (limited) => fetchVectors(client, wanted, limited));
    const other = vectors.find(({ length }) => length !== dimensions);
    if (other) throw new MalformedAnswer(`${model} answered a vector of ${other.length} numbers instead of ${dimensions} (EMBEDDING_DIMENSIONS)`);
    return vectors.map((vector) => {
      try {
        return unitVector(vector, dimensions);
      } catch (error) {
        return error as EmbedderUnavailable;
      }
    });
  }

  async function embedBatch(texts: readonly string[], signal: AbortSignal): Promise<(Float32Array | EmbedderUnavailable)[]> {
    availability.require();
    try {
      return await request(texts, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      if (isFaultOfTexts(error)) return refused(texts, signal, error);
      availability.fail(error, retryAfter(error) ?? 0);
      throw new EmbedderUnavailable('The embedding provider does not answer', { cause: error });
    }
  }

  /** The text that the provider refuses must not take the others of its batch along. */
  async function refused(texts: readonly string[], signal: AbortSignal, error: unknown): Promise<(Float32Array | EmbedderUnavailable)[]> {
    if (texts.length === 1) return [new EmbedderUnavailable('The embedding provider refuses this text', { cause: error })];
    const middle = texts.length >> 1;
    return [...(await embedBatch(texts.slice(0, middle), signal)), ...(await embedBatch(texts.slice(middle), signal))];
  }

  async function embed(text: string, urgent: boolean, { signal }: EmbedOptions): Promise<Float32Array> {
    availability.require();
    // The API takes no empty text.
    const windows = cutIntoWindows(text.trim() === '' ? '.' : text, window);
    const mean = new Float32Array(dimensions);
    await Promise.all(
      windows.map(async (part) => {
        const vector = await batcher.add(part, { urgent, signal });
        if (vector instanceof EmbedderUnavailable) throw vector;
        vector.forEach((value, at) => (mean[at]! += value * part.length));
      }),
    );
    return unitVector(mean, dimensions);
  }

  return {
    model,
    dimensions,
    embedQuery: (text, options) => embed(text, true, options),
    embedPassage: async (text, options) => ({ vector: await embed(text, false, options), cut: false }),
    status: () => availability.status(),
    close: () => Promise.resolve(availability.close()),
  };
}

/**
 * How long the vectors are that the provider gives for a model.
 * @throws EmbedderUnavailable when it doesn't answer
 */
export async function measureDimensions(
  settings: Connection & Pick<OpenAiEmbedderSettings, 'model' | 'timeout'>,
  signal: AbortSignal,
): Promise<number> {
  try {
    const wanted = { model: settings.model, texts: ['probe'] };
    const [vector] = await within(settings.timeout, signal, (limited) => fetchVectors(connect(settings), wanted, limited));
    return vector!.length;
  } catch (error) {
    signal.throwIfAborted();
    throw new EmbedderUnavailable(`The embedding provider does not answer: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/**
 * Runs the work with a signal that aborts with the given one, or after so many milliseconds. Not with the library's own time-out, which ends with the
 * head of an answer, and its body may never come; nor with AbortSignal.any, in which Node 20 forgets a time-out when it collects garbage.
 */
async function within<T>(milliseconds: number, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const limited = new AbortController();
  const follow = () => limited.abort(signal.reason);
  if (signal.aborted) follow();
  signal.addEventListener('abort', follow, { once: true });
  const timer = setTimeout(() => limited.abort(new DOMException('No answer in time', 'TimeoutError')), milliseconds);
  try {
    return await work(limited.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', follow);
  }
}

function connect({ apiKey, baseUrl }: Connection): OpenAI {
  return new OpenAI({ apiKey, baseURL: baseUrl ?? null, maxRetries: 0, logLevel: 'off' });
}

/** The texts' vectors in their order; asked for once more when the provider fails in passing. */
async function fetchVectors(
  client: OpenAI,
  { model, texts, dimensions }: { model: string; texts: readonly string[]; dimensions?: number },
  signal: AbortSignal,
): Promise<ArrayLike<number>[]> {
  // Asked for base64, as the library does by itself, servers that know only floats would be misread as zeros.
  const body = { model, input: [...texts], encoding_format: 'float' as const, ...(dimensions === undefined ? {} : { dimensions }) };
  for (let attempt = 1; ; attempt++) {
    try {
      const { data } = await client.embeddings.create(body, { signal });
      return readVectors(data, texts.length);
    } catch (error) {
      const pause = pauseBeforeRepeat(error);
      if (attempt === 2 || pause === null || signal.aborted) throw error;
      await delay(pause, undefined, { signal });
    }
  }
}

function readVectors(data: unknown, count: number): ArrayLike<number>[] {
  if (!Array.isArray(data) || data.length !== count)
    throw new MalformedAnswer(`Expected ${count} vectors, got ${Array.isArray(data) ? data.length : typeof data}`);
  const vectors: ArrayLike<number>[] = [];
  for (const [position, { index = position, embedding }] of (data as { index?: number; embedding: unknown }[]).entries()) {
    const vector = typeof embedding === 'string' ? decode(embedding) : embedding;
    if (!Array.isArray(vector) && !(vector instanceof Float32Array)) throw new MalformedAnswer(`Expected numbers or base64, got ${typeof embedding}`);
    vectors[index] = vector as ArrayLike<number>;
  }
  if (vectors.filter(Boolean).length !== count) throw new MalformedAnswer('Expected one vector for each text');
  return vectors;
}

/** Some servers answer base64 whatever they are asked for: float32, little-endian. */
function decode(base64: string): Float32Array {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length % 4 !== 0) throw new MalformedAnswer(`Expected base64 of float32, got ${bytes.length} bytes`);
  return Float32Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(4 * at));
}

/** Milliseconds, or null when a repeat would not help soon. */
function pauseBeforeRepeat(error: unknown): number | null {
  // An answer that is cut off in its middle is a TypeError of fetch.
  if (error instanceof APIConnectionError || error instanceof TypeError) return PAUSE;
  const wanted = retryAfter(error);
  if (wanted !== null) return wanted <= LONGEST_PAUSE ? wanted : null;
  return error instanceof APIError && Number(error.status) >= 500 ? PAUSE : null;
}

/** Milliseconds that the provider asks to wait; null when it says nothing. */
function retryAfter(error: unknown): number | null {
  const value = error instanceof APIError ? (error.headers as Headers | undefined)?.get('retry-after') : null;
  if (!value) return null;
  const milliseconds = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isNaN(milliseconds) ? null : Math.max(0, milliseconds);
}

/** The provider reads the request and refuses what is in it: too long, or not to its liking. */
function isFaultOfTexts(error: unknown): boolean {
  return error instanceof APIError && [400, 413, 422].includes(Number(error.status));
}
