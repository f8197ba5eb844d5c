import { ApolloServer, type ApolloServerPlugin } from '@apollo/server';
import { ApolloServerPluginLandingPageLocalDefault } from '@apollo/server/plugin/landingPage/default';
import type { FastifyBaseLogger } from 'fastify';
import { type GraphQLSchema, Kind, OperationTypeNode } from 'graphql';
import type { Context } from '../context.ts';
import { headersOf } from '../rest/errors.ts';
import { formatGraphQLError, serviceErrorOf } from './errors.ts';
import { limits, MAXIMUM_TOKENS } from './limits.ts';

export interface GraphQLServerOptions {
  readonly schema: GraphQLSchema;
  readonly introspection: boolean;
  readonly logger: FastifyBaseLogger;
}

/** Apollo Server with our limits and our errors. Its landing page is Apollo Sandbox. */
export function createGraphQLServer({ schema, introspection, logger }: GraphQLServerOptions): ApolloServer<Context> {
  return new ApolloServer<Context>({
    schema,
    introspection,
    includeStacktraceInErrorResponses: false,
    persistedQueries: false,
    parseOptions: { maxTokens: MAXIMUM_TOKENS },
    formatError: formatGraphQLError,
    logger,
    stopOnTerminationSignals: false,
    plugins: [limits, spentLimits, errorReporting(logger), ApolloServerPluginLandingPageLocalDefault({ footer: false })],
  });
}

/**
 * A limit that leaves nothing to answer is the response's status as well; other failures of a well-formed request are a 200.
 * So is a mutation of several fields, of which some may be done: whoever repeats on a 429 would do them again.
 */
const spentLimits: ApolloServerPlugin<Context> = {
  requestDidStart: () =>
    Promise.resolve({
      willSendResponse({ errors = [], operation, response: { body, http } }) {
        if (body.kind === 'incremental' || Object.values(body.singleResult.data ?? {}).some((value) => value !== null)) return Promise.resolve();
        const [first, ...others] = operation?.selectionSet.selections ?? [];
        const isExecuted = body.singleResult.data !== undefined;
        if (isExecuted && operation?.operation === OperationTypeNode.MUTATION && (others.length > 0 || first?.kind !== Kind.FIELD))
          return Promise.resolve();
        const spent = errors.map(serviceErrorOf).find(({ code }) => code === 'rate_limit_exceeded');
        if (spent) {
          http.status = spent.status;
          for (const [name, value] of Object.entries(headersOf(spent))) http.headers.set(name, value);
        }
        return Promise.resolve();
      },
    }),
};

/** Puts what was not expected into the log. */
function errorReporting(logger: FastifyBaseLogger): ApolloServerPlugin<Context> {
  return {
    requestDidStart: () =>
      Promise.resolve({
        didEncounterErrors({ errors, contextValue }) {
          for (const error of errors) {
            const failure = serviceErrorOf(error);
            if (failure.code === 'internal') logger.error({ err: failure.cause, requestId: contextValue.requestId }, 'unexpected error');
          }
          return Promise.resolve();
        },
      }),
  };
}
