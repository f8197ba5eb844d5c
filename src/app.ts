import cors from '@fastify/cors';
import helmet from '@fastify/helmet';
import { fastifyApolloHandler } from '@as-integrations/fastify';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import type { Context } from './context.ts';
import { type Deadline, deadlineIn } from './deadline.ts';
import { asServiceError, ServiceError, unauthenticated } from './errors.ts';
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
  refuseOtherExpectations,
  refuseOtherMethods,
  requestIdOf,
  serviceErrorOfHttp,
} from './http.ts';
import { admitAtMost } from './limits/admission.ts';
import { createRateLimiter } from './limits/rate-limiter.ts';
import type { RedisSettings } from './limits/redis.ts';
import { createRequestLimits } from './limits/requests.ts';
import { createMetrics } from './metrics/metrics.ts';
import { watchDatabase } from './metrics/watch.ts';
import type { Principal } from './modules/access/principal.ts';
import { requireScopes } from './modules/access/scopes.ts';
import type { Tally } from './modules/usage/meter.ts';
import { createPlans, type Plans } from './modules/usage/plans.ts';
import { type PublicFiles, serveFiles } from './pages/files.ts';
import { graphiqlFiles } from './pages/graphiql.ts';
import { homeFiles } from './pages/home.ts';
import { referenceFiles } from './pages/reference.ts';
import { logBrokenRequest, logRequest } from './request-log.ts';
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
  /** Where rate limits are counted that several processes share; absent: each counts alone. */
  readonly redis?: RedisSettings | undefined;
  /** How many requests are worked on at once; others get a 503. */
  readonly maxConcurrentRequests: number;
}

export interface AppDependencies extends Omit<ServiceDependencies, 'sessionTtl' | 'logger' | 'redis' | 'plans'> {
  /** What accounts may use; absent: the plans as decided. */
  readonly plans?: Plans;
  readonly settings: AppSettings;
  /** How many requests a minute an address may send without a valid key. */
  readonly addressLimit?: number;
  /** Where the log goes, a line of JSON at a time; absent: standard output. */
  readonly log?: { write(line: string): void };
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

const ADDRESS_LIMIT = 60;
const BODY_LIMIT = 1024 * 1024;
/** A search for 2,000 characters of any script fits, percent-encoded. */
const HEAD_LIMIT = 64 * 1024;
/** Every path works with and without it. */
const VERSION_PREFIX = /^\/v1(?:\/|(?=\?|$))/;
const SANDBOX_FRAME = 'https://sandbox.embed.apollographql.com';
const SANDBOX_POLICY = `default-src 'self' 'unsafe-inline' data: https://*.cdn.apollographql.com ${SANDBOX_FRAME}; frame-src ${SANDBOX_FRAME}; frame-ancestors 'none'`;

/** The service over HTTP: GraphQL at /graphql, the published API, and what operators probe. Close it to drain what is under way. */
export async function createApp({
  settings,
  addressLimit = ADDRESS_LIMIT,
  log,
  metrics = createMetrics(),
  ...dependencies
}: AppDependencies): Promise<FastifyInstance> {
  const app = fastify({
    logger: { level: settings.logLevel, ...(log ? { stream: log } : {}) },
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
    // Answered by a hook below, which knows our headers.
    return503OnClosing: false,
    clientErrorHandler: answerBrokenRequests({
      charge: (address) => limits.chargeAddress(address),
      onAnswer: (requestId, status) => logBrokenRequest(app.log, requestId, status, metrics.observeRequest),
    }),
    frameworkErrors: (error, request, reply) => void failBeforeRouting(error, request, reply),
  });
  const limiter = await createRateLimiter({ redis: settings.redis, report: (line) => app.log.warn(line), observe: metrics.observeDecision });
  const plans = dependencies.plans ?? createPlans();
  const limits = createRequestLimits(limiter, plans, addressLimit);
  const schema = createSchema();
  requireScopes(schema);
  validateOperations(Object.values(operations), schema);
  const pages: PublicFiles = new Map([...homeFiles(dependencies), ...graphiqlFiles(settings), ...referenceFiles()]);
  const openPaths = new Set(['/livez', '/readyz', '/openapi.json', ...pages.keys()]);
  const services = createServices({
    ...dependencies,
    database: watchDatabase(dependencies.database, metrics),
    metrics,
    plans,
    sessionTtl: settings.sessionTtl,
    redis: limiter.redis,
    logger: app.log,
  });

  app.decorateRequest('principal', null);
  app.decorateRequest('allowance', null);
  app.decorateRequest('tally', null);
  app.decorateRequest('bodyHash', null);
  app.decorateRequest('deadline', null as unknown as Deadline);
  app.setErrorHandler(fail);
  parseJsonOnly(app);
  app.addHook('onRequest', (request, reply, done) => {
    begin(request, reply);
    done();
  });
  app.addHook('onSend', async (request, reply) => {
    reply.headers(await limits.headersFor(request));
    request.tally?.settle(reply.statusCode === 200);
    request.tally = null;
  });
  await app.register(cors, { delegator: corsFor(settings.corsOrigins) });
  await app.register(helmet, {
    contentSecurityPolicy: { directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] }, useDefaults: false },
    crossOriginEmbedderPolicy: false,
  });
  app.addHook('onRequest', async (request) => {
    if (!isPublic(request)) await identify(request);
    // Refused with a 405, but only after its body has been read.
    else if (!['GET', 'HEAD'].includes(request.method)) await limits.charge(request, 1);
  });
  refuseOtherExpectations(app);
  closeConnectionsWhenDrained(app, settings.requestTimeout + 2_000);
  const { working } = admitAtMost(settings.maxConcurrentRequests, app, { isExempt: isPublic, onRefusal: metrics.observeOverload });
  metrics.gauge('memory_http_requests_in_progress', 'Requests that are being worked on.', working);

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
    limiter.close();
  });
  return app;

  function isPublic(request: FastifyRequest): boolean {
    return openPaths.has(pathOf(request)) || isLandingPage(request);
  }

  function begin(request: FastifyRequest, reply: FastifyReply): void {
    request.deadline = deadlineIn(settings.requestTimeout);
    reply.header('x-request-id', request.id);
    logRequest(request, reply, metrics.observeRequest);
  }

  /** Finds out who calls, and counts the request. Throws 401, 429, or a 503 that is not counted, as nobody knows whose request it is. */
  async function identify(request: FastifyRequest): Promise<void> {
    try {
      request.principal = await services.authenticator.authenticate(request.headers.authorization, {
        deadline: request.deadline,
        // How the service is can be asked while the database is away.
        acceptStale: pathOf(request) === '/health',
      });
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'unauthenticated') await limits.charge(request, 1);
      throw error;
    }
    await limits.charge(request, 1);
    const { account } = request.principal;
    request.tally = services.meter.tally(account.id, plans.of(account.plan));
  }

  function contextOf(request: FastifyRequest, fingerprint: Context['fingerprint'] = null): Context {
    const { principal, tally, deadline, id } = request;
    if (!principal || !tally) throw unauthenticated();
    return services.contextFor({
      principal,
      deadline,
      requestId: id,
      charge: (requests) => limits.charge(request, requests),
      tally,
      fingerprint,
    });
  }

  function fail(thrown: unknown, request: FastifyRequest, reply: FastifyReply) {
    const failure = serviceErrorOfHttp(thrown) ?? asServiceError(thrown);
    if (failure.code === 'internal') request.log.error({ err: failure.cause }, 'unexpected error');
    // A limit that was spent before is told in the same way everywhere.
    if (pathOf(request) === '/graphql' && failure.code !== 'rate_limit_exceeded')
      return reply.code(failure.status).headers(headersOf(failure)).send(graphqlErrorBody(failure, request.id));
    const { status, headers, body } = errorResponse(failure, request.id);
    return reply.code(status).headers(headers).send(body);
  }

  /** For what Fastify refuses before it has chosen a route, and runs no hooks. */
  async function failBeforeRouting(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    begin(request, reply);
    const failure = await identify(request).then(
      () => error,
      (refusal: unknown) => refusal,
    );
    fail(failure, request, reply.headers(await limits.headersFor(request)));
  }
}

/** A browser that opens /graphql gets Apollo Sandbox; nothing is executed, so no key is needed. */
function isLandingPage({ method, url, headers }: FastifyRequest): boolean {
  return method === 'GET' && url === '/graphql' && (headers.accept ?? '').includes('text/html');
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0]!;
}
