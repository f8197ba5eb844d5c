import type { Resolvers } from '../../generated/resolvers.ts';
import { stateOf } from './keys.ts';
import type { Page } from './page.ts';

export const resolvers: Resolvers = {
  Query: {
    account: (_, __, { access }) => access.account(),
    apiKeys: async (_, { first, after }, { access }) => connectionOf(await access.listKeys({ first, after: after ?? null })),
    auditLog: async (_, { first, after }, { access }) => connectionOf(await access.readAuditLog({ first, after: after ?? null })),
  },
  Mutation: {
    createApiKey: (_, { input }, { access }) => access.createKey(input),
    rotateApiKey: (_, { id, graceSeconds }, { access }) => access.rotateKey(id, { graceSeconds }),
    revokeApiKey: async (_, { id }, { access }) => ({ apiKey: await access.revokeKey(id) }),
  },
  Account: {
    createdAt: ({ createdAt }) => new Date(createdAt),
  },
  ApiKey: {
    state: (key, _, { now }) => stateOf(key, now()),
    createdAt: ({ createdAt }) => new Date(createdAt),
    expiresAt: ({ expiresAt }) => dateOrNull(expiresAt),
    revokedAt: ({ revokedAt }) => dateOrNull(revokedAt),
    lastUsedAt: ({ lastUsedAt }) => dateOrNull(lastUsedAt),
  },
  AuditEntry: {
    at: ({ at }) => new Date(at),
    details: ({ details }) => JSON.parse(details) as Record<string, unknown>,
  },
  ApiKeyScope: {
    MEMORY_READ: 'memory:read',
    MEMORY_WRITE: 'memory:write',
    MEMORY_DELETE: 'memory:delete',
    ADMIN: 'admin',
  },
};

function dateOrNull(milliseconds: number | null): Date | null {
  return milliseconds === null ? null : new Date(milliseconds);
}

function connectionOf<Node>({ nodes, hasNextPage, hasPreviousPage, cursorOf }: Page<Node>) {
  const edges = nodes.map((node) => ({ node, cursor: cursorOf(node) }));
  const [first, last] = [edges[0], edges.at(-1)];
  return {
    edges,
    nodes: [...nodes],
    pageInfo: { hasNextPage, hasPreviousPage, startCursor: first?.cursor ?? null, endCursor: last?.cursor ?? null },
  };
}
