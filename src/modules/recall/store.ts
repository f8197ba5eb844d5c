import type { Deadline } from '../../deadline.ts';
import type { Database } from '../../graph/database.ts';
import { conditionsOf, lucenePrefixOf, type MemoryFilter } from '../memory/filter.ts';
import { isWhole, MEMORY_VALUES, type Memory, parseMemory } from '../memory/model.ts';
import { contentClause } from './lucene.ts';

/** A memory that may be a hit. */
export interface Candidate {
  readonly memory: Memory;
  readonly cosine: number | null;
  readonly bm25: number | null;
}

export interface Candidates {
  readonly candidates: readonly Candidate[];
  /** What BM25 could give a memory that has all of the query's words. */
  readonly possibleBm25: number;
}

export interface CandidateRequest {
  readonly filter: MemoryFilter;
  readonly vector: Float32Array | null;
  readonly words: readonly string[];
  /** How many candidates each source gives. */
  readonly perSource: number;
  readonly now: number;
}

/** How many the vector index gives for each candidate by meaning: its own scores are of vectors rounded to bytes, and the exact ones choose among them. */
const LOOKED_AT = 2;

/** How many memories are looked at one by one for a filter that an index can't check: tags for vectors, times for words. */
const FILTERED_CANDIDATES = 1_000;

/** The search in the graph. */
export function createRecallStore(database: Database) {
  return {
    /** Candidates by meaning and by words with everything needed to score them, in one statement. */
    async findCandidates(request: CandidateRequest, deadline: Deadline): Promise<Candidates> {
      const { filter, vector, words, perSource, now } = request;
      if (vector === null && words.length === 0) return { candidates: [], possibleBm25: 0 };
      const prefix = lucenePrefixOf(filter);
      const clauses = words.map(contentClause);
      const [row] = await database.read(
        candidateStatement(request),
        {
          ...conditionsOf(filter).parameters,
          now,
          vector,
          perSource,
          looked: LOOKED_AT * perSource,
          lucene: `${prefix} +(${clauses.join(' ')})`,
          tagged: prefix,
          filteredCandidates: FILTERED_CANDIDATES,
          single: clauses.map((clause) => `${prefix} +${clause}`),
        },
        deadline,
      );
      const candidates = (row?.['candidates'] ?? []) as [bm25: number | null, similarity: number | null, values: unknown][];
      return {
        candidates: candidates
          .filter(([, , values]) => isWhole(values))
          .map(([bm25, similarity, values]) => ({ memory: parseMemory(values), cosine: similarity === null ? null : 2 * similarity - 1, bm25 })),
        possibleBm25: possibleScore((row?.['best'] ?? []) as (number | null)[]),
      };
    },
  };
}

export type RecallStore = ReturnType<typeof createRecallStore>;

/** The sum of each word's own best; a word that nothing has counts as much as the rarest of the others. */
function possibleScore(best: readonly (number | null)[]): number {
  const highest = Math.max(0, ...best.map((score) => score ?? 0));
  return best.reduce<number>((sum, score) => sum + (score ?? highest), 0);
}

function candidateStatement({ filter, vector, words }: CandidateRequest): string {
  const { indexed, rest } = conditionsOf(filter);
  const conditions = [...indexed, ...rest].join(' AND ');
  const byMeaning = `
    MATCH (m:Memory)
      SEARCH m IN (VECTOR INDEX memory_embedding FOR $vector WHERE ${indexed.join(' AND ')} LIMIT $looked) SCORE AS approximate
    RETURN m, null AS bm25`;
  // Times are no words, so with a filter by time more are looked at and the best of those that fit are taken.
  const byTime = filter.createdAfter !== undefined || filter.createdBefore !== undefined;
  const byWords = `
    CALL db.index.fulltext.queryNodes('memory_text', $lucene, {limit: ${byTime ? '$filteredCandidates' : '$perSource'}}) YIELD node AS m, score AS bm25
    WITH m, bm25 WHERE ${conditions}
    RETURN m, bm25 ORDER BY bm25 DESC LIMIT $perSource`;
  const byTags = "CALL db.index.fulltext.queryNodes('memory_text', $tagged, {limit: $filteredCandidates}) YIELD node AS m RETURN m, null AS bm25";
  const sources = [...(vector ? [byMeaning] : []), ...(words.length ? [byWords] : []), ...(vector && filter.tags?.length ? [byTags] : [])];
  const similarity = vector ? 'vector.similarity.cosine(m.embedding, $vector)' : 'null';
  return `
    CALL () {
      UNWIND CASE WHEN $single = [] THEN [null] ELSE $single END AS word
      OPTIONAL CALL (word) {
        WITH word WHERE word IS NOT NULL
        CALL db.index.fulltext.queryNodes('memory_text', word, {limit: 1}) YIELD score
        RETURN score
      }
      RETURN collect(coalesce(score, -1)) AS best
    }
    CALL () {${sources.join('\n    UNION ALL\n    ')}
    }
    WITH best, m, max(bm25) AS bm25 WHERE ${conditions}
    WITH best, m, bm25, ${similarity} AS similarity ORDER BY bm25 IS NULL, similarity DESC LIMIT 2 * $perSource
    RETURN [score IN best | CASE WHEN score >= 0 THEN score END] AS best, collect([bm25, similarity, ${MEMORY_VALUES}]) AS candidates`;
}
