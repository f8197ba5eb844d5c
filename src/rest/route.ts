import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import type { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import type { Operation } from '../modules/access/scopes.ts';

type Shape = Readonly<Record<string, z.ZodType>>;
type Output<Fields extends Shape> = { [Name in keyof Fields]: z.output<Fields[Name]> };

/** What a route reads of a request, already checked. Names are REST's. */
export interface Input<Query, Body> {
  readonly id: string;
  readonly query: Query;
  readonly body: Body;
  /** The versions that If-Match asks for; null: any. */
  readonly ifVersion: number[] | null;
  /** Of an Idempotency-Key. */
  readonly idempotencyKey: string | null;
}

/** One GraphQL operation to run. */
export interface Call<Data> {
  readonly document: TypedDocumentNode<Data, Record<string, unknown>>;
  readonly variables: Record<string, unknown>;
}

export function call<Data, Variables>(document: TypedDocumentNode<Data, Variables>, variables: Variables): Call<Data> {
  return { document: document as Call<Data>['document'], variables: variables as Record<string, unknown> };
}

/** An endpoint of the published API, as data: what it reads, the operation that it runs, what it answers. */
export interface Route<Data = unknown, Query = unknown, Body = unknown> {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With `{id}` for the one path parameter that there is. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  /** The operation that `call` runs: what a key needs for it is documented from the table that the services enforce. */
  readonly operation: Operation;
  readonly query: Shape;
  /** Fields of a JSON body. */
  readonly body: Shape | null;
  /** Fields of the body of which at least one has to be given. */
  readonly atLeastOneOf?: readonly string[];
  /** What becomes of other fields of the body: ignored with a warning, or kept for `call` to read. */
  readonly otherFields: 'ignored' | 'kept';
  /** Whether an explicit null is a value of its own (PATCH) or means absent. */
  readonly nulls: 'absent' | 'kept';
  /** The header that makes the request conditional: If-None-Match of a read that answers an ETag, If-Match of a change. */
  readonly conditional?: 'If-None-Match' | 'If-Match';
  /** Whether an Idempotency-Key makes a repeat harmless. */
  readonly idempotent?: boolean;
  readonly call: (input: Input<Query, Body>) => Call<Data>;
  readonly answer: (data: Data, input: Input<Query, Body>) => Answer;
  readonly response: z.ZodType;
  readonly errors: readonly ErrorCode[];
}

export interface Answer {
  readonly body: Record<string, unknown>;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The version of the memory, which becomes the ETag. */
  readonly version?: number;
}

/** Makes a route; types of query and body come from their shapes. */
export function route<Data, Query extends Shape = Record<never, never>, Body extends Shape = Record<never, never>>(
  definition: Omit<Route<Data, Output<Query>, Output<Body>>, 'query' | 'body' | 'nulls' | 'otherFields'> & {
    query?: Query;
    body?: Body;
    nulls?: Route['nulls'];
    otherFields?: Route['otherFields'];
  },
): Route {
  return { nulls: 'absent', otherFields: 'ignored', ...definition, query: definition.query ?? {}, body: definition.body ?? null } as unknown as Route;
}
