import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Embedder } from '../src/embedding/embedder.ts';
import { unitVector } from '../src/embedding/embedder.ts';
import { DEFAULTS } from './graph.ts';
import { inParallel } from './load.ts';
import { distinct, randomFrom, textOf, TOPICS } from './texts.ts';

export interface Embedded {
  readonly text: string;
  readonly vector: Float32Array;
}

export const CORPUS_NOTE = `the first ${TOPICS.toLocaleString('en')} texts are embedded by the model, the others are mixtures of three of those vectors, as spread as they are`;

/**
 * Different texts with vectors. The model would need a quarter of an hour for 100,000, so it embeds one text a topic, which
 * is kept for the next run.
 */
export async function prepareCorpus(size: number, embedder: Embedder, report: (line: string) => void): Promise<Embedded[]> {
  const real = await embedTopics(embedder, report);
  const mean = sumOf(real).map((value) => value / real.length);
  const texts = distinct(textOf);
  return Array.from({ length: size }, () => {
    const { number, text } = texts.next().value;
    return { text, vector: number < TOPICS ? real[number]! : mixtureOf(number, real, mean) };
  });
}

/**
 * The mean, and the distances from it of the text's topic and of two others, so long that the mixture is as far from the mean as
 * they are: model vectors fill a narrow cone, and what is not in it would be too easy to tell apart.
 */
function mixtureOf(number: number, real: readonly Float32Array[], mean: Float32Array): Float32Array {
  const random = randomFrom(number);
  const other = () => real[Math.floor(random() * TOPICS)]!;
  const mixed = sumOf([real[number % TOPICS]!, other(), other()]);
  return unitVector(
    mean.map((value, at) => value + (mixed[at]! - 3 * value) / Math.sqrt(3)),
    mean.length,
  );
}

async function embedTopics(embedder: Embedder, report: (line: string) => void): Promise<Float32Array[]> {
  const texts = Array.from({ length: TOPICS }, (_, number) => textOf(number));
  const name = createHash('sha256')
    .update(JSON.stringify([embedder.model, texts]))
    .digest('hex')
    .slice(0, 16);
  const folder = join(DEFAULTS.dataDir, 'bench');
  const file = join(folder, `vectors-${name}`);
  if (!existsSync(file)) {
    report(`Embedding ${TOPICS} texts, once …`);
    const vectors = new Float32Array(TOPICS * embedder.dimensions);
    await inParallel(16, texts.entries(), async ([number, text]) =>
      vectors.set((await embedder.embedPassage(text, {})).vector, number * embedder.dimensions),
    );
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${file}.new`, vectors);
    renameSync(`${file}.new`, file);
  }
  const vectors = new Float32Array(new Uint8Array(readFileSync(file)).buffer);
  // Copies, as the driver sends the whole buffer that a vector is a part of.
  return texts.map((_, number) => vectors.slice(number * embedder.dimensions, (number + 1) * embedder.dimensions));
}

function sumOf(vectors: readonly Float32Array[]): Float32Array {
  const sum = new Float32Array(vectors[0]!.length);
  for (const vector of vectors) for (let at = 0; at < sum.length; at++) sum[at]! += vector[at]!;
  return sum;
}
