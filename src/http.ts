import { createHash } from 'node:crypto';
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyCorsOptions } from '@fastify/cors';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { v7 as uuid } from 'uuid';
import { invalidParameter, ServiceError, unavailable } from './errors.ts';
import { errorResponse } from './rest/errors.ts';

/** The caller's X-Request-Id when it is short and safe to log and repeat, else a new one. */
export function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(given) ? given : uuid();
}

/** The only body that is read: JSON in UTF-8. An empty one is none, as clients send with GET and DELETE. With an Idempotency-Key its hash is kept. */
export function parseJsonOnly(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    if (request.headers['idempotency-key'] !== undefined) request.bodyHash = createHash('sha256').update(body).digest('hex');
    if (body.length === 0) return done(null, undefined);
    let text: string;
    try {
      text = new TextDecoder('utf-8', { fatal: true }).decode(body as Buffer);
    } catch {
      return done(bodyProblem('must be JSON in UTF-8'));
    }
    void parse(request, text, (error, parsed) => (error ? done(bodyProblem(`must be JSON: ${error.message}`)) : done(null, parsed)));
  });
}

/** What browsers of these origins may do. An OPTIONS that is not a preflight of theirs is a request like any other. */
export function corsFor(origins: readonly string[]) {
  const options = {
    origin: [...origins],
    methods: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
    exposedHeaders: [
      'x-request-id',
      'retry-after',
      'location',
      'etag',
      'idempotency-replayed',
      'x-ratelimit-limit',
      'x-ratelimit-remaining',
      'x-ratelimit-reset',
    ],
    maxAge: 600,
  };
  return ({ headers }: FastifyRequest, done: (error: Error | null, options: FastifyCorsOptions) => void) =>
    done(null, { ...options, preflight: origins.includes(headers.origin ?? '') && headers['access-control-request-method'] !== undefined });
}

/** The only expectation that there is. One that nobody can meet is refused, before its body is asked for. */
export function refuseOtherExpectations(app: FastifyInstance): void {
  // Without a listener Node answers by itself.
  app.server.on('checkExpectation', (request, response) => app.routing(request, response));
  app.addHook('onRequest', ({ headers }, _reply, done) => {
    const isKnown = headers.expect === undefined || headers.expect.toLowerCase() === '100-continue';
    done(isKnown ? undefined : invalidParameter([{ path: ['Expect'], message: 'must be 100-continue' }]));
  });
}

/**
 * Closing waits for every connection, and a client keeps one open long after its last answer: so while the app closes new
 * requests are refused, each answer ends its connection, and after `patience` milliseconds the others are cut.
 */
export function closeConnectionsWhenDrained(app: FastifyInstance, patience: number): void {
  let cutting: NodeJS.Timeout | undefined;
  app.addHook('preClose', (done) => {
    cutting = setTimeout(() => app.server.closeAllConnections(), patience);
    done();
  });
  app.addHook('onRequest', (_request, _reply, done) => done(cutting && unavailable('The service is shutting down; try again')));
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (cutting) reply.header('connection', 'close');
    done();
  });
  app.addHook('onClose', (_app, done) => {
    clearTimeout(cutting);
    done();
  });
}

/**
 * Answers 405 for every other method of the known paths, and 404 for unknown paths. The literal paths have to be named,
 * or PATCH /memory/search would be taken for a memory of that id.
 */
export function refuseOtherMethods(app: FastifyInstance, methodsOf: ReadonlyMap<string, readonly string[]>): void {
  for (const [url, methods] of methodsOf) {
    const others = app.supportedMethods.filter((method) => !methods.includes(method) && !(method === 'HEAD' && methods.includes('GET')));
    const refuse = (request: FastifyRequest, reply: FastifyReply) => refuseMethod(request, reply, methods);
    // By itself Fastify answers 400 to a QUERY without a Content-Type.
    const onRequest = async (request: FastifyRequest, reply: FastifyReply) => void (request.method === 'QUERY' && refuse(request, reply));
    app.route({ method: others, url, onRequest, handler: refuse });
  }
  // Methods that Fastify's router does not know end up here whatever their path.
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0]!;
    const known = [...methodsOf].find(([url]) => new RegExp(`^${url.replace(':id', '[^/]+')}$`).test(path));
    if (known) return refuseMethod(request, reply, known[1]);
    throw new ServiceError('not_found', `There is no ${path.slice(0, 200)}; the paths are in /openapi.json`);
  });
}

function refuseMethod({ method }: FastifyRequest, reply: FastifyReply, methods: readonly string[]): never {
  reply.header('allow', methods.join(', '));
  throw new ServiceError('method_not_allowed', `${method} is not possible here; ${methods.join(' and ')} ${methods.length === 1 ? 'is' : 'are'}`);
}

function bodyProblem(message: string): ServiceError {
  return invalidParameter([{ path: [], message }]);
}

/** What Fastify refuses by itself, as one of our errors; null for anything else. */
export function serviceErrorOfHttp(error: unknown): ServiceError | null {
  const { code, statusCode, message } = error as Partial<FastifyError>;
  // The client went away while its body was read; nobody gets this answer, but it is no fault of ours either.
  if (code === 'ECONNRESET' && statusCode === 400) return new ServiceError('invalid_parameter', 'The request ended before its body did');
  if (error instanceof ServiceError || !code?.startsWith('FST_')) return null;
  if (statusCode === 413) return new ServiceError('payload_too_large', 'The body is larger than 1 MiB');
  if (statusCode === 415) return new ServiceError('unsupported_media_type', 'Send the body with Content-Type: application/json');
  if (code === 'FST_ERR_BAD_URL') return new ServiceError('invalid_parameter', 'The path must be percent-encoded UTF-8');
  if (statusCode === 503) return new ServiceError('unavailable', 'The service is shutting down; try again', { retryAfterSeconds: 1 });
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return new ServiceError('invalid_parameter', message ?? 'The request is malformed');
  return null;
}

/** What is written to a connection whose bytes are no request, and its status for the log. */
interface BrokenRequests {
  /** Counts the request and says what its headers are, and whether it is one too many. */
  readonly charge: (address: string) => Promise<{ headers: Record<string, string>; refusal: ServiceError | null }>;
  readonly onAnswer: (requestId: string, status: number) => void;
}

/** Answers what Node's HTTP parser could not read as a request; there is no reply object yet, so the response is written by hand. */
export function answerBrokenRequests({ charge, onAnswer }: BrokenRequests): (error: NodeJS.ErrnoException, socket: Socket) => void {
  const answering = new WeakSet<Socket>();

  async function answer(failure: ServiceError, socket: Socket): Promise<void> {
    const limit = await charge(socket.remoteAddress ?? '');
    const requestId = uuid();
    const { status, headers, body } = errorResponse(limit.refusal ?? failure, requestId);
    const text = JSON.stringify(body);
    const all = {
      ...headers,
      ...limit.headers,
      'x-request-id': requestId,
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(text),
      connection: 'close',
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${text}`);
    onAnswer(requestId, status);
  }

  return (error, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    // Every further piece of the same garbage is an error again.
    if (answering.has(socket)) return;
    answering.add(socket);
    void answer(brokenRequest(error), socket);
  };
}

function brokenRequest({ code }: NodeJS.ErrnoException): ServiceError {
  if (code === 'HPE_HEADER_OVERFLOW') return new ServiceError('payload_too_large', 'The request line and headers are larger than 64 KiB');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ServiceError('invalid_parameter', 'The request did not arrive in time');
  return new ServiceError('invalid_parameter', 'This is not a valid HTTP request');
}
