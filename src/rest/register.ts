import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { GraphQLSchema } from 'graphql';
import type { Context } from '../context.ts';
import { createHandler } from './adapter.ts';
import { routes } from './routes.ts';

/** Serves every route of the table; returns the methods of each path, with `:id` for the parameter. */
export function registerRoutes(app: FastifyInstance, schema: GraphQLSchema, contextOf: (request: FastifyRequest) => Context): Map<string, string[]> {
  const methods = new Map<string, string[]>();
  for (const route of routes) {
    const handler = createHandler(route, schema);
    const url = route.path.replace('{id}', ':id');
    methods.set(url, [...(methods.get(url) ?? []), route.method]);
    app.route({ method: route.method, url, handler: (request, reply) => handler(request, reply, contextOf(request)) });
  }
  return methods;
}
