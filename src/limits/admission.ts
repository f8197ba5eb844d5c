import type { FastifyInstance, FastifyRequest } from 'fastify';
import { unavailable } from '../errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    isAdmitted: boolean;
  }
}

export interface AdmissionOptions {
  readonly isExempt: (request: FastifyRequest) => boolean;
  readonly onRefusal: () => void;
}

/** How many requests are being worked on. */
export interface Admission {
  readonly working: () => number;
}

/**
 * Lets at most `limit` requests be worked on at once; others are refused at once with a 503, because those who wait too long
 * go away, or come twice. Work is from when the body has arrived until the answer is ready, also when the client has gone
 * by then: a slow reader or writer takes nobody's place.
 */
export function admitAtMost(limit: number, app: FastifyInstance, { isExempt, onRefusal }: AdmissionOptions): Admission {
  let working = 0;
  app.decorateRequest('isAdmitted', false);
  app.addHook('preHandler', (request, _reply, done) => {
    if (isExempt(request)) return done();
    if (working >= limit) {
      onRefusal();
      return done(unavailable('The service has more to do than it can; try again'));
    }
    working++;
    request.isAdmitted = true;
    done();
  });
  app.addHook('onSend', (request, _reply, payload, done) => {
    if (request.isAdmitted) working--;
    request.isAdmitted = false;
    done(null, payload);
  });
  return { working: () => working };
}
