import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** What the server does with a request, instead of answering it well. */
export type Behaviour =
  | 'floats'
  | 'base64'
  | 'wrong length'
  | 'nan'
  | 'too few'
  | 'no json'
  | 'slow'
  | 'cut'
  | 'stalled'
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>> };

export interface EmbeddingServer {
  readonly url: string;
  /** The bodies that came, in their order. */
  readonly requests: { input: string[]; model: string; encoding_format?: string; dimensions?: number }[];
  /** From now on; with `times` only so often, and then well again. */
  behave(behaviour: Behaviour, times?: number): void;
  /** Texts with this in them are refused with 400, and the whole request with them. */
  refuse(part: string): void;
  close(): Promise<void>;
}

export interface EmbeddingServerOptions {
  readonly dimensions?: number;
  readonly apiKey?: string;
  readonly port?: number;
  /** The text's vector; by default a direction that depends on nothing but the text. */
  readonly embed?: (text: string) => Promise<Float32Array>;
}

/** Of the model that ships with the service: under its name nothing has to be calibrated. */
export const DIMENSIONS = 384;

/** What a service needs that embeds by a server of that many dimensions. */
export const embeddingBy = (url: string) => ({
  EMBEDDING_PROVIDER: 'openai',
  EMBEDDING_MODEL: 'e5-small-v2-q',
  OPENAI_API_KEY: 'sk-test',
  OPENAI_BASE_URL: url,
});

/** A server that speaks OpenAI's protocol for embeddings, on a port of its own. */
export async function startEmbeddingServer({
  dimensions = 8,
  apiKey = 'sk-test',
  port = 0,
  embed,
}: EmbeddingServerOptions = {}): Promise<EmbeddingServer> {
  let behaviour: { readonly is: Behaviour; times: number } = { is: 'floats', times: Infinity };
  let refused: string | undefined;
  const requests: EmbeddingServer['requests'] = [];

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST' || request.url !== '/v1/embeddings') return fail(response, 404, 'Not found');
    if (request.headers.authorization !== `Bearer ${apiKey}`) return fail(response, 401, 'Incorrect API key provided');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as EmbeddingServer['requests'][number];
    requests.push(body);
    const now = behaviour.times-- > 0 ? behaviour.is : 'floats';
    if (typeof now === 'object') return fail(response, now.status, `Answered ${now.status}`, now.headers);
    if (body.input.some((text) => text === '' || (refused !== undefined && text.includes(refused))))
      return fail(response, 400, "'$.input' is invalid");
    if (now === 'slow') await delay(60_000, undefined, { ref: false });
    const length = now === 'wrong length' ? dimensions + 1 : (body.dimensions ?? dimensions);
    const vectors = await Promise.all(body.input.map(async (text) => resized(embed ? await embed(text) : directionOf(text, length), length)));
    if (now === 'nan') vectors[0]!.fill(NaN);
    const data = vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: now === 'base64' || now === 'nan' ? Buffer.from(vector.buffer).toString('base64') : [...vector],
    }));
    // The order is not promised; the index counts.
    const sent = now === 'too few' ? data.slice(1) : data.reverse();
    const text =
      now === 'no json'
        ? 'Welcome to the captive portal'
        : JSON.stringify({ object: 'list', data: sent, model: body.model, usage: { prompt_tokens: 1, total_tokens: 1 } });
    response.writeHead(200, { 'content-type': now === 'no json' ? 'text/html' : 'application/json', 'content-length': Buffer.byteLength(text) });
    if (now !== 'cut' && now !== 'stalled') return void response.end(text);
    response.write(text.slice(0, text.length / 2));
    if (now === 'cut') setTimeout(() => response.destroy(), 20);
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    behave: (is, times = Infinity) => void (behaviour = { is, times }),
    refuse: (part) => void (refused = part),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function fail(response: ServerResponse, status: number, message: string, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code: null } }));
}

function resized(vector: Float32Array, length: number): Float32Array {
  const result = new Float32Array(length);
  result.set(vector.subarray(0, length));
  return result;
}

/** What stands for a text's meaning where nothing else is given. */
export function directionOf(text: string, length: number): Float32Array {
  return Float32Array.from({ length }, (_, at) => createHash('sha256').update(`${at} ${text}`).digest().readInt32LE(0) / 2 ** 31);
}
