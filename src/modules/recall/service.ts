import { z } from 'zod';
import type { Caller } from '../../context.ts';
import type { Calibration } from '../../embedding/calibration.ts';
import type { GuardedEmbedder } from '../../embedding/guarded.ts';
import { pageSize, parseOrThrow, withoutNulls } from '../../validation.ts';
import { authorise } from '../access/scopes.ts';
import { rules } from '../memory/input.ts';
import type { Memory } from '../memory/model.ts';
import { salienceOf } from '../memory/salience.ts';
import type { MemoryService } from '../memory/service.ts';
import { wordsOf } from './lucene.ts';
import type { RecallCounter } from './recall-counter.ts';
import { type Explanation, scoreOf } from './scoring.ts';
import type { RecallStore } from './store.ts';

export interface RecallDependencies {
  readonly store: RecallStore;
  readonly embedder: GuardedEmbedder;
  readonly calibration: Calibration;
  readonly counter: RecallCounter;
  readonly now: () => number;
}

export interface Hit {
  readonly memory: Memory;
  readonly score: number;
  readonly salience: number;
  readonly explanation: Explanation & { readonly textCut: boolean };
}

export type Hits = readonly Hit[];

/** Exact scores come from more candidates than hits, because the index's own are approximate. */
export const CANDIDATES_PER_SOURCE = 50;

const SearchInput = z.object({ query: rules.query, first: pageSize(100, 10), minScore: rules.minScore.optional() });

/** Search for one caller. */
export function createRecallService({ store, embedder, calibration, counter, now }: RecallDependencies, caller: Caller, memories: MemoryService) {
  const { principal, deadline, tally } = caller;
  return {
    async search(request: { query: string; filter: object | null | undefined; first: number; minScore: number | null | undefined }): Promise<Hit[]> {
      authorise(principal, 'searchMemories');
      const { query, first, minScore = 0 } = parseOrThrow(SearchInput, withoutNulls(request));
      const filter = memories.filter(request.filter);
      const askedAt = now();
      const perSource = Math.max(CANDIDATES_PER_SOURCE, 2 * first);
      const { candidates, possibleBm25 } = await tally.one(deadline)(async () => {
        const vector = await embedder.embedQuery(query, { signal: deadline.signal });
        return store.findCandidates({ filter, vector, words: wordsOf(query), perSource, now: askedAt }, deadline);
      });
      const hits = candidates
        .map(({ memory, cosine, bm25 }): Hit => {
          const { score, explanation } = scoreOf({ tier: memory.tier, cosine, bm25 }, possibleBm25, calibration);
          return { memory, score, salience: salienceOf(memory, askedAt), explanation: { ...explanation, textCut: memory.embeddingCut } };
        })
        .filter(({ score }) => score >= minScore)
        .sort(byRank)
        .slice(0, first);
      for (const { memory } of hits) counter.count(principal.account.id, memory.id);
      return hits;
    },
  };
}

export type RecallService = ReturnType<typeof createRecallService>;

/** Score, then salience, then newer, then id. */
function byRank(a: Hit, b: Hit): number {
  return b.score - a.score || b.salience - a.salience || b.memory.createdAt - a.memory.createdAt || (a.memory.id < b.memory.id ? -1 : 1);
}
