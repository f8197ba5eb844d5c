import type { Resolvers } from '../../generated/resolvers.ts';

export const resolvers: Resolvers = {
  Query: { health: (_, __, { health }) => health.check() },
};
