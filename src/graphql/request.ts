import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { parseOrThrow } from '../validation.ts';

const object = z.looseObject({}, { error: 'must be a JSON object' }).nullish();
const fields = {
  query: z.string({ error: ({ input }) => (input == null ? 'is required: a GraphQL document' : 'must be a GraphQL document as a string') }),
  operationName: z.string({ error: 'must be a string' }).nullish(),
};
const Body = z.looseObject({ ...fields, variables: object, extensions: object }, { error: 'must be a JSON object with a query' });
const Parameters = z.looseObject(fields);

/** Throws 400 unless the request carries a GraphQL document. Apollo refuses the same, but in answers without a request id. */
export function requireDocument({ method, query, body }: FastifyRequest): void {
  if (method === 'GET') parseOrThrow(Parameters, query);
  else parseOrThrow(Body, body);
}
