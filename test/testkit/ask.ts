import type { Client, Reply } from './client.ts';

export type Operation = 'store' | 'update' | 'delete' | 'search' | 'list' | 'get';
export type Language = 'REST' | 'GraphQL';

export interface Asked {
  readonly id: string;
  readonly userId: string;
  /** The text to store or to look for. */
  readonly content: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What an operation answered, the same for both languages. */
export interface Outcome {
  /** Over GraphQL that of the error, which comes as 200. */
  readonly status: number;
  readonly reply: Reply;
  /** The memory's id of a write or a get, and what it says; the hits of a search and the memories of a list. */
  readonly id?: string;
  readonly content?: string;
  readonly ids?: readonly string[];
}

/** Runs an operation over REST or GraphQL. Rejects when the connection breaks. */
export async function ask(client: Client, operation: Operation, asked: Asked, language: Language): Promise<Outcome> {
  if (language === 'REST') {
    const reply = await rest[operation](client, asked);
    const { id, content, memories } = reply.body ?? {};
    return { status: reply.status, reply, id, content, ids: memories?.map((memory: { id: string }) => memory.id) };
  }
  const { document, variables } = graphql[operation](asked);
  const reply = await client.graphql(document, variables);
  const failure = reply.body.errors?.[0];
  if (failure) return { status: failure.extensions.status, reply };
  const answer = reply.body.data?.answer;
  if (answer === null) return { status: 404, reply };
  return { status: reply.status, reply, id: answer?.id, content: answer?.content, ids: answer?.found?.map(idOf) };
}

const rest: Readonly<Record<Operation, (client: Client, asked: Asked) => Promise<Reply>>> = {
  store: (client, { userId, content, headers }) => client.send('POST', '/memory', { content, user_id: userId }, headers),
  update: (client, { id, content }) => client.patch(`/memory/${id}`, { content }),
  delete: (client, { id }) => client.delete(`/memory/${id}`),
  search: (client, { userId, content }) => client.get('/memory/search', { q: content, user_id: userId, limit: 5 }),
  list: (client, { userId }) => client.get('/memory/list', { user_id: userId, limit: 20 }),
  get: (client, { id }) => client.get(`/memory/${id}`),
};

const graphql: Readonly<Record<Operation, (asked: Asked) => { document: string; variables: Record<string, unknown> }>> = {
  store: ({ userId, content }) => ({
    document: 'mutation ($input: StoreMemoryInput!) { answer: storeMemory(input: $input) { id stored } }',
    variables: { input: { content, userId } },
  }),
  update: ({ id, content }) => ({
    document: 'mutation ($id: ID!, $input: UpdateMemoryInput!) { answer: updateMemory(id: $id, input: $input) { id version } }',
    variables: { id, input: { content } },
  }),
  delete: ({ id }) => ({ document: 'mutation ($id: ID!) { answer: deleteMemory(id: $id) { id } }', variables: { id } }),
  search: ({ userId, content }) => ({
    document:
      'query ($query: String!, $filter: MemoryFilter) { answer: searchMemories(query: $query, filter: $filter, first: 5) { found: hits { memory { id } } } }',
    variables: { query: content, filter: { userId } },
  }),
  list: ({ userId }) => ({
    document: 'query ($filter: MemoryFilter) { answer: memories(filter: $filter) { found: nodes { id } totalCount } }',
    variables: { filter: { userId } },
  }),
  get: ({ id }) => ({ document: 'query ($id: ID!) { answer: memory(id: $id) { id content } }', variables: { id } }),
};

const idOf = (found: { id?: string; memory?: { id: string } }) => found.memory?.id ?? found.id!;
