import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { withCache } from '../src/embedding/cache.ts';
import { cutIntoWindows } from '../src/embedding/character-windows.ts';
import { type Embedder, EmbedderBusy, EmbedderUnavailable } from '../src/embedding/embedder.ts';
import { createOpenAiEmbedder, measureDimensions, type OpenAiEmbedderSettings } from '../src/embedding/openai.ts';
import { type Behaviour, type EmbeddingServer, startEmbeddingServer } from './testkit/embedding-server.ts';

let server: EmbeddingServer;
const embedders: Embedder[] = [];
const reports: string[] = [];

beforeAll(async () => void (server = await startEmbeddingServer()));
afterAll(() => server.close());
afterEach(async () => {
  server.behave('floats');
  await Promise.all(embedders.splice(0).map((embedder) => embedder.close()));
  server.requests.length = 0;
  reports.length = 0;
});

function connect(settings: Partial<OpenAiEmbedderSettings> = {}): Embedder {
  const embedder = createOpenAiEmbedder({
    apiKey: 'sk-test',
    baseUrl: server.url,
    model: 'test-model',
    dimensions: 8,
    requestDimensions: false,
    window: 4_000,
    timeout: 500,
    report: (line) => reports.push(line),
    ...settings,
  });
  embedders.push(embedder);
  return embedder;
}

const cosine = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, at) => sum + value * b[at]!, 0);
const passage = async (embedder: Embedder, text: string) => (await embedder.embedPassage(text, {})).vector;
const whenUp = (embedder: Embedder) => expect.poll(() => embedder.status(), { timeout: 20_000 }).toBe('ok');

describe('vectors of an OpenAI-compatible server', () => {
  it('have unit length and are asked for as floats, without a number of dimensions', async () => {
    const vector = await connect().embedQuery('Where is the key?', {});
    expect(vector).toHaveLength(8);
    expect(cosine(vector, vector)).toBeCloseTo(1, 5);
    expect(server.requests).toEqual([{ model: 'test-model', input: ['Where is the key?'], encoding_format: 'float' }]);
  });

  it('are asked for in a length where one is configured', async () => {
    expect(await connect({ dimensions: 4, requestDimensions: true }).embedQuery('Where is the key?', {})).toHaveLength(4);
    expect(server.requests[0]!.dimensions).toBe(4);
  });

  it('are the same from a server that answers base64 whatever it is asked for', async () => {
    const floats = await connect().embedQuery('Where is the key?', {});
    server.behave('base64');
    const base64 = await connect().embedQuery('Where is the key?', {});
    expect(cosine(floats, base64)).toBeCloseTo(1, 5);
  });

  it('belong to their texts, in whatever order they are answered', async () => {
    const embedder = connect();
    const texts = Array.from({ length: 30 }, (_, at) => `Text ${at}`);
    const together = await Promise.all(texts.map((text) => passage(embedder, text)));
    for (const [at, text] of texts.entries()) expect(cosine(together[at]!, await passage(embedder, text)), text).toBeCloseTo(1, 5);
  });

  it('cover the whole of a long text, by the mean of its windows', async () => {
    const embedder = connect({ window: 200 });
    const text = 'The warehouse counted its crates. '.repeat(30);
    const whole = await passage(embedder, text);
    expect(server.requests.flatMap(({ input }) => input).sort()).toEqual(cutIntoWindows(text, 200).sort());
    expect(cosine(whole, await passage(embedder, `${text}But the last line is new.`))).toBeLessThan(0.9999);
  });

  it('are there for an empty text, which the API refuses', async () => {
    expect(await connect().embedQuery('  ', {})).toHaveLength(8);
  });

  it('tell their length to whoever does not know it', async () => {
    const settings = { apiKey: 'sk-test', baseUrl: server.url, timeout: 500, model: 'test-model' };
    const { signal } = new AbortController();
    expect(await measureDimensions(settings, signal)).toBe(8);
    await expect(measureDimensions({ ...settings, apiKey: 'wrong' }, signal)).rejects.toThrow(/Incorrect API key/);
  });
});

describe('texts that come together', () => {
  it('are asked for together while others are under way', async () => {
    const embedder = connect();
    await Promise.all(Array.from({ length: 200 }, (_, at) => passage(embedder, `Text ${at}`)));
    const sizes = server.requests.map(({ input }) => input.length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(200);
    expect(sizes.slice(0, 4), 'what comes first does not wait').toEqual([1, 1, 1, 1]);
    expect(Math.max(...sizes)).toBe(64);
    expect(sizes.length).toBeLessThanOrEqual(10);
  });

  it('are at most 100,000 characters', async () => {
    const embedder = connect({ window: 50_000 });
    await Promise.all(Array.from({ length: 12 }, (_, at) => passage(embedder, `${at} ${'long '.repeat(9_000)}`)));
    for (const { input } of server.requests) expect(input.join('').length).toBeLessThanOrEqual(100_000);
  });

  it('are asked for once when they are the same', async () => {
    const embedder = withCache(connect());
    await Promise.all(Array.from({ length: 20 }, () => passage(embedder, 'The same text')));
    await passage(embedder, 'The same text');
    expect(server.requests.flatMap(({ input }) => input)).toEqual(['The same text']);
  });

  it('give queries the right of way', async () => {
    const embedder = connect();
    const texts = Array.from({ length: 100 }, (_, at) => passage(embedder, `Text ${at}`));
    await Promise.all([...texts, embedder.embedQuery('The question', {})]);
    expect(server.requests.findIndex(({ input }) => input.includes('The question'))).toBe(4);
  });

  it('may be 4,096 that wait, and the next is told to try again', async () => {
    server.behave('slow');
    const embedder = connect();
    const waiting = Array.from({ length: 4_100 }, (_, at) => passage(embedder, `Text ${at}`).catch((error: unknown) => error));
    await expect(embedder.embedQuery('One more', {})).rejects.toBeInstanceOf(EmbedderBusy);
    await Promise.all(waiting);
  });

  it('leave the queue, and end a request that nobody waits for any more, when their caller gives up', async () => {
    server.behave('slow');
    const embedder = connect({ timeout: 60_000 });
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const texts = Array.from({ length: 10 }, (_, at) => embedder.embedPassage(`Text ${at}`, { signal: stop.signal }));
    await expect.poll(() => server.requests.length).toBe(4);
    stop.abort(new Error('enough'));
    for (const outcome of await Promise.allSettled(texts)) expect(outcome).toMatchObject({ status: 'rejected', reason: { message: 'enough' } });
    server.behave('floats');
    await embedder.embedQuery('Another', {});
    expect(server.requests).toHaveLength(5);
    expect(embedder.status(), 'giving up is not a failure of the provider').toBe('ok');
  });
});

describe('a text that the server refuses', () => {
  it('fails alone', async () => {
    server.refuse('forbidden');
    const embedder = connect();
    const texts = Array.from({ length: 40 }, (_, at) => (at === 21 ? 'A forbidden text' : `Text ${at}`));
    const outcomes = await Promise.allSettled(texts.map((text) => passage(embedder, text)));
    expect(outcomes.flatMap(({ status }, at) => (status === 'rejected' ? [at] : []))).toEqual([21]);
    expect(outcomes[21]).toMatchObject({ reason: expect.any(EmbedderUnavailable) });
    expect(embedder.status()).toBe('ok');
  });
});

describe('a server that fails', () => {
  const failures: [string, Behaviour][] = [
    ['answers 500', { status: 500 }],
    ['answers 401', { status: 401 }],
    ['answers 429 and asks for an hour', { status: 429, headers: { 'retry-after': '3600' } }],
    ['answers vectors of another length', 'wrong length'],
    ['answers fewer vectors than texts', 'too few'],
    ['answers something else', 'no json'],
    ['does not answer', 'slow'],
    ['cuts its answers', 'cut'],
    ['begins its answers and never ends them', 'stalled'],
  ];

  it.each(failures)('that %s is away: EmbedderUnavailable, at once for all who come after', async (_, behaviour) => {
    server.behave(behaviour);
    const embedder = connect();
    await expect(embedder.embedQuery('One', {})).rejects.toBeInstanceOf(EmbedderUnavailable);
    expect(embedder.status()).toBe('down');
    expect(reports).toEqual([expect.stringContaining('does not answer')]);
    const requests = server.requests.length;
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: 100 }, (_, at) => expect(passage(embedder, `Text ${at}`)).rejects.toBeInstanceOf(EmbedderUnavailable)));
    expect(performance.now() - startedAt).toBeLessThan(500);
    expect(server.requests.length - requests).toBeLessThanOrEqual(2);
  });

  it('is given up in time also when memory is collected meanwhile', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    server.behave('stalled');
    const outcome = connect({ timeout: 1_000 })
      .embedQuery('One', {})
      .catch((error: unknown) => error);
    await expect.poll(() => server.requests.length).toBe(1);
    collect();
    expect(await Promise.race([outcome, delay(5_000, 'nothing')])).toBeInstanceOf(EmbedderUnavailable);
  });

  it('in passing is asked once more, and nobody notices', async () => {
    for (const behaviour of [{ status: 500 }, { status: 503 }, 'cut', { status: 429, headers: { 'retry-after': '1' } }] as const) {
      server.behave(behaviour, 1);
      const embedder = connect({ timeout: 5_000 });
      await expect(embedder.embedQuery('One', {})).resolves.toHaveLength(8);
      expect(embedder.status()).toBe('ok');
    }
    expect(reports).toEqual([]);
  });

  it('is asked again after a while, and used again when it answers', async () => {
    server.behave({ status: 500 });
    const embedder = connect();
    await expect(embedder.embedQuery('One', {})).rejects.toBeInstanceOf(EmbedderUnavailable);
    server.behave('floats');
    await whenUp(embedder);
    await expect(embedder.embedQuery('One', {})).resolves.toHaveLength(8);
    expect(reports).toEqual([expect.stringContaining('500'), expect.stringContaining('answers again')]);
  });

  it('is left alone for as long as it asks to be', async () => {
    server.behave({ status: 429, headers: { 'retry-after': '3' } });
    const embedder = connect();
    await expect(embedder.embedQuery('One', {})).rejects.toBeInstanceOf(EmbedderUnavailable);
    const [failedAt, requests] = [performance.now(), server.requests.length];
    server.behave('floats');
    await whenUp(embedder);
    expect(performance.now() - failedAt).toBeGreaterThan(2_900);
    expect(server.requests.length).toBe(requests + 1);
  });

  it('does so without keeping the process, and not after it is closed', async () => {
    server.behave({ status: 500 });
    const embedder = connect();
    await expect(embedder.embedQuery('One', {})).rejects.toBeInstanceOf(EmbedderUnavailable);
    await embedder.close();
    const requests = server.requests.length;
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(server.requests.length).toBe(requests);
    await expect(embedder.embedQuery('One', {})).rejects.toBeInstanceOf(EmbedderUnavailable);
  });

  it('with a vector that is no direction fails that text alone', async () => {
    server.behave('nan');
    const embedder = connect();
    await expect(embedder.embedQuery('One', {})).rejects.toBeInstanceOf(EmbedderUnavailable);
    expect(embedder.status()).toBe('ok');
  });

  it('is not there at all', async () => {
    const embedder = connect({ baseUrl: 'http://127.0.0.1:9/v1' });
    await expect(embedder.embedQuery('One', {})).rejects.toBeInstanceOf(EmbedderUnavailable);
    expect(embedder.status()).toBe('down');
  });
});

describe('windows of a text', () => {
  it('are the text, cut at white space where there is some', () => {
    const text = 'The warehouse counted its crates and wrote the numbers down. '.repeat(40);
    const windows = cutIntoWindows(text, 300);
    expect(windows.join('')).toBe(text);
    for (const window of windows) expect(window.length).toBeLessThanOrEqual(300);
    for (const window of windows.slice(1)) expect(window).toMatch(/^\s/);
  });

  it('never cut a character in two', () => {
    for (const window of cutIntoWindows(`a${'😀'.repeat(1_000)}`, 200)) expect(window.isWellFormed()).toBe(true);
  });
});
