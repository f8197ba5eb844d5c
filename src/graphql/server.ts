import { ApolloServer, type ApolloServerPlugin } from '@apollo/server';
import { ApolloServerPluginLandingPageLocalDefault } from '@apollo/server/plugin/landingPage/default';
import type { FastifyBaseLogger } from 'fastify';
import type { GraphQLSchema } from 'graphql';
import type { Context } from '../context.ts';
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
    plugins: [limits, errorReporting(logger), ApolloServerPluginLandingPageLocalDefault({ footer: false })],
  });
}

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
