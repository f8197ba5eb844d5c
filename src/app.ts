import cors from '@fastify/cors';
import helmet from '@fastify/helmet';
import { fastifyApolloHandler } from '@as-integrations/fastify';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import type { Context } from './context.ts';
import { type Deadline, deadlineIn } from './deadline.ts';
import { asServiceError, unauthenticated } from './errors.ts';
import * as operations from './generated/operations.ts';
import { currentRequestId, graphqlErrorBody } from './graphql/errors.ts';
import { createSchema } from './graphql/schema.ts';
import { requireDocument } from './graphql/request.ts';
import { createGraphQLServer } from './graphql/server.ts';
import {
  answerBrokenRequests,
  closeConnectionsWhenDrained,
  corsFor,
  parseJsonOnly,
  refuseOtherMethods,
  requestIdOf,
  serviceErrorOfHttp,
} from './http.ts';
import type { Principal } from './modules/access/principal.ts';
import { requireScopes } from './modules/access/scopes.ts';
import type { Tally } from './modules/usage/meter.ts';
import { type PublicFiles, serveFiles } from './pages/files.ts';
import { graphiqlFiles } from './pages/graphiql.ts';
import { homeFiles } from './pages/home.ts';
import { referenceFiles } from './pages/reference.ts';
import { validateOperations } from './rest/adapter.ts';
import { errorResponse, headersOf } from './rest/errors.ts';
import { createOpenApi } from './rest/openapi.ts';
import { registerRoutes } from './rest/register.ts';
import { routes } from './rest/routes.ts';
import { createServices, type ServiceDependencies } from './services.ts';

export interface AppSettings {
  readonly sessionTtl: number;
  /** Milliseconds within which every request is answered. */
  readonly requestTimeout: number;
  readonly logLevel: string;
  readonly trustProxy: boolean | string[];
  readonly corsOrigins: readonly string[];
  readonly introspection: boolean;
}

export interface AppDependencies extends Omit<ServiceDependencies, 'sessionTtl' | 'logger'> {
  readonly settings: AppSettings;
}

declare module 'fastify' {
  interface FastifyRequest {
    deadline: Deadline;
    /** Null on the paths that need no key. */
    principal: Principal | null;
    /** What the request retrieves; null without a principal. */
    tally: Tally | null;
    /** SHA-256 of the body as it came, with an Idempotency-Key. */
    bodyHash: string | null;
  }
}

const BODY_LIMIT = 1024 * 1024;
/** A search for 2,000 characters of any script fits, percent-encoded. */
const HEAD_LIMIT = 64 * 1024;
/** Every path works with and without it. */
const VERSION_PREFIX = /^\/v1(?:\/|(?=\?|$))/;
const SANDBOX_FRAME = 'https://sandbox.embed.apollographql.com';
const SANDBOX_POLICY = `default-src 'self' 'unsafe-inline' data: https://*.cdn.apollographql.com ${SANDBOX_FRAME}; frame-src ${SANDBOX_FRAME}; frame-ancestors 'none'`;

/** The service over HTTP: GraphQL at /graphql, the published API, and what operators probe. Close it to drain what is under way. */
export async function createApp({ settings, ...dependencies }: AppDependencies): Promise<FastifyInstance> {
  const app = fastify({
    logger: { level: settings.logLevel },
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: requestIdOf,
    bodyLimit: BODY_LIMIT,
    rewriteUrl: ({ url = '/' }) => url.replace(VERSION_PREFIX, '/'),
    // No id is too long to be simply not found.
    routerOptions: { maxParamLength: HEAD_LIMIT },
    trustProxy: settings.trustProxy,
    requestTimeout: 30_000,
    forceCloseConnections: 'idle',
    // Slow requests are looked for every second; by default every half minute, which would double their time.
    http: { maxHeaderSize: HEAD_LIMIT, requireHostHeader: false, connectionsCheckingInterval: 1_000 },
    clientErrorHandler: answerBrokenRequests,
    frameworkErrors: fail,
  });
  const schema = createSchema();
  validateOperations(Object.values(operations), schema);
  requireScopes(schema);
  const pages: PublicFiles = new Map([...homeFiles(dependencies), ...graphiqlFiles(settings), ...referenceFiles()]);
  const openPaths = new Set(['/livez', '/readyz', '/openapi.json', ...pages.keys()]);
  const services = createServices({ ...dependencies, sessionTtl: settings.sessionTtl, logger: app.log });

  app.decorateRequest('principal', null);
  app.decorateRequest('tally', null);
  app.decorateRequest('bodyHash', null);
  app.decorateRequest('deadline', null as unknown as Deadline);
  app.setErrorHandler(fail);
  parseJsonOnly(app);
  closeConnectionsWhenDrained(app, settings.requestTimeout + 2_000);
  await app.register(cors, { delegator: corsFor(settings.corsOrigins) });
  await app.register(helmet, {
    contentSecurityPolicy: { directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] }, useDefaults: false },
    crossOriginEmbedderPolicy: false,
  });
  app.addHook('onRequest', async (request, reply) => {
    request.deadline = deadlineIn(settings.requestTimeout);
    reply.header('x-request-id', request.id);
    if (openPaths.has(pathOf(request)) || isLandingPage(request)) return;
    request.principal = await services.authenticator.authenticate(request.headers.authorization, {
      deadline: request.deadline,
      // How the service is can be asked while the database is away.
      acceptStale: pathOf(request) === '/health',
    });
    const { account } = request.principal;
    request.tally = services.meter.tally(account.id, services.plans.of(account.plan));
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    request.tally?.settle(reply.statusCode === 200);
    request.tally = null;
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { method, routeOptions, principal } = request;
    const milliseconds = Math.round(reply.elapsedTime * 10) / 10;
    request.log.info(
      { method, route: routeOptions.url ?? null, status: reply.statusCode, milliseconds, account: principal?.account.id, key: principal?.keyHint },
      'request',
    );
    done();
  });

  const apollo = createGraphQLServer({ schema, introspection: settings.introspection, logger: app.log });
  await apollo.start();
  const graphql = fastifyApolloHandler(apollo, {
    context: (request) => Promise.resolve(isLandingPage(request) ? ({ requestId: request.id } as Context) : contextOf(request)),
  });
  app.route({
    method: ['GET', 'POST'],
    url: '/graphql',
    handler: (request, reply) => {
      if (isLandingPage(request)) reply.header('content-security-policy', SANDBOX_POLICY);
      else requireDocument(request);
      return currentRequestId.run(request.id, () => graphql.call(app, request, reply));
    },
  });
  const methods = registerRoutes(app, schema, (request) =>
    contextOf(request, request.bodyHash === null ? null : [request.routeOptions.url, request.principal?.boundUserId, request.bodyHash]),
  );

  const openApi = createOpenApi(routes, dependencies.version);
  serveFiles(app, pages);
  app.get('/openapi.json', () => openApi);
  app.get('/livez', () => ({ status: 'ok' }));
  app.get('/readyz', async (_, reply) => {
    const ready = (await services.health.check()).checks.database === 'OK';
    return reply
      .code(ready ? 200 : 503)
      .headers(ready ? {} : { 'retry-after': '1' })
      .send({ status: ready ? 'ok' : 'unavailable' });
  });
  for (const path of openPaths) methods.set(path, ['GET']);
  refuseOtherMethods(app, methods.set('/graphql', ['GET', 'POST']));

  app.addHook('onClose', async () => {
    await services.close();
    await apollo.stop();
  });
  return app;

  function contextOf({ principal, tally, deadline, id }: FastifyRequest, fingerprint: Context['fingerprint'] = null): Context {
    if (!principal || !tally) throw unauthenticated();
    return services.contextFor({ principal, deadline, requestId: id, tally, fingerprint });
  }

  function fail(thrown: unknown, request: FastifyRequest, reply: FastifyReply) {
    const failure = serviceErrorOfHttp(thrown) ?? asServiceError(thrown);
    if (failure.code === 'internal') request.log.error({ err: failure.cause }, 'unexpected error');
    reply.header('x-request-id', request.id);
    if (pathOf(request) === '/graphql') return reply.code(failure.status).headers(headersOf(failure)).send(graphqlErrorBody(failure, request.id));
    const { status, headers, body } = errorResponse(failure, request.id);
    return reply.code(status).headers(headers).send(body);
  }
}

/** A browser that opens /graphql gets Apollo Sandbox; nothing is executed, so no key is needed. */
function isLandingPage({ method, url, headers }: FastifyRequest): boolean {
  return method === 'GET' && url === '/graphql' && (headers.accept ?? '').includes('text/html');
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0]!;
}
