import { performance } from 'node:perf_hooks';
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';

/** One request as the log and the metrics have it. */
export interface RequestRecord {
  /** Null for what is no request of HTTP. */
  readonly method: string | null;
  /** The route's pattern; null when there was none to choose. */
  readonly route: string | null;
  /** Null when the client went away before it was answered. */
  readonly status: number | null;
  readonly seconds: number;
}

/** Puts a line into the log when the response is out, or the client is gone; no contents, and of the key its hint alone. */
export function logRequest(request: FastifyRequest, reply: FastifyReply, observe: (record: RequestRecord) => void): void {
  const startedAt = performance.now();
  reply.raw.once('close', () => {
    const { method, routeOptions, principal } = request;
    const milliseconds = performance.now() - startedAt;
    const status = reply.raw.writableFinished ? reply.raw.statusCode : null;
    const route = routeOptions.url ?? null;
    request.log.info(
      { method, route, status, milliseconds: Math.round(10 * milliseconds) / 10, account: principal?.account.id, key: principal?.keyHint },
      'request',
    );
    observe({ method, route, status, seconds: milliseconds / 1_000 });
  });
}

/** The same for what could not be read as a request. */
export function logBrokenRequest(logger: FastifyBaseLogger, requestId: string, status: number, observe: (record: RequestRecord) => void): void {
  logger.info({ requestId, method: null, route: null, status }, 'request');
  observe({ method: null, route: null, status, seconds: 0 });
}
