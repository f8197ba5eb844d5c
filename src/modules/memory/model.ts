import type { Row } from '../../graph/database.ts';

/** The year 9999: "never" as a number, so that expiry can be filtered inside the vector index. */
export const NEVER = Date.UTC(9999, 0, 1);

/** A memory as it is read. Times are milliseconds since 1970. */
export interface Memory {
  readonly id: string;
  readonly userId: string | null;
  readonly tier: number;
  readonly type: string;
  readonly content: string;
  readonly tags: readonly string[];
  readonly metadata: Record<string, unknown>;
  readonly sessionId: string | null;
  readonly sourceIds: readonly string[];
  readonly occurredAt: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt: number | null;
  readonly archived: boolean;
  readonly version: number;
  /** 0–1: how particular the text is; see salience.ts. */
  readonly specificity: number;
  /** How often it was among a search's hits. */
  readonly recalls: number;
  /** The text was longer than what is embedded. */
  readonly embeddingCut: boolean;
}

/** What `parseMemory` reads of a node, in its order. */
type MemoryValues = [
  id: string,
  userId: string | null,
  tier: number,
  type: string,
  content: string,
  tags: string[],
  metadata: string,
  sessionId: string | null,
  sourceIds: string[],
  occurredAt: number,
  createdAt: number,
  updatedAt: number,
  expiresAt: number,
  archived: boolean,
  version: number,
  specificity: number,
  recalls: number,
  embeddingCut: boolean,
];

/** The values of `m` as a Cypher list: a map would carry the names along with every row, which takes longer to read than the values. */
export const MEMORY_VALUES = `[m.id, m.userId, m.tier, m.type, m.content, m.tags, m.metadata, m.sessionId, m.sourceIds, m.occurredAt,
  m.createdAt, m.updatedAt, m.expiresAt, m.archived, m.version, m.specificity, m.recalls, m.embeddingCut]`;

/** userId and sessionId. */
const OPTIONAL_POSITIONS = [1, 7];

/** Whether the values are of a memory that was there to the end: one that is erased while a statement reads it comes as nulls. */
export function isWhole(values: unknown): boolean {
  return (values as MemoryValues).every((value, position) => value !== null || OPTIONAL_POSITIONS.includes(position));
}

/** Reads one list of MEMORY_VALUES. */
export function parseMemory(values: unknown): Memory {
  const [id, userId, tier, type, content, tags, metadata, sessionId, sourceIds, ...others] = values as MemoryValues;
  const [occurredAt, createdAt, updatedAt, expiresAt, archived, version, specificity, recalls, embeddingCut] = others;
  return {
    id,
    userId,
    tier,
    type,
    content,
    tags,
    metadata: JSON.parse(metadata) as Record<string, unknown>,
    sessionId,
    sourceIds,
    occurredAt,
    createdAt,
    updatedAt,
    expiresAt: expiresAt === NEVER ? null : expiresAt,
    archived,
    version,
    specificity,
    recalls,
    embeddingCut,
  };
}

/** What a memory was before a change. */
export type MemoryVersion = Pick<Memory, 'version' | 'content' | 'tier' | 'type' | 'tags' | 'metadata' | 'expiresAt' | 'archived' | 'updatedAt'> & {
  /** The expiry was the one that tier 1 gives. */
  readonly expiryDefaulted: boolean;
};

/** The properties of the node that keeps what a memory says now. */
export function versionProperties(memory: Memory, expiryDefaulted: boolean): Row {
  const { content, tier, type, tags, metadata, expiresAt, archived, version, updatedAt } = memory;
  return { content, tier, type, tags, metadata: JSON.stringify(metadata), expiresAt, expiryDefaulted, archived, version, updatedAt };
}

/** Whether the properties are of a version that was there to the end of the statement. */
export function isKept(value: unknown): boolean {
  return (value as Row | null)?.['version'] != null;
}

/** Reads the properties of such a node. */
export function parseVersion(value: unknown): MemoryVersion {
  const row = value as Row;
  return {
    version: row['version'] as number,
    content: row['content'] as string,
    tier: row['tier'] as number,
    type: row['type'] as string,
    tags: row['tags'] as string[],
    metadata: JSON.parse(row['metadata'] as string) as Record<string, unknown>,
    expiresAt: (row['expiresAt'] as number | undefined) ?? null,
    expiryDefaulted: row['expiryDefaulted'] as boolean,
    archived: row['archived'] as boolean,
    updatedAt: row['updatedAt'] as number,
  };
}
