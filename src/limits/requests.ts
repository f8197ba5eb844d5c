import type { FastifyRequest } from 'fastify';
import { rateLimitExceeded, type ServiceError } from '../errors.ts';
import type { Plans } from '../modules/usage/plans.ts';
import { networkOf } from './address.ts';
import type { Allowance, RateLimiter, Subject } from './rate-limiter.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What the caller has left; null when nothing was taken for this request. */
    allowance: Allowance | null;
  }
}

export interface RequestLimits {
  /** Takes from the minute of the request's key, or of its address when there is no valid one. Throws 429 when not so many requests are left. */
  charge(request: FastifyRequest, requests: number): Promise<void>;
  /** Takes one from the minute of an address: the headers, and the 429 when there is none left. */
  chargeAddress(address: string): Promise<{ headers: Record<string, string>; refusal: ServiceError | null }>;
  /** What every response says of the limit. */
  headersFor(request: FastifyRequest): Promise<Record<string, string>>;
}

/** Each key has the limit of its account's plan; callers without a valid key share that of their address. */
export function createRequestLimits(limiter: RateLimiter, plans: Plans, addressLimit: number): RequestLimits {
  const ofAddress = (address: string): Subject => ({ kind: 'address', id: networkOf(address) ?? 'unknown', limit: addressLimit });

  function subjectOf({ principal, ip, socket }: FastifyRequest): Subject {
    if (principal) return { kind: 'key', id: principal.keyId, limit: plans.of(principal.account.plan).requestsPerMinute };
    // A proxy passes on what it was sent, which need not be an address.
    return ofAddress(networkOf(ip) ? ip : (socket.remoteAddress ?? ''));
  }

  return {
    async charge(request, requests) {
      const subject = subjectOf(request);
      const { taken, allowance } = await limiter.take(subject, requests);
      request.allowance = allowance;
      if (!taken) throw refusalOf(subject, allowance, requests);
    },
    async chargeAddress(address) {
      const subject = ofAddress(address);
      const { taken, allowance } = await limiter.take(subject, 1);
      return { headers: headersOf(allowance), refusal: taken ? null : refusalOf(subject, allowance, 1) };
    },
    headersFor: async (request) => headersOf(request.allowance ?? (await limiter.look(subjectOf(request)))),
  };
}

function headersOf({ limit, remaining, resetAt }: Allowance): Record<string, string> {
  return {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(Math.ceil(resetAt / 1_000)),
  };
}

function refusalOf({ kind, limit }: Subject, { remaining, resetAt }: Allowance, requests: number): ServiceError {
  const seconds = Math.max(1, Math.ceil((resetAt - Date.now()) / 1_000));
  const whose = kind === 'key' ? 'This API key has' : 'Without a valid API key this address has';
  const reason =
    remaining > 0
      ? `${whose} ${remaining} of its ${limit} requests a minute left, and this document takes another ${requests}, one for each of its root fields but the first`
      : `${whose} ${limit} requests a minute, and they are used up`;
  return rateLimitExceeded(`${reason}; try again in ${seconds} s`, seconds);
}
