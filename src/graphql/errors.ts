import { AsyncLocalStorage } from 'node:async_hooks';
import { unwrapResolverError } from '@apollo/server/errors';
import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import { asServiceError, ServiceError } from '../errors.ts';

/** The id of the request that Apollo Server answers. It has errors of its own for which there is no context yet. */
export const currentRequestId = new AsyncLocalStorage<string>();

/** The expected failure behind an error of GraphQL's execution; what graphql-js and Apollo refuse themselves is a 400. */
export function serviceErrorOf(error: unknown): ServiceError {
  const original = unwrapResolverError(error);
  if (original instanceof ServiceError) return original;
  const cause = error instanceof GraphQLError ? error.originalError : error;
  if (cause instanceof ServiceError) return cause;
  if (error instanceof GraphQLError && isRefusedMethod(error)) return new ServiceError('method_not_allowed', error.message, { cause: error });
  const code = error instanceof GraphQLError ? error.extensions['code'] : undefined;
  if (error instanceof GraphQLError && (REFUSALS.has(code) || !cause || cause instanceof GraphQLError) && code !== 'INTERNAL_SERVER_ERROR')
    return new ServiceError('invalid_parameter', error.message, { cause: error });
  return asServiceError(cause ?? error);
}

const REFUSALS = new Set<unknown>([
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'BAD_USER_INPUT',
  'BAD_REQUEST',
  'OPERATION_RESOLUTION_FAILURE',
  'PERSISTED_QUERY_NOT_SUPPORTED',
]);

/** A mutation by GET: Apollo answers 405 with Allow itself. */
function isRefusedMethod({ extensions }: GraphQLError): boolean {
  return (extensions['http'] as { status?: number } | undefined)?.status === 405;
}

/** An error as GraphQL clients get it: our code in upper case, its status and the wrong fields; never a stack trace. */
export function formatGraphQLError(formatted: GraphQLFormattedError, error: unknown): GraphQLFormattedError {
  const failure = serviceErrorOf(error);
  return {
    message: failure.message,
    ...(formatted.locations ? { locations: formatted.locations } : {}),
    ...(formatted.path ? { path: formatted.path } : {}),
    extensions: { ...extensionsOf(failure), requestId: currentRequestId.getStore() },
  };
}

/** The body of a GraphQL request that failed before there was a document. */
export function graphqlErrorBody(failure: ServiceError, requestId: string) {
  return { errors: [{ message: failure.message, extensions: { ...extensionsOf(failure), requestId } }] };
}

function extensionsOf(failure: ServiceError): Record<string, unknown> {
  return {
    code: failure.code.toUpperCase(),
    status: failure.status,
    ...(failure.code === 'rate_limit_exceeded' ? { retryAfter: failure.retryAfterSeconds } : {}),
    ...(failure.problems.length > 0 ? { details: failure.problems.map(({ path, message }) => ({ field: path.join('.') || 'body', message })) } : {}),
  };
}
