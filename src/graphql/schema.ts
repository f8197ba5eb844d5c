import { readdirSync, readFileSync } from 'node:fs';
import { makeExecutableSchema } from '@graphql-tools/schema';
import type { GraphQLSchema } from 'graphql';
import { GraphQLDateTimeISO, GraphQLJSONObject, GraphQLSafeInt } from 'graphql-scalars';
import { resolvers as access } from '../modules/access/resolvers.ts';
import { resolvers as health } from '../modules/health/resolvers.ts';
import { resolvers as memory } from '../modules/memory/resolvers.ts';
import { resolvers as recall } from '../modules/recall/resolvers.ts';
import { resolvers as usage } from '../modules/usage/resolvers.ts';

const FOLDER = new URL('../../schema/', import.meta.url);

/** The service: the SDL of `schema/` with every module's resolvers. */
export function createSchema(): GraphQLSchema {
  const typeDefs = readdirSync(FOLDER)
    .filter((file) => file.endsWith('.graphql'))
    .sort()
    .map((file) => readFileSync(new URL(file, FOLDER), 'utf8'));
  return makeExecutableSchema({
    typeDefs,
    resolvers: [{ DateTime: GraphQLDateTimeISO, JSONObject: GraphQLJSONObject, SafeInt: GraphQLSafeInt }, memory, recall, usage, access, health],
    resolverValidationOptions: { requireResolversToMatchSchema: 'error' },
  });
}
