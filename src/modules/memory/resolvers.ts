import type { Resolvers } from '../../generated/resolvers.ts';
import { z } from 'zod';
import { pageSize, parseOrThrow } from '../../validation.ts';
import { salienceOf } from './salience.ts';

const Page = z.object({ first: pageSize(100, 20) });

export const resolvers: Resolvers = {
  Query: {
    memory: (_, { id, userId }, { memories, loaders }) => memories.get({ id, userId: userId ?? null }, loaders.memory),
    memories: (_, { filter, sort, first, after, offset }, { memories }) =>
      memories.list({ filter, newestFirst: sort === 'RECENT', ...parseOrThrow(Page, { first }), after: after ?? null, offset: offset ?? null }),
  },
  Mutation: {
    storeMemory: (_, { input, idempotencyKey }, { memories }) => memories.store(input, idempotencyKey),
    recordCiEvent: (_, { input, idempotencyKey }, { memories }) => memories.recordCiEvent(input, idempotencyKey),
    updateMemory: (_, { id, userId, input, ifVersion }, { memories }) => memories.update(id, userId, input, ifVersion),
    restoreMemory: (_, { id, userId, version, ifVersion }, { memories }) => memories.restore(id, userId, { version, ifVersion }),
    deleteMemory: (_, { id, userId, ifVersion }, { memories }) => memories.delete(id, userId, ifVersion),
  },
  StoreMemoryPayload: {
    duplicate: ({ stored }) => !stored,
    memory: ({ id }, _, { loaders }) => loaders.memory.clear({ id, userId: null }).load({ id, userId: null }),
  },
  RecordCiEventPayload: {
    memory: ({ id }, _, { loaders }) => loaders.memory.load({ id, userId: null }),
  },
  // What an earlier mutation of the same document read is out of date.
  UpdateMemoryPayload: {
    memory: ({ id }, _, { loaders }) => loaders.memory.clear({ id, userId: null }).load({ id, userId: null }),
  },
  Memory: {
    occurredAt: ({ occurredAt }) => new Date(occurredAt),
    createdAt: ({ createdAt }) => new Date(createdAt),
    updatedAt: ({ updatedAt }) => new Date(updatedAt),
    expiresAt: ({ expiresAt }) => (expiresAt === null ? null : new Date(expiresAt)),
    salience: (memory, _, { now }) => salienceOf(memory, now()),
    history: ({ id }, { first }, { loaders }) => loaders.history.load({ id, limit: parseOrThrow(Page, { first }).first }),
  },
  MemoryVersion: {
    expiresAt: ({ expiresAt }) => (expiresAt === null ? null : new Date(expiresAt)),
    updatedAt: ({ updatedAt }) => new Date(updatedAt),
  },
  MemoryConnection: {
    edges: async ({ memories, cursorOf }) => (await memories()).map((node) => ({ node, cursor: cursorOf(node) })),
    nodes: ({ memories }) => memories(),
    pageInfo: async ({ memories, cursorOf, hasNextPage, hasPreviousPage }) => {
      const page = await memories();
      const [first, last] = [page[0], page.at(-1)];
      return {
        hasNextPage: await hasNextPage(),
        hasPreviousPage,
        startCursor: first ? cursorOf(first) : null,
        endCursor: last ? cursorOf(last) : null,
      };
    },
    totalCount: ({ totalCount }) => totalCount(),
  },
};
