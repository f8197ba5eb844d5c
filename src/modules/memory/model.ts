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

/** A Cypher map projection of `m` with what `parseMemory` reads. */
export const MEMORY_FIELDS = `m { .id, .userId, .tier, .type, .content, .tags, .metadata, .sessionId, .sourceIds, .occurredAt,
  .createdAt, .updatedAt, .expiresAt, .archived, .version, .specificity, .recalls, .embeddingCut }`;

/** Whether a projection is of a memory that was there to the end: one that is erased while a statement reads it comes as nulls. */
export function isWhole(value: unknown): boolean {
  return Object.entries(value as Row).every(([name, property]) => property !== null || OPTIONAL.has(name));
}

const OPTIONAL = new Set(['userId', 'sessionId']);

/** Reads one projection of MEMORY_FIELDS. */
export function parseMemory(value: unknown): Memory {
  const row = value as Row;
  const expiresAt = row['expiresAt'] as number;
  return {
    id: row['id'] as string,
    userId: (row['userId'] as string | null) ?? null,
    tier: row['tier'] as number,
    type: row['type'] as string,
    content: row['content'] as string,
    tags: row['tags'] as string[],
    metadata: JSON.parse(row['metadata'] as string) as Record<string, unknown>,
    sessionId: (row['sessionId'] as string | null) ?? null,
    sourceIds: row['sourceIds'] as string[],
    occurredAt: row['occurredAt'] as number,
    createdAt: row['createdAt'] as number,
    updatedAt: row['updatedAt'] as number,
    expiresAt: expiresAt === NEVER ? null : expiresAt,
    archived: row['archived'] as boolean,
    version: row['version'] as number,
    specificity: row['specificity'] as number,
    recalls: row['recalls'] as number,
    embeddingCut: row['embeddingCut'] as boolean,
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
