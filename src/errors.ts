/** Every error code of the service and the HTTP status that goes with it (the one table). */
export const STATUS_OF_CODE = {
  invalid_parameter: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  rate_limit_exceeded: 429,
  internal: 500,
  unavailable: 503,
} as const;

export type ErrorCode = keyof typeof STATUS_OF_CODE;

/** One wrong field. `path` is in the domain's names (camelCase); each adapter renders it in its own. */
export interface FieldProblem {
  path: readonly (string | number)[];
  message: string;
}

/** An expected failure. Anything else that is thrown is logged in full and masked as `internal`. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly problems: readonly FieldProblem[];
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, message: string, options: { problems?: readonly FieldProblem[]; retryAfterSeconds?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.problems = options.problems ?? [];
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  get status(): number {
    return STATUS_OF_CODE[this.code];
  }
}

/** 400 that lists every wrong field at once. */
export function invalidParameter(problems: readonly FieldProblem[]): ServiceError {
  const fields = problems.map((problem) => problem.path.join('.') || 'request');
  return new ServiceError('invalid_parameter', `Invalid ${fields.length === 1 ? 'parameter' : 'parameters'}: ${[...new Set(fields)].join(', ')}`, {
    problems,
  });
}

/** 404, the same for what is missing and for what belongs to someone else. */
export function notFound(message = 'Memory not found'): ServiceError {
  return new ServiceError('not_found', message);
}

/** 401; for a missing key unless it says otherwise. */
export function unauthenticated(message = 'Missing API key: send the header Authorization: Bearer <API_KEY>'): ServiceError {
  return new ServiceError('unauthenticated', message);
}

/** 403. */
export function forbidden(message: string): ServiceError {
  return new ServiceError('forbidden', message);
}

/** 412: the memory is not, or no longer, of the version that the caller knows. */
export function preconditionFailed(): ServiceError {
  return new ServiceError('precondition_failed', 'The memory has another version by now; read it again, and repeat with its version');
}

/** 409: the request conflicts with an earlier one. */
export function conflict(message: string): ServiceError {
  return new ServiceError('conflict', message);
}

/** 429: a limit is spent, until so many seconds have passed. */
export function rateLimitExceeded(message: string, retryAfterSeconds: number): ServiceError {
  return new ServiceError('rate_limit_exceeded', message, { retryAfterSeconds });
}

/** 503: a dependency is away, or the request's deadline passed. */
export function unavailable(message: string, cause?: unknown): ServiceError {
  return new ServiceError('unavailable', message, { retryAfterSeconds: 1, cause });
}

/** Turns whatever was thrown into a ServiceError; what is not one becomes `internal` with the original as its cause. */
export function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return new ServiceError('internal', 'Something went wrong on our side; the request id finds it in the log', { cause: error });
}
