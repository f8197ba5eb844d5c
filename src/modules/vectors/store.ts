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
const INDEX_MILLISECONDS = 3_600_000;

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

    /** Makes the index, unless there is one. Filters run inside it, so each property that a filter names is declared here. */
    async createIndex(dimensions: number): Promise<void> {
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

    /** Settles when the index holds every vector. */
    async awaitIndex(): Promise<void> {
      await database.define(`CALL db.awaitIndex('${INDEX}', ${INDEX_MILLISECONDS / 1_000})`, deadlineIn(INDEX_MILLISECONDS + 10_000));
    },

    /** The share of the index that is built, 0–100. */
    async indexedPercent(deadline: Deadline): Promise<number> {
      const [row] = await database.read(
        `SHOW VECTOR INDEXES YIELD name, populationPercent WHERE name = '${INDEX}' RETURN populationPercent`,
        {},
        deadline,
      );
      return (row?.['populationPercent'] as number | undefined) ?? 0;
    },

    /**
     * Takes up to `limit` memories that wait to be embedded. They are the caller's for a minute, and twice as long each time
     * that they are taken again, up to an hour: so several processes share the work, none is lost, and a text that no provider accepts does not hold up the others.
     */
    async takeUnembedded(limit: number, deadline: Deadline): Promise<Unembedded[]> {
      const rows = await database.write(
        `MATCH (m:Unembedded) WHERE m.embedAfter <= timestamp()
         WITH m LIMIT $limit
         SET m.lock = true REMOVE m.lock
         WITH m WHERE m.embedAfter <= timestamp()
         WITH m, coalesce(m.embedTries, 0) AS tries
         SET m.embedTries = tries + 1, m.embedAfter = timestamp() + 60000 * 2 ^ CASE WHEN tries < 6 THEN tries ELSE 6 END
         RETURN m.accountId AS accountId, m.id AS id, m.content AS content`,
        { limit },
        deadline,
      );
      return rows.map(parseUnembedded);
    },

    /** Gives memories back that were taken in vain: anybody may take them at once. */
    async giveBack(memories: readonly Unembedded[], deadline: Deadline): Promise<void> {
      await database.write(
        `UNWIND $memories AS row
         MATCH (m:Unembedded {accountId: row.accountId, id: row.id})
         SET m.embedAfter = 0, m.embedTries = 0`,
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

    /** How many memories there are of all accounts. */
    async countMemories(deadline: Deadline): Promise<number> {
      const [row] = await database.read('MATCH (m:Memory) RETURN count(m) AS count', {}, deadline);
      return row!['count'] as number;
    },

    /** How many of them have a vector of this model. */
    async countEmbedded(model: string, deadline: Deadline): Promise<number> {
      const [row] = await database.read('MATCH (m:Memory) WHERE m.embeddingModel = $model RETURN count(m) AS count', { model }, deadline);
      return row!['count'] as number;
    },

    /** The next memories after a place, in the order of account and id, that have no vector of this model. */
    async findOfOtherModels(
      { model, after, limit }: { model: string; after: Place | null; limit: number },
      deadline: Deadline,
    ): Promise<Unembedded[]> {
      const rows = await database.read(
        `MATCH (m:Memory) USING INDEX m:Memory(accountId, id)
         WHERE m.accountId >= $accountId AND m.id IS NOT NULL AND (m.accountId > $accountId OR m.id > $id)
           AND (m.embeddingModel IS NULL OR m.embeddingModel <> $model)
         WITH m ORDER BY m.accountId, m.id LIMIT $limit
         RETURN m.accountId AS accountId, m.id AS id, m.content AS content`,
        { model, accountId: after?.accountId ?? '', id: after?.id ?? '', limit },
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
