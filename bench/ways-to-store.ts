import neo4j from 'neo4j-driver';
import { v7 as uuid } from 'uuid';
import type { Embedder } from '../src/embedding/embedder.ts';
import { facetsOf } from '../src/modules/memory/filter.ts';
import { NEVER } from '../src/modules/memory/model.ts';
import { scopeOf } from '../src/modules/memory/scope.ts';
import type { OnClose } from './closers.ts';
import type { BenchGraph } from './graph.ts';
import { readyMadeVector } from './ready-made.ts';
import { startApi } from './service.ts';

/** One of the ways that are compared. */
export interface Way {
  readonly name: string;
  /** In which the memories are; null for a way that stores nothing. */
  readonly accountId: string | null;
  /** The process that does the work, besides Neo4j. */
  readonly pid: number;
  store(text: string): Promise<void>;
}

export async function overHttp(name: string, graph: BenchGraph, options: Parameters<typeof startApi>[1], onClose: OnClose): Promise<Way> {
  const { id, key } = await graph.newAccount(name);
  const api = await startApi(graph, options);
  onClose(() => api.close());
  const client = api.client(key);
  onClose(() => client.close());
  return {
    name,
    accountId: id,
    pid: api.pid,
    async store(content) {
      const { stored } = await client.request('POST', '/memory', { content });
      if (stored !== true) throw new Error(`It was stored before: ${content}`);
    },
  };
}

/** What there is to a store without a service: no lock, no deduplication, nothing against repeats. */
export async function overBolt(name: string, graph: BenchGraph, onClose: OnClose): Promise<Way> {
  const { id: accountId } = await graph.newAccount(name);
  const { uri, username, password, database } = graph.address;
  const driver = neo4j.driver(uri, neo4j.auth.basic(username, password), { notificationFilter: { minimumSeverityLevel: 'OFF' } });
  onClose(() => driver.close());
  const keyed = { accountId, userId: null, tier: 2, type: 'fact', tags: [], sessionId: null, archived: false };
  const scope = scopeOf(keyed);
  const common = { ...keyed, scope, facets: facetsOf({ ...keyed, scope }), expiresAt: NEVER };
  const statement = "CYPHER 25 CREATE (m:Memory) SET m = $memory WITH m CALL db.create.setNodeVectorProperty(m, 'embedding', $vector)";
  return {
    name,
    accountId,
    pid: process.pid,
    async store(content) {
      const memory = { ...common, id: uuid(), dedupeKey: uuid(), createdAt: Date.now(), content };
      await driver.executeQuery(statement, { memory, vector: neo4j.vector(readyMadeVector(content)) }, { database });
    },
  };
}

export function embeddingAlone(name: string, embedder: Embedder): Way {
  return {
    name,
    accountId: null,
    pid: process.pid,
    async store(content) {
      await embedder.embedPassage(content, {});
    },
  };
}
