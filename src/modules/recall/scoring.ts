import { calibrate, type Calibration, cosineOf } from '../../embedding/calibration.ts';

/** Every weight of recall, in one place. Tuned by `npm run bench:recall` on its development conversations. */
export const WEIGHTS = {
  /** What all of the query's words together are worth, in units of the model's spread: from cosine to cosine between relevance 0.3 and 0.8. */
  lexical: 1.4,
} as const;

/** The relevance of a memory that is not embedded yet and has all of the query's words. */
const LEXICAL_ALONE = 0.8;

export const TIER_WEIGHT = [1.5, 1.2, 1.0, 1.1] as const;

/** What is known of a candidate before it is scored. */
export interface Evidence {
  readonly tier: number;
  /** Cosine between the query's and the memory's embedding, −1 to 1; null when the memory has none. */
  readonly cosine: number | null;
  /** Its BM25 score; null when none of the query's words is in it. */
  readonly bm25: number | null;
}

export interface Explanation {
  readonly relevance: number;
  readonly semantic: number | null;
  readonly cosine: number | null;
  readonly lexical: number;
  readonly tierWeight: number;
}

/** Scores one candidate, 0–1; `possibleBm25` is what a memory with all of the query's words could get. */
export function scoreOf(evidence: Evidence, possibleBm25: number, calibration: Calibration): { score: number; explanation: Explanation } {
  const semantic = evidence.cosine === null ? null : calibrate(evidence.cosine, calibration);
  const lexical = possibleBm25 > 0 ? Math.min(1, (evidence.bm25 ?? 0) / possibleBm25) : 0;
  const relevance = evidence.cosine === null ? LEXICAL_ALONE * lexical : calibrate(evidence.cosine + lexicalBonus(lexical, calibration), calibration);
  const tierWeight = TIER_WEIGHT[evidence.tier] ?? 1;
  const score = relevance + 0.5 * (tierWeight - 1) * relevance * (1 - relevance);
  return {
    score: round(score),
    explanation: { relevance: round(relevance), semantic, cosine: evidence.cosine, lexical: round(lexical), tierWeight },
  };
}

/**
 * Words bring a memory nearer, on the scale of the cosine: so a paraphrase without a shared word keeps its relevance, and
 * the order is that of a weighted sum.
 */
function lexicalBonus(lexical: number, calibration: Calibration): number {
  return WEIGHTS.lexical * lexical * (cosineOf(0.8, calibration) - cosineOf(0.3, calibration));
}

function round(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
