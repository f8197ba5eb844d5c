import type { ServiceError } from '../errors.ts';

/** An error as REST clients get it. */
export interface ErrorBody {
  readonly error: string;
  readonly status: number;
  readonly code: string;
  readonly request_id: string;
  readonly details?: readonly { readonly field: string; readonly message: string }[];
}

/** The body of a 429, as the specification gives it; `retry_after` in seconds. */
export interface RateLimitBody {
  readonly error: 'rate_limit_exceeded';
  readonly message: string;
  readonly retry_after: number;
}

/** Body and headers of an error response. */
export function errorResponse(
  failure: ServiceError,
  requestId: string,
): { status: number; headers: Record<string, string>; body: ErrorBody | RateLimitBody } {
  if (failure.code === 'rate_limit_exceeded')
    return {
      status: failure.status,
      headers: headersOf(failure),
      body: { error: failure.code, message: failure.message, retry_after: failure.retryAfterSeconds! },
    };
  const details = failure.problems.map(({ path, message }) => ({ field: path.join('.') || 'body', message }));
  const fields = [...new Set(details.map(({ field }) => field))];
  const sentence = details.length === 1 ? `${fields[0]}: ${details[0]!.message}` : fields.join(', ');
  return {
    status: failure.status,
    headers: headersOf(failure),
    body: {
      error: details.length > 0 ? `Invalid ${sentence}` : failure.message,
      status: failure.status,
      code: failure.code,
      request_id: requestId,
      ...(details.length > 0 ? { details } : {}),
    },
  };
}

/** What each status asks for by way of headers, over REST and GraphQL alike. */
export function headersOf(failure: ServiceError): Record<string, string> {
  return {
    ...(failure.code === 'unauthenticated' ? { 'www-authenticate': 'Bearer' } : {}),
    ...(failure.retryAfterSeconds === undefined ? {} : { 'retry-after': String(failure.retryAfterSeconds) }),
  };
}
