import type { Resolvers } from '../../generated/resolvers.ts';

export const resolvers: Resolvers = {
  Query: { usage: (_, __, { usage }) => usage.usage() },
};
