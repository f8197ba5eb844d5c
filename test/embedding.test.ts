import type { Worker } from 'node:worker_threads';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { withCache } from '../src/embedding/cache.ts';
import { calibrate, knownCalibrations, measureBands, measureCalibration, quantile } from '../src/embedding/calibration.ts';
import type { Embedder, PassageVector } from '../src/embedding/embedder.ts';
import { EmbedderBusy, EmbedderUnavailable, unitVector } from '../src/embedding/embedder.ts';
import type { LocalEmbedderSettings } from '../src/embedding/local.ts';
import { createLocalEmbedder } from '../src/embedding/local.ts';
import { probes } from '../src/embedding/probes.ts';
import { readInWindows } from '../src/embedding/windows.ts';
import { modelFiles } from './testkit/service.ts';

// The model needs four seconds for the longest texts on two busy cores.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

async function startModel(settings: Partial<LocalEmbedderSettings> = {}): Promise<Embedder> {
  return createLocalEmbedder({ ...(await modelFiles()), ...settings });
}

const cosine = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, at) => sum + value * b[at]!, 0);
const passage = async (embedder: Embedder, text: string) => (await embedder.embedPassage(text, {})).vector;
const filler = (characters: number) => 'The warehouse counted its crates and wrote the numbers down. '.repeat(characters / 60).slice(0, characters);

/** Runs texts and returns their names in the order in which they were answered. */
async function orderOfAnswers(tasks: Record<string, () => Promise<unknown>>): Promise<string[]> {
  const order: string[] = [];
  await Promise.all(Object.entries(tasks).map(([name, run]) => run().then(() => order.push(name))));
  return order;
}

describe('vectors of the local model', () => {
  let embedder: Embedder;
  beforeAll(async () => void (embedder = await startModel()));
  afterAll(() => embedder.close());

  test('have 384 dimensions and unit length', async () => {
    const vector = await embedder.embedQuery('Where do I keep the spare key?', {});
    expect([embedder.model, embedder.dimensions, vector.length]).toEqual(['e5-small-v2-q', 384, 384]);
    expect(cosine(vector, vector)).toBeCloseTo(1, 5);
    expect(embedder.status()).toBe('ok');
  });

  test('do not depend on what else is embedded at the same time', async () => {
    const texts = ['yes', 'The spare key is under the third flower pot.', filler(900), filler(4_000)];
    const alone = [];
    for (const text of texts) alone.push(await passage(embedder, text));
    const crowded = await Promise.all([...texts, ...probes.map(({ text }) => text)].map((text) => passage(embedder, text)));
    for (const [at, vector] of alone.entries()) expect(cosine(vector, crowded[at]!)).toBeGreaterThan(0.999_999);
  });

  test('are closer for a paraphrase than for another text', async () => {
    const query = await embedder.embedQuery('Where do I keep the spare key?', {});
    const answer = await passage(embedder, 'The extra key lies under a flower pot.');
    const other = await passage(embedder, 'Sales in Denmark grew by a fifth.');
    expect(cosine(query, answer)).toBeGreaterThan(cosine(query, other) + 0.05);
  });

  test('cover a text of 50,000 characters to its end', async () => {
    const ending = ' The treasure of the pirates is buried below the lighthouse of Kilmore.'.repeat(20);
    const plain = await embedder.embedPassage(filler(50_000), {});
    const changed = await embedder.embedPassage(filler(50_000 - ending.length) + ending, {});
    const query = await embedder.embedQuery('Where did the pirates bury their treasure?', {});
    expect([plain.cut, changed.cut]).toEqual([false, false]);
    expect(cosine(plain.vector, changed.vector)).toBeLessThan(0.9999);
    expect(cosine(query, changed.vector)).toBeGreaterThan(cosine(query, plain.vector));
  });

  test('say when a text was cut', async () => {
    const { vector, cut } = await embedder.embedPassage('山'.repeat(33_000), {});
    expect(cut).toBe(true);
    expect(cosine(vector, vector)).toBeCloseTo(1, 5);
  });

  test.each([
    ['nothing', ''],
    ['blanks', ' \n\t '],
    ['a NUL', 'a\0b\0'],
    ['only a NUL', '\0'],
    ['emoji', '👩‍👩‍👧‍👦🎉🏳️‍🌈'],
    ['Chinese', '我喜欢绿茶'],
    ['Hindi and Arabic', 'मुझे चाय पसंद है أحب الشاي'],
    ['a lone surrogate', 'before \ud83d after \udc00'],
    ['marks without letters', '\u0301\u0302\u200d\ufeff'],
    ["the model's own marks", '[CLS] [SEP] [PAD] [MASK]'],
    ['a word of 50,000 letters', 'x'.repeat(50_000)],
  ])('exist for %s', async (_, text) => {
    const stored = await passage(embedder, text);
    expect(cosine(stored, stored)).toBeCloseTo(1, 5);
    expect(await embedder.embedQuery(text, {})).toHaveLength(384);
  });
});

describe('windows', () => {
  const tokens = (body: number) => [101, 1, 2, ...Array.from({ length: body }, (_, at) => 1_000 + at), 102];
  const bodies = (windows: number[][]) => windows.map((window) => window.slice(3, -1));

  test('leave a text of 512 tokens whole', () => {
    expect(readInWindows(tokens(508))).toEqual({ windows: [tokens(508)], cut: false });
  });

  test.each([509, 5_000, 32_256])('cover each of %i tokens once, evenly, each with the marks of the text', (body) => {
    const { windows, cut } = readInWindows(tokens(body));
    expect(cut).toBe(false);
    expect(bodies(windows).flat()).toEqual(tokens(body).slice(3, -1));
    for (const window of windows) expect([window.slice(0, 3), window.at(-1), window.length <= 256]).toEqual([[101, 1, 2], 102, true]);
    const lengths = windows.map((window) => window.length);
    expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThanOrEqual(1);
  });

  test('beyond 128 are left out evenly over the text', () => {
    const { windows, cut } = readInWindows(tokens(60_000));
    expect([windows.length, cut]).toEqual([128, true]);
    const starts = bodies(windows).map(([first]) => first! - 1_000);
    expect(starts[0]).toBe(0);
    expect(starts[64]).toBeCloseTo(30_000, -3);
    expect(starts.at(-1)).toBeGreaterThan(59_000);
  });
});

describe('the queue', () => {
  let embedder: Embedder;
  afterEach(() => embedder.close());

  test('lets queries overtake the passages that wait', async () => {
    embedder = await startModel({ workers: 1 });
    const stores = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`store ${n}`, () => embedder.embedPassage(`Crate number ${n}`, {})]));
    const order = await orderOfAnswers({
      ...stores,
      'query 1': () => embedder.embedQuery('Which crate?', {}),
      'query 2': () => embedder.embedQuery('Which number?', {}),
    });
    expect(order.slice(0, 4)).toEqual(['store 0', 'query 1', 'query 2', 'store 1']);
  });

  test('lets queries and short texts pass between the windows of a long one', async () => {
    embedder = await startModel({ workers: 1 });
    const order = await orderOfAnswers({
      long: () => embedder.embedPassage(filler(50_000), {}),
      short: () => embedder.embedPassage('Crate number 7', {}),
      queries: async () => {
        for (let n = 0; n < 10; n++) await embedder.embedQuery(`Which crate is number ${n}?`, {});
      },
    });
    expect(order).toEqual(['short', 'queries', 'long']);
  });

  test('has a length for passages and one for queries', async () => {
    embedder = await startModel({ workers: 1, queueLimit: 2 });
    const waiting = [embedder.embedPassage('one', {}), embedder.embedPassage('two', {})];
    await expect(embedder.embedPassage('three', {})).rejects.toBeInstanceOf(EmbedderBusy);
    await expect(embedder.embedQuery('one', {})).resolves.toHaveLength(384);
    await Promise.all(waiting);
    await expect(embedder.embedPassage('three', {})).resolves.toBeDefined();
  });

  test('drops a text whose signal aborts, waiting or under way, and no other', async () => {
    const sent: unknown[] = [];
    process.once('worker', (thread) => thread.on('message', (message) => sent.push(Object.keys(message as object))));
    embedder = await startModel({ workers: 1, queueLimit: 3 });
    const stop = new AbortController();
    const reason = new Error('The caller went away');
    const running = embedder.embedPassage(filler(20_000), { signal: stop.signal });
    const waiting = embedder.embedPassage('two', { signal: stop.signal });
    const other = embedder.embedPassage('three', {});
    stop.abort(reason);
    await expect(running).rejects.toBe(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(embedder.embedQuery('four', { signal: stop.signal })).rejects.toBe(reason);
    await expect(other).resolves.toBeDefined();
    expect(sent, 'ready, the text that was under way, and the other').toEqual([['ready'], ['result'], ['result']]);
  });
});

describe('a thread that dies', () => {
  const threads: Worker[] = [];
  const die = (thread: Worker) => thread.postMessage({ leave: true });
  const remember = (worker: Worker) => void threads.push(worker);
  let embedder: Embedder;

  beforeAll(() => void process.on('worker', remember));
  afterEach(async () => {
    await embedder.close();
    threads.length = 0;
  });
  afterAll(() => void process.off('worker', remember));

  test('is replaced, and its texts are tried again', async () => {
    embedder = await startModel({ workers: 2 });
    const before = await passage(embedder, 'Crate number 3');
    const texts = Array.from({ length: 20 }, (_, n) => passage(embedder, `Crate number ${n}`));
    for (const thread of threads) die(thread);
    const vectors = await Promise.all(texts);
    expect(cosine(before, vectors[3]!)).toBeGreaterThan(0.999_999);
    expect([embedder.status(), threads.length]).toEqual(['ok', 4]);
  });

  test('twice over the same text fails that text alone', async () => {
    embedder = await startModel({ workers: 1 });
    process.once('worker', die);
    const deadly = embedder.embedPassage(filler(2_000), {});
    const next = embedder.embedPassage('Crate number 4', {});
    die(threads[0]!);
    await expect(deadly).rejects.toBeInstanceOf(EmbedderUnavailable);
    await expect(next).resolves.toBeDefined();
  });
});

describe('an embedder that cannot work', () => {
  test('says at the start that the model cannot be loaded', async () => {
    await expect(startModel({ modelPath: '/nowhere/model.onnx' })).rejects.toBeInstanceOf(EmbedderUnavailable);
  });

  test('is down once closed, and what waited is rejected', async () => {
    const embedder = await startModel({ workers: 1 });
    const waiting = Promise.allSettled([filler(3_000), 'two', 'three'].map((text) => embedder.embedPassage(text, {})));
    await embedder.close();
    expect((await waiting).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(embedder.status()).toBe('down');
    await expect(embedder.embedQuery('four', {})).rejects.toBeInstanceOf(EmbedderUnavailable);
  });

  test.each([
    ['another length', [1, 0]],
    ['a number that is not finite', [1, NaN, 0]],
    ['only zeros', [0, 0, 0]],
  ])('is told by a vector of %s', (_, values) => {
    expect(() => unitVector(values, 3)).toThrow(EmbedderUnavailable);
  });
});

describe('the cache', () => {
  /** Answers when told to, and counts what it is asked. */
  function scripted() {
    const asked: { text: string; signal: AbortSignal; answer(vector: Float32Array): void; fail(error: Error): void }[] = [];
    const ask = <Vector>(text: string, signal: AbortSignal | undefined, wrap: (vector: Float32Array) => Vector) =>
      new Promise<Vector>((resolve, reject) => asked.push({ text, signal: signal!, answer: (vector) => resolve(wrap(vector)), fail: reject }));
    const embedder: Embedder = {
      model: 'scripted',
      dimensions: 2,
      embedQuery: (text, { signal }) => ask(text, signal, (vector) => vector),
      embedPassage: (text, { signal }) => ask<PassageVector>(text, signal, (vector) => ({ vector, cut: false })),
      status: () => 'ok',
      close: async () => {},
    };
    return { asked, cached: withCache(embedder, { entries: 2 }) };
  }
  const vector = Float32Array.of(1, 0);

  test('asks once for equal texts, at the same time and later; a query and a passage are not equal', async () => {
    const { asked, cached } = scripted();
    const both = [cached.embedQuery('tea', {}), cached.embedQuery('tea', {})];
    const stored = cached.embedPassage('tea', {});
    asked[0]!.answer(vector);
    asked[1]!.answer(vector);
    expect(await Promise.all(both)).toEqual([vector, vector]);
    expect(await stored).toEqual({ vector, cut: false });
    expect(await cached.embedQuery('tea', {})).toBe(vector);
    expect(asked).toHaveLength(2);
  });

  test('forgets the text that was used longest ago', async () => {
    const { asked, cached } = scripted();
    for (const text of ['a', 'b', 'c']) {
      const answer = cached.embedQuery(text, {});
      asked.at(-1)!.answer(vector);
      await answer;
    }
    await cached.embedQuery('c', {});
    void cached.embedQuery('a', {});
    expect(asked.map(({ text }) => text)).toEqual(['a', 'b', 'c', 'a']);
  });

  test('tells lone surrogates apart', () => {
    const { asked, cached } = scripted();
    void cached.embedQuery('\ud800', {});
    void cached.embedQuery('\ud801', {});
    expect(asked).toHaveLength(2);
  });

  test('keeps a text under way until the last caller has left', async () => {
    const { asked, cached } = scripted();
    const [first, second] = [new AbortController(), new AbortController()];
    const reason = new Error('gone');
    const one = cached.embedQuery('tea', { signal: first.signal });
    const two = cached.embedQuery('tea', { signal: second.signal });
    first.abort(reason);
    await expect(one).rejects.toBe(reason);
    expect(asked[0]!.signal.aborted).toBe(false);
    second.abort(reason);
    await expect(two).rejects.toBe(reason);
    expect(asked[0]!.signal.aborted).toBe(true);
    const late = cached.embedQuery('tea', {});
    asked[1]!.answer(vector);
    expect(await late).toBe(vector);
  });

  test('does not remember a failure', async () => {
    const { asked, cached } = scripted();
    const failed = cached.embedQuery('tea', {});
    asked[0]!.fail(new EmbedderUnavailable('down'));
    await expect(failed).rejects.toBeInstanceOf(EmbedderUnavailable);
    const again = cached.embedQuery('tea', {});
    asked[1]!.answer(vector);
    expect(await again).toBe(vector);
  });
});

describe('calibration', () => {
  const shipped = knownCalibrations['e5-small-v2-q']!;
  const half = (odd: 0 | 1) => probes.filter((_, index) => index % 2 === odd);
  let embedder: Embedder;
  beforeAll(async () => void (embedder = withCache(await startModel())));
  afterAll(() => embedder.close());

  test('rises strictly from 0 to 1', () => {
    const line = Array.from({ length: 2_001 }, (_, step) => calibrate(-1 + step / 1_000, shipped));
    expect([line[0], line.at(-1)]).toEqual([0, 1]);
    expect(line.every((relevance, step) => step === 0 || relevance > line[step - 1]!)).toBe(true);
    expect([calibrate(-1.000_001, shipped), calibrate(1.000_001, shipped)]).toEqual([0, 1]);
  });

  test('is what is measured on one half of the probes', async () => {
    const { knots } = await measureCalibration(embedder, half(0));
    for (const [at, [cosine, relevance]] of knots.entries()) {
      expect(Math.abs(cosine - shipped.knots[at]![0])).toBeLessThan(0.01);
      expect(relevance).toBe(shipped.knots[at]![1]);
    }
  });

  test('puts every band of the other half in its place', async () => {
    const bands = await measureBands(embedder, half(1));
    const read = (cosines: number[]) => cosines.map((cosine) => calibrate(cosine, shipped));
    const share = (cosines: number[], holds: (relevance: number) => boolean) => read(cosines).filter(holds).length / cosines.length;
    const median = (cosines: number[]) => quantile(read(cosines), 0.5);
    expect(median(bands.same)).toBeGreaterThan(0.95);
    expect(median(bands.paraphrase)).toBeGreaterThan(0.8);
    expect(median(bands.question)).toBeGreaterThan(0.7);
    expect(median(bands.topic)).toBeGreaterThan(0.35);
    expect(median(bands.topic)).toBeLessThan(0.65);
    expect(median(bands.unrelated)).toBeLessThan(0.2);
    expect(share(bands.same, (relevance) => relevance > 0.9)).toBeGreaterThanOrEqual(0.9);
    expect(share(bands.paraphrase, (relevance) => relevance >= 0.75)).toBeGreaterThanOrEqual(0.75);
    expect(share(bands.topic, (relevance) => relevance < 0.8)).toBeGreaterThanOrEqual(0.9);
    expect(share(bands.unrelated, (relevance) => relevance < 0.3)).toBeGreaterThanOrEqual(0.85);
  });

  test('is refused for a model that tells nothing apart', async () => {
    const constant: Embedder = {
      ...embedder,
      embedQuery: () => Promise.resolve(Float32Array.of(1, 0)),
      embedPassage: () => Promise.resolve({ vector: Float32Array.of(1, 0), cut: false }),
    };
    await expect(measureCalibration(constant, half(0))).rejects.toThrow('apart');
  });
});
