import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { invalidParameter } from '../errors.ts';
import { parseOrThrow } from '../validation.ts';

const object = z.looseObject({}, { error: 'must be a JSON object' }).nullish();
const fields = {
  query: z.string({ error: ({ input }) => (input == null ? 'is required: a GraphQL document' : 'must be a GraphQL document as a string') }),
  operationName: z.string({ error: 'must be a string' }).nullish(),
};
const Body = z.looseObject({ ...fields, variables: object, extensions: object }, { error: 'must be a JSON object with a query' });
const Parameters = z.looseObject(fields);
const READABLE = /\*\/\*|application\/(\*|json|graphql-response\+json)/i;

/** Throws 400 unless the request carries a GraphQL document and takes the answer as JSON. Apollo refuses the same, but with statuses of its own. */
export function requireDocument({ method, query, body, headers }: FastifyRequest): void {
  if (headers.accept && !READABLE.test(headers.accept))
    throw invalidParameter([{ path: ['accept'], message: 'must allow application/json or application/graphql-response+json' }]);
  if (method === 'GET') parseOrThrow(Parameters, query);
  else parseOrThrow(Body, body);
}
