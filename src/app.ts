import cors from '@fastify/cors';
import helmet from '@fastify/helmet';
import { fastifyApolloHandler } from '@as-integrations/fastify';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Caller, Context } from './context.ts';
import { type Deadline, deadlineIn } from './deadline.ts';
import type { Calibration } from './embedding/calibration.ts';
import type { Embedder } from './embedding/embedder.ts';
import { withServiceErrors } from './embedding/guarded.ts';
import { asServiceError, ServiceError, unauthenticated } from './errors.ts';
import type { Database } from './graph/database.ts';
import { graphqlErrorBody } from './graphql/errors.ts';
import { createSchema } from './graphql/schema.ts';
import { createGraphQLServer } from './graphql/server.ts';
import { answerBrokenRequests, parseJsonOnly, requestIdOf, serviceErrorOfHttp } from './http.ts';
import { createAuthenticator } from './modules/access/authenticator.ts';
import type { Principal } from './modules/access/principal.ts';
import { createAccessStore } from './modules/access/store.ts';
import { createHealthService } from './modules/health/service.ts';
import { createMemoryLoaders } from './modules/memory/loaders.ts';
import { createSerialQueue } from './modules/memory/serial-queue.ts';
import { createMemoryService } from './modules/memory/service.ts';
import { createMemoryStore } from './modules/memory/store.ts';
import { createMemoryWriter } from './modules/memory/writer.ts';
import { createRecallCounter } from './modules/recall/recall-counter.ts';
import { createRecallService } from './modules/recall/service.ts';
import { createRecallStore } from './modules/recall/store.ts';
import { createHandler, validateOperations } from './rest/adapter.ts';
import { errorResponse, headersOf } from './rest/errors.ts';
import { createOpenApi } from './rest/openapi.ts';
import { routes } from './rest/routes.ts';
import * as operations from './generated/operations.ts';
import { startBackground } from './background/background.ts';

export interface AppDependencies {
  readonly database: Database;
  readonly embedder: Embedder;
  readonly calibration: Calibration;
  readonly version: string;
  /** The clock, in milliseconds since 1970. */
  readonly now?: () => number;
  readonly settings: {
    readonly sessionTtl: number;
    readonly requestTimeout: number;
    readonly logLevel: string;
    readonly trustProxy: boolean | string[];
    readonly corsOrigins: readonly string[];
    readonly introspection: boolean;
  };
}

declare module 'fastify' {
  interface FastifyRequest {
    deadline: Deadline;
    principal: Principal | null;
  }
}

const BODY_LIMIT = 1024 * 1024;
const PREFIXES = ['', '/v1'];
const OPEN_PATHS = new Set(['/livez', '/readyz', '/openapi.json', '/']);
const SANDBOX_SOURCES = 'https://embeddable-sandbox.cdn.apollographql.com https://apollo-server-landing-page.cdn.apollographql.com https://sandbox.embed.apollographql.com';

/** The service over HTTP: GraphQL at /graphql, the published API, and what operators probe. Close it to drain what is under way. */
export async function createApp({ database, embedder: rawEmbedder, calibration, version, now = Date.now, settings }: AppDependencies): Promise<FastifyInstance> {
  const app = fastify({
    logger: { level: settings.logLevel },
    loggerInstance: undefined,
    disableRequestLogging: true,
    genReqId: requestIdOf,
    requestIdLogLabel: 'requestId',
    bodyLimit: BODY_LIMIT,
    routerOptions: { maxParamLength: 8_192 },
    trustProxy: settings.trustProxy,
    requestTimeout: 30_000,
    forceCloseConnections: 'idle',
    http: { requireHostHeader: false },
    clientErrorHandler: answerBrokenRequests,
    frameworkErrors: (error, request, reply) => fail(error, request, reply),
  });
  const schema = createSchema();
  validateOperations(Object.values(operations), schema);

  const embedder = withServiceErrors(rawEmbedder);
  const memoryStore = createMemoryStore(database);
  const counter = createRecallCounter((rows, deadline) => memoryStore.addRecalls(rows, deadline));
  const memoryDependencies = {
    store: memoryStore,
    writer: createMemoryWriter(memoryStore),
    embedder,
    updates: createSerialQueue(),
    now,
    sessionTtl: settings.sessionTtl,
  };
  const recallDependencies = { store: createRecallStore(database), embedder, calibration, counter, now };
  const authenticator = createAuthenticator(createAccessStore(database));
  const health = createHealthService({ database, embedder, version });

  function contextOf(request: FastifyRequest): Context {
    if (!request.principal) throw unauthenticated('Missing API key: send the header Authorization: Bearer <API_KEY>');
    const caller: Caller = { principal: request.principal, deadline: request.deadline, requestId: request.id };
    const memories = createMemoryService(memoryDependencies, caller);
    return { ...caller, memories, recall: createRecallService(recallDependencies, caller, memories), health, loaders: createMemoryLoaders(memories) };
  }

  function fail(thrown: unknown, request: FastifyRequest, reply: FastifyReply) {
    const failure = serviceErrorOfHttp(thrown) ?? asServiceError(thrown);
    if (failure.code === 'internal') request.log.error({ err: failure.cause }, 'unexpected error');
    reply.header('x-request-id', request.id);
    if (request.url.split('?')[0] === '/graphql')
      return reply.code(failure.status).headers(headersOf(failure)).send(graphqlErrorBody(failure, request.id));
    const { status, headers, body } = errorResponse(failure, request.id);
    return reply.code(status).headers(headers).send(body);
  }

  app.decorateRequest('principal', null);
  app.decorateRequest('deadline', null as unknown as Deadline);
  parseJsonOnly(app);
  await app.register(cors, { origin: [...settings.corsOrigins], exposedHeaders: ['x-request-id', 'retry-after', 'location'], maxAge: 600 });
  await app.register(helmet, {
    contentSecurityPolicy: { directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] }, useDefaults: false },
    crossOriginEmbedderPolicy: false,
  });

  app.addHook('onRequest', async (request, reply) => {
    request.deadline = deadlineIn(settings.requestTimeout);
    reply.header('x-request-id', request.id);
    const path = request.url.split('?')[0]!;
    if (OPEN_PATHS.has(path) || isLandingPage(request)) return;
    request.principal = await authenticator.authenticate(request.headers.authorization);
  });
  app.addHook('onResponse', async (request, reply) => {
    const { method, routeOptions, principal } = request;
    const milliseconds = Math.round(reply.elapsedTime * 10) / 10;
    request.log.info({ method, route: routeOptions.url ?? 'none', status: reply.statusCode, milliseconds, account: principal?.account.id, key: principal?.keyHint }, 'request');
    return Promise.resolve();
  });
  app.setErrorHandler(fail);

  const methodsOf = new Map<string, string[]>([
    ['/graphql', ['GET', 'POST']],
    ['/livez', ['GET']],
    ['/readyz', ['GET']],
    ['/openapi.json', ['GET']],
    ['/', ['GET']],
  ]);

  const apollo = createGraphQLServer({ schema, introspection: settings.introspection, logger: app.log });
  await apollo.start();
  const graphqlHandler = fastifyApolloHandler(apollo, { context: (request) => Promise.resolve(isLandingPage(request) ? ({} as Context) : contextOf(request)) });
  app.route({
    method: ['GET', 'POST'],
    url: '/graphql',
    handler: async (request, reply) => {
      if (isLandingPage(request))
        reply.header('content-security-policy', `default-src 'self' 'unsafe-inline' data: ${SANDBOX_SOURCES}; frame-src https://sandbox.embed.apollographql.com`);
      return graphqlHandler.call(app, request, reply);
    },
  });

  for (const route of routes) {
    const handler = createHandler(route, schema);
    for (const prefix of PREFIXES) {
      methodsOf.set(prefix + route.path, [...(methodsOf.get(prefix + route.path) ?? []), route.method]);
      app.route({
        method: route.method,
        url: prefix + route.path.replace('{id}', ':id'),
        handler: (request, reply) => handler(request, reply, contextOf(request)),
      });
    }
  }

  const openApi = createOpenApi(routes, version);
  app.get('/openapi.json', () => openApi);
  app.get('/livez', () => ({ status: 'ok' }));
  app.get('/readyz', async (_, reply) => {
    const { checks } = await health.check();
    const ready = checks.database === 'OK';
    return reply.code(ready ? 200 : 503).headers(ready ? {} : { 'retry-after': '1' }).send({ status: ready ? 'ok' : 'unavailable' });
  });
  app.get('/', (_, reply) => reply.redirect('/graphql'));

  for (const [path, methods] of methodsOf) {
    app.route({
      method: app.supportedMethods.filter((method) => !methods.includes(method) && !(method === 'HEAD' && methods.includes('GET')) && method !== 'OPTIONS'),
      url: path.replace('{id}', ':id'),
      handler: (request, reply) => methodNotAllowed(request, reply, methods),
    });
  }
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0]!;
    const methods = methodsOf.get(path) ?? (/^(\/v1)?\/memory\/[^/]+$/.test(path) ? methodsOf.get('/memory/{id}') : undefined);
    if (methods) return methodNotAllowed(request, reply, methods);
    throw new ServiceError('not_found', `There is no ${path.slice(0, 200)}; the paths are in /openapi.json`);
  });

  const background = startBackground({ sweep: memoryStore, counter, now, logger: app.log });
  app.addHook('onClose', async () => {
    await background.stop();
    await memoryDependencies.writer.drain();
    await apollo.stop();
  });
  return app;
}

function methodNotAllowed(request: FastifyRequest, reply: FastifyReply, methods: readonly string[]): never {
  reply.header('allow', methods.join(', '));
  throw new ServiceError('method_not_allowed', `${request.method} is not possible here; ${methods.join(' and ')} ${methods.length === 1 ? 'is' : 'are'}`);
}

/** A browser that opens /graphql gets Apollo Sandbox; nothing is executed, so no key is needed. */
function isLandingPage(request: FastifyRequest): boolean {
  return request.method === 'GET' && request.url === '/graphql' && (request.headers.accept ?? '').includes('text/html');
}
