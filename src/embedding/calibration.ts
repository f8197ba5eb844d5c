import type { Embedder } from './embedder.ts';
import type { Probe } from './probes.ts';

/**
 * How a model's cosines read as relevance: points of a line that only rises, [cosine, relevance], from [-1, 0] to [1, 1]. Plain data, to be kept with
 * the index.
 */
export interface Calibration {
  model: string;
  knots: readonly (readonly [cosine: number, relevance: number])[];
}

/** Cosines of a query and a passage by how close their texts are. */
export interface Bands {
  same: number[];
  paraphrase: number[];
  question: number[];
  topic: number[];
  unrelated: number[];
}

/** Measured by `measureCalibration` on the probes with an even index; bench/calibration.ts shows how the others fall. */
export const knownCalibrations: Readonly<Record<string, Calibration>> = {
  'e5-small-v2-q': {
    model: 'e5-small-v2-q',
    knots: [
      [-1, 0],
      [0.64, 0.01],
      [0.721, 0.1],
      [0.766, 0.3],
      [0.789, 0.5],
      [0.839, 0.8],
      [0.902, 0.97],
      [1, 1],
    ],
  },
};

/**
 * The relevance, 0 to 1, of a cosine between a query and a passage: the same text about 1, a paraphrase 0.8 and more, the same topic around 0.5,
 * unrelated below 0.3. A higher cosine always gives a higher relevance. Rounding beyond -1 or 1 is forgiven.
 */
export function calibrate(cosine: number, { knots }: Calibration): number {
  const above = knots.findIndex(([at]) => at >= cosine);
  const low = knots[above - 1];
  const high = knots[above];
  if (!high) return 1;
  if (!low) return 0;
  return low[1] + ((high[1] - low[1]) * (cosine - low[0])) / (high[0] - low[0]);
}

/** The cosine that reads as this relevance, 0 to 1: the inverse of `calibrate`. */
export function cosineOf(relevance: number, { knots }: Calibration): number {
  const above = Math.max(
    1,
    knots.findIndex(([, value]) => value >= relevance),
  );
  const [low, high] = [knots[above - 1]!, knots[above]!];
  return low[0] + ((high[0] - low[0]) * (relevance - low[1])) / (high[1] - low[1]);
}

/** Embeds every probe's texts as queries and its text as a passage. Unrelated are the pairs of different probes. */
export async function measureBands(embedder: Embedder, probes: readonly Probe[]): Promise<Bands> {
  const passages = await Promise.all(probes.map(async ({ text }) => (await embedder.embedPassage(text, {})).vector));
  const queriesFor = (field: keyof Probe) => Promise.all(probes.map((probe) => embedder.embedQuery(probe[field], {})));
  const unrelated: number[] = [];
  const band = async (field: keyof Probe) => {
    const queries = await queriesFor(field);
    return queries.map((query, own) => {
      const cosines = passages.map((passage) => dot(query, passage));
      unrelated.push(...cosines.filter((_, other) => other !== own));
      return cosines[own]!;
    });
  };
  const same = await band('text');
  const paraphrase = await band('paraphrase');
  const question = await band('question');
  const topic = await band('topic');
  return { same, paraphrase, question, topic, unrelated };
}

/**
 * Places a model's bands on the scale of relevance.
 * @throws Error when the model doesn't tell the bands apart
 */
export async function measureCalibration(embedder: Embedder, probes: readonly Probe[]): Promise<Calibration> {
  const { same, paraphrase, topic, unrelated } = await measureBands(embedder, probes);
  const knots = [
    [-1, 0],
    [quantile(unrelated, 0.01), 0.01],
    [quantile(unrelated, 0.5), 0.1],
    [quantile(unrelated, 0.9), 0.3],
    [quantile(topic, 0.5), 0.5],
    [quantile(paraphrase, 0.25), 0.8],
    // A model that makes no difference between query and passage gives 1 for the same text, and the last step still has to rise.
    [Math.min(quantile(same, 0.1), 0.99), 0.97],
    [1, 1],
  ] as const;
  const rises = knots.every(([cosine], index) => index === 0 || cosine > knots[index - 1]![0]);
  if (!rises) throw new Error(`${embedder.model} doesn't tell paraphrases, topics and unrelated texts apart: ${JSON.stringify(knots)}`);
  return { model: embedder.model, knots };
}

/** The value below which `share` (0 to 1) of the values lie. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, at) => sum + value * b[at]!, 0);
}
