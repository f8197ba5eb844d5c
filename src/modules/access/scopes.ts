import type { GraphQLSchema } from 'graphql';
import { forbidden } from '../../errors.ts';
import type { Mutation, Query } from '../../generated/resolvers.ts';
import type { Principal, Scope } from './principal.ts';

type RootField = Exclude<keyof Query | keyof Mutation, '__typename'>;

/** What a key needs for each operation, which is a root field of the GraphQL schema; null: any key. */
export const SCOPE_OF = {
  searchMemories: 'memory:read',
  memory: 'memory:read',
  memories: 'memory:read',
  usage: 'memory:read',
  storeMemory: 'memory:write',
  updateMemory: 'memory:write',
  restoreMemory: 'memory:write',
  recordCiEvent: 'memory:write',
  deleteMemory: 'memory:delete',
  account: 'admin',
  apiKeys: 'admin',
  auditLog: 'admin',
  createApiKey: 'admin',
  rotateApiKey: 'admin',
  revokeApiKey: 'admin',
  health: null,
} as const satisfies Record<RootField, Scope | null>;

export type Operation = keyof typeof SCOPE_OF;

/** Throws 403, naming the scope, unless the key may run the operation (`admin` implies all scopes). */
export function authorise({ scopes }: Principal, operation: Operation): void {
  const scope = SCOPE_OF[operation];
  if (scope === null || scopes.includes(scope) || scopes.includes('admin')) return;
  throw forbidden(`This key lacks the scope ${scope}; it has ${scopes.join(', ') || 'none'}`);
}

/** Throws unless the table says for every root field of the schema what a key needs for it: called at start. */
export function requireScopes(schema: GraphQLSchema): void {
  const fields = [schema.getQueryType(), schema.getMutationType()].flatMap((type) => Object.keys(type?.getFields() ?? {}));
  const missing = fields.filter((field) => !Object.hasOwn(SCOPE_OF, field));
  if (missing.length > 0) throw new Error(`No scope is decided for ${missing.join(', ')}: see SCOPE_OF`);
}
