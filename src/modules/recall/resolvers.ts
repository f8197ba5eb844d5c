import type { Resolvers } from '../../generated/resolvers.ts';

export const resolvers: Resolvers = {
  Query: {
    searchMemories: (_, { query, filter, first, minScore }, { recall }) => recall.search({ query, filter, first, minScore }),
  },
  SearchMemoriesPayload: {
    hits: (hits) => [...hits],
    count: (hits) => hits.length,
  },
};
