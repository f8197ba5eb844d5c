import { deadlineIn } from '../../src/deadline.ts';
import type { Database } from '../../src/graph/database.ts';
import { DIMENSIONS, directionOf } from '../testkit/embedding-server.ts';
import { type Entry, isPossible, type Ledger, disagreements } from '../testkit/ledger.ts';
import type { Victim } from './victims.ts';

interface Found {
  readonly id: string;
  readonly content: string;
  readonly version: number;
  readonly versions: number;
  readonly waits: boolean;
  readonly embedding: number[] | null;
  /** Whose vector is nearest to this memory's own. */
  readonly nearest: string | null;
}

/** Cosine from which on a stored vector is taken for that of the text. */
const SAME = 0.999;
/** How many memories of a ledger are asked for over REST. */
const SAMPLE = 20;

/** What is wrong with the memories of a ledger, a line each. */
export async function checkMemories({ database, client }: Victim, userId: string, ledger: Ledger): Promise<string[]> {
  const memories = (await ask(database, MEMORIES, { userId })) as unknown as Found[];
  const problems = disagreements(ledger, memories);
  for (const memory of memories) {
    const { id, content, version, versions, waits, embedding, nearest } = memory;
    const name = `${content} (${id})`;
    if (versions !== version - 1) problems.push(`${name} has version ${version} and keeps ${versions} before it`);
    if (embedding === null && !waits) problems.push(`${name} has no vector and does not wait for one`);
    if (embedding !== null && cosine(embedding, directionOf(content, DIMENSIONS)) < SAME) problems.push(`${name} has the vector of another text`);
    if (embedding !== null && nearest !== id) problems.push(`${name} is not in the vector index, which gives ${nearest}`);
  }
  const byWord = new Map(memories.map(({ id, content }) => [content.split(' ', 1)[0], id]));
  for (const { marker, ids } of await ask(database, BY_WORD, { markers: [...ledger.entries.keys()] })) {
    const expected = byWord.has(marker as string) ? [byWord.get(marker as string)] : [];
    if (String(ids) !== String(expected))
      problems.push(`the full-text index has [${String(ids)}] for ${String(marker)}, and not [${String(expected)}]`);
  }
  const known = [...ledger.entries.values()].filter(({ id }) => id !== null);
  for (const entry of known.slice(-SAMPLE)) {
    const reply = await client.get(`/memory/${entry.id}`);
    const content = reply.status === 404 ? null : (reply.body.content ?? reply.story);
    if (!isPossible(entry, content)) problems.push(`${entry.marker}: ${reply.story}`);
  }
  return problems;
}

/** What is wrong with the whole, when nobody else has used the service: what belongs to no memory, and what was counted. */
export async function checkWhole(database: Database, ledgers: readonly Ledger[]): Promise<string[]> {
  const problems: string[] = [];
  const [orphans] = await ask(database, ORPHANS, {});
  if (orphans!['count'] !== 0) problems.push(`${String(orphans!['count'])} versions belong to no memory`);
  const memories = await ask(database, 'MATCH (m:Memory) RETURN m.content AS content', {});
  const there = new Set(memories.map(({ content }) => (content as string).split(' ', 1)[0]!));
  // Without an acknowledged store nobody knew the id to erase it by.
  const erased = ledgers.flatMap(({ entries }) => [...entries.values()]).filter((entry: Entry) => entry.id !== null && !there.has(entry.marker));
  const [usage] = await ask(database, 'MATCH (u:UsageMonth) RETURN sum(u.stores) AS stores', {});
  const committed = there.size + erased.length;
  if (usage!['stores'] !== committed) problems.push(`${String(usage!['stores'])} stores were counted, and ${committed} were made`);
  return problems;
}

const ask = (database: Database, statement: string, parameters: Record<string, unknown>) => database.read(statement, parameters, deadlineIn(60_000));

const MEMORIES = `
  MATCH (m:Memory) WHERE m.userId = $userId
  OPTIONAL CALL (m) {
    WITH m WHERE m.embedding IS NOT NULL
    MATCH (near:Memory) SEARCH near IN (VECTOR INDEX memory_embedding FOR m.embedding LIMIT 1)
    RETURN near.id AS nearest
  }
  RETURN m.id AS id, m.content AS content, m.version AS version, COUNT { (m)-[:HAS_VERSION]->() } AS versions, m:Unembedded AS waits,
    m.embedding AS embedding, nearest`;

const BY_WORD = `
  UNWIND $markers AS marker
  OPTIONAL CALL (marker) {
    CALL db.index.fulltext.queryNodes('memory_text', 'content:' + marker) YIELD node
    RETURN collect(node.id) AS ids
  }
  RETURN marker, coalesce(ids, []) AS ids`;

const ORPHANS = 'MATCH (v:MemoryVersion) WHERE NOT EXISTS { (:Memory)-[:HAS_VERSION]->(v) } RETURN count(v) AS count';

function cosine(a: readonly number[], b: Float32Array): number {
  const dot = (x: ArrayLike<number>, y: ArrayLike<number>) => Array.from(x).reduce((sum, value, at) => sum + value * y[at]!, 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}
