import type { Calibration } from '../../embedding/calibration.ts';
import { type Deadline, deadlineIn } from '../../deadline.ts';
import type { Database, Row } from '../../graph/database.ts';

/** The model whose vectors the index holds, and how its cosines read. */
export interface VectorIndex {
  readonly model: string;
  readonly dimensions: number;
  readonly calibration: Calibration;
}

/** The index's own record; `next` while the memories are being embedded anew for another model. */
export interface VectorIndexRecord {
  readonly current: VectorIndex;
  readonly next: VectorIndex | null;
}

/** A memory whose text has to be embedded. */
export interface Unembedded {
  readonly accountId: string;
  readonly id: string;
  readonly content: string;
}

/** A text's vector, for the memory as long as it still says that text. */
export interface Embedded extends Unembedded {
  readonly vector: Float32Array;
  readonly cut: boolean;
}

/** The place in the walk through all memories. */
export interface Place {
  readonly accountId: string;
  readonly id: string;
}

const INDEX = 'memory_embedding';

/** The vector index and what is known of it, of all accounts together: every statement of this module. */
export function createVectorStore(database: Database) {
  return {
    /** Null in a database that has none yet. */
    async readRecord(deadline: Deadline): Promise<VectorIndexRecord | null> {
      const [row] = await database.read(
        "MATCH (v:VectorIndex {id: 'memory'}) RETURN v.model AS model, v.dimensions AS dimensions, v.knots AS knots, v.nextModel AS nextModel, v.nextDimensions AS nextDimensions, v.nextKnots AS nextKnots",
        {},
        deadline,
      );
      if (!row) return null;
      const index = (model: unknown, dimensions: unknown, knots: unknown): VectorIndex => ({
        model: model as string,
        dimensions: dimensions as number,
        calibration: { model: model as string, knots: JSON.parse(knots as string) as Calibration['knots'] },
      });
      return {
        current: index(row['model'], row['dimensions'], row['knots']),
        next: row['nextModel'] === null ? null : index(row['nextModel'], row['nextDimensions'], row['nextKnots']),
      };
    },

    /** Makes the record, unless there is one. */
    async createRecord(index: VectorIndex, deadline: Deadline): Promise<void> {
      await database.write("MERGE (v:VectorIndex {id: 'memory'}) ON CREATE SET v += $index", { index: properties(index) }, deadline);
    },

    /** Notes that the memories are being embedded for another model. */
    async noteNext({ model, dimensions, calibration }: VectorIndex, deadline: Deadline): Promise<void> {
      await database.write(
        "MATCH (v:VectorIndex {id: 'memory'}) SET v.nextModel = $model, v.nextDimensions = $dimensions, v.nextKnots = $knots",
        { model, dimensions, knots: JSON.stringify(calibration.knots) },
        deadline,
      );
    },

    /** Makes the next model the current one. */
    async adoptNext(deadline: Deadline): Promise<void> {
      await database.write(
        `MATCH (v:VectorIndex {id: 'memory'}) WHERE v.nextModel IS NOT NULL
         SET v.model = v.nextModel, v.dimensions = v.nextDimensions, v.knots = v.nextKnots
         REMOVE v.nextModel, v.nextDimensions, v.nextKnots`,
        {},
        deadline,
      );
    },

    /** Makes the index, unless there is one for such vectors. Filters run inside it, so each property that a filter names is declared here. */
    async createIndex(dimensions: number): Promise<void> {
      const [made] = await database.read(
        `SHOW VECTOR INDEXES YIELD name, options WHERE name = '${INDEX}' RETURN options.indexConfig['vector.dimensions'] AS dimensions`,
        {},
        deadlineIn(30_000),
      );
      if (made && made['dimensions'] !== dimensions) await this.dropIndex();
      await database.define(
        `CREATE VECTOR INDEX ${INDEX} IF NOT EXISTS FOR (m:Memory) ON m.embedding
         WITH [m.accountId, m.scope, m.tier, m.type, m.createdAt, m.sessionId, m.expiresAt, m.archived]
         OPTIONS { indexConfig: { \`vector.dimensions\`: ${dimensions}, \`vector.similarity_function\`: 'cosine', \`vector.quantization.type\`: 'SCALAR' } }`,
        deadlineIn(30_000),
      );
    },

    async dropIndex(): Promise<void> {
      await database.define(`DROP INDEX ${INDEX} IF EXISTS`, deadlineIn(30_000));
    },

    /** How far the index is built. Throws an Error when that failed. */
    async indexProgress(deadline: Deadline): Promise<{ ready: boolean; percent: number }> {
      const [row] = await database.read(
        `SHOW VECTOR INDEXES YIELD name, state, populationPercent WHERE name = '${INDEX}' RETURN state, populationPercent AS percent`,
        {},
        deadline,
      );
      if (row?.['state'] === 'FAILED') throw new Error('Neo4j could not build the vector index; its log says why');
      return { ready: row?.['state'] === 'ONLINE', percent: (row?.['percent'] as number | undefined) ?? 0 };
    },

    /**
     * Takes up to `limit` memories that wait to be embedded. They are the caller's for five minutes: so several processes share
     * the work, and what was taken by one that died is taken again.
     */
    async takeUnembedded(limit: number, deadline: Deadline): Promise<Unembedded[]> {
      const rows = await database.write(
        `MATCH (m:Unembedded) WHERE m.embedAfter <= timestamp()
         WITH m LIMIT $limit
         SET m.lock = true REMOVE m.lock
         WITH m WHERE m.embedAfter <= timestamp()
         SET m.embedTries = coalesce(m.embedTries, 0) + 1, m.embedAfter = timestamp() + 300000
         RETURN m.accountId AS accountId, m.id AS id, m.content AS content`,
        { limit },
        deadline,
      );
      return rows.map(parseUnembedded);
    },

    /** Gives memories back that were taken in vain: for two seconds, and twice as long each time, up to an hour, they don't hold up others. */
    async giveBack(memories: readonly Unembedded[], deadline: Deadline): Promise<void> {
      await database.write(
        `UNWIND $memories AS row
         MATCH (m:Memory {accountId: row.accountId, id: row.id}) WHERE m:Unembedded
         SET m.embedAfter = timestamp() + 1000 * 2 ^ CASE WHEN m.embedTries < 12 THEN m.embedTries ELSE 12 END`,
        { memories: sorted(memories.map(({ accountId, id }) => ({ accountId, id }))) },
        deadline,
      );
    },

    /** Gives the memories their vectors, but for those that say something else by now. */
    async saveVectors(rows: readonly Embedded[], model: string, deadline: Deadline): Promise<void> {
      await database.write(
        `UNWIND $rows AS row
         MATCH (m:Memory {accountId: row.accountId, id: row.id})
         SET m.lock = true REMOVE m.lock
         WITH m, row WHERE m.content = row.content
         SET m.embeddingModel = $model, m.embeddingCut = row.cut
         REMOVE m:Unembedded, m.embedAfter, m.embedTries
         WITH m, row
         CALL db.create.setNodeVectorProperty(m, 'embedding', row.vector)`,
        { rows: sorted(rows), model },
        deadline,
      );
    },

    /** How many memories wait to be embedded. */
    async countUnembedded(deadline: Deadline): Promise<number> {
      const [row] = await database.read('MATCH (m:Unembedded) RETURN count(m) AS count', {}, deadline);
      return row!['count'] as number;
    },

    /** How many memories there are of all accounts. */
    async countMemories(deadline: Deadline): Promise<number> {
      const [row] = await database.read('MATCH (m:Memory) RETURN count(m) AS count', {}, deadline);
      return row!['count'] as number;
    },

    /** How many of them have a vector of this model and length. */
    async countEmbedded({ model, dimensions }: Pick<VectorIndex, 'model' | 'dimensions'>, deadline: Deadline): Promise<number> {
      const [row] = await database.read(
        'MATCH (m:Memory) WHERE m.embeddingModel = $model AND size(m.embedding) = $dimensions RETURN count(m) AS count',
        { model, dimensions },
        deadline,
      );
      return row!['count'] as number;
    },

    /** The next memories after a place, in the order of account and id, that have no vector of this model and length. */
    async findOfOtherModels(
      { model, dimensions, after, limit }: Pick<VectorIndex, 'model' | 'dimensions'> & { after: Place | null; limit: number },
      deadline: Deadline,
    ): Promise<Unembedded[]> {
      const rows = await database.read(
        `MATCH (m:Memory) USING INDEX m:Memory(accountId, id)
         WHERE m.accountId >= $accountId AND m.id IS NOT NULL AND (m.accountId > $accountId OR m.id > $id)
           AND (m.embedding IS NULL OR m.embeddingModel <> $model OR size(m.embedding) <> $dimensions)
         WITH m ORDER BY m.accountId, m.id LIMIT $limit
         RETURN m.accountId AS accountId, m.id AS id, m.content AS content`,
        { model, dimensions, accountId: after?.accountId ?? '', id: after?.id ?? '', limit },
        deadline,
      );
      return rows.map(parseUnembedded);
    },
  };
}

export type VectorStore = ReturnType<typeof createVectorStore>;

function properties({ model, dimensions, calibration }: VectorIndex): Row {
  return { model, dimensions, knots: JSON.stringify(calibration.knots) };
}

function parseUnembedded(row: Row): Unembedded {
  return { accountId: row['accountId'] as string, id: row['id'] as string, content: row['content'] as string };
}

/** Locks are taken in one order, or two transactions may wait for each other. */
function sorted<Row extends Place>(rows: readonly Row[]): Row[] {
  return rows.toSorted((a, b) => (a.accountId < b.accountId || (a.accountId === b.accountId && a.id < b.id) ? -1 : 1));
}
