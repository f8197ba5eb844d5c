import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { loadEnvFile } from 'node:process';
import { z } from 'zod';
import { isApiKey } from './modules/access/key.ts';
import { createPlans, type Plans } from './modules/usage/plans.ts';
import { commaSeparated } from './validation.ts';

const DURATION_UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const duration = (maximum: string) =>
  z.string().transform((text, issue) => {
    const milliseconds = readDuration(text);
    if (milliseconds >= DURATION_UNITS.s && milliseconds <= readDuration(maximum)) return milliseconds;
    issue.addIssue({ code: 'custom', message: `must be a whole number with a unit s, m, h or d, such as 24h, from 1s to ${maximum}` });
    return z.NEVER;
  });

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** An address, or one with the length of its network's prefix. */
function isProxy(text: string): boolean {
  const [address = '', length = '0', ...rest] = text.split('/');
  return rest.length === 0 && isIP(address) !== 0 && /^\d{1,3}$/.test(length) && Number(length) <= (isIP(address) === 4 ? 32 : 128);
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}

/** The plans with those of a file. */
function readPlans(file: string, issue: z.RefinementCtx<string>): Plans {
  try {
    return createPlans(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    const mistakes = error instanceof z.ZodError ? error.issues.map(({ path, message }) => `${path.join('.') || 'the file'}: ${message}`) : [];
    issue.addIssue({ code: 'custom', message: `${file} has no plans: ${mistakes.length > 0 ? mistakes.join('; ') : (error as Error).message}` });
    return z.NEVER;
  }
}

/** Milliseconds, or NaN. */
function readDuration(text: string): number {
  const match = /^(\d{1,9})(s|m|h|d)$/.exec(text);
  return match ? Number(match[1]) * DURATION_UNITS[match[2] as keyof typeof DURATION_UNITS] : NaN;
}

const flag = z.enum(['true', 'false'], { error: 'must be true or false' }).transform((text) => text === 'true');
const list = z.string().transform(commaSeparated);
const wholeNumber = (minimum: number, maximum: number) => {
  const error = `must be a whole number from ${minimum} to ${maximum}`;
  return z.string().regex(/^\d+$/, { error }).transform(Number).pipe(z.number().min(minimum, { error }).max(maximum, { error }));
};

const Environment = z
  .object({
    PORT: wholeNumber(0, 65_535).default(8080),
    HOST: z.string().min(1).default('127.0.0.1'),
    DATA_DIR: z.string().min(1).default('.data'),
    RUNTIME_DIR: z.string().min(1).optional(),
    NEO4J_URI: z
      .string()
      .regex(/^(neo4j|bolt)(\+s|\+ssc)?:\/\/\S+$/, { error: 'must be a Neo4j address such as neo4j://host:7687 or neo4j+s://host' })
      .optional(),
    NEO4J_USERNAME: z.string().min(1).default('neo4j'),
    NEO4J_PASSWORD: z.string().min(1).optional(),
    NEO4J_DATABASE: z.string().min(1).default('neo4j'),
    NEO4J_HEAP: z
      .string()
      .regex(/^\d+[mg]$/i, { error: 'must be a JVM memory size such as 512m or 2g' })
      .default('512m'),
    MIN_FREE_DISK: z
      .string()
      .regex(/^\d{1,6}[mg]$/i, { error: 'must be a size such as 200m or 1g' })
      .transform((text) => parseInt(text, 10) * (/g$/i.test(text) ? 1_000_000_000 : 1_000_000))
      .default(200_000_000),
    BOOTSTRAP_API_KEY: z
      .string()
      .refine(isApiKey, {
        error: 'must be a key of this service: mem_, 32 letters or digits, and 6 of checksum (`npm run keys -- generate` makes one)',
      })
      .optional(),
    SESSION_TTL: duration('3650d').default(24 * DURATION_UNITS.h),
    REQUEST_TIMEOUT: duration('10m').default(10 * DURATION_UNITS.s),
    LOG_LEVEL: z.enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(', ')}` }).default('info'),
    TRUST_PROXY: z
      .union([
        flag,
        list.refine((proxies) => proxies.every(isProxy), {
          error: 'must be true, false, or addresses such as 10.0.0.1 or 10.0.0.0/8, comma-separated',
        }),
      ])
      .default(false)
      .describe('true, or the addresses of the proxies in front'),
    CORS_ORIGINS: list
      .refine((origins) => origins.every(isOrigin), { error: 'must be origins such as https://example.com, comma-separated' })
      .default([]),
    INTROSPECTION: flag.default(true),
    REDIS_URL: z
      .string()
      .regex(/^rediss?:\/\/\S+$/, { error: 'must be an address such as redis://host:6379, or rediss:// for TLS' })
      .refine((text) => URL.canParse(text), { error: 'must be an address such as redis://host:6379' })
      .optional(),
    REDIS_PREFIX: z
      .string()
      .regex(/^[\w.:-]{1,64}$/, { error: "must be 1 to 64 letters, digits, '_', '.', ':' and '-'" })
      .default('memory-service'),
    MAX_CONCURRENT_REQUESTS: wholeNumber(1, 100_000).default(128),
    METRICS_PORT: wholeNumber(0, 65_535).default(9_464),
    METRICS_HOST: z.string().min(1).default('127.0.0.1'),
    PLANS_FILE: z.string().transform(readPlans).optional(),
    EMBEDDING_PROVIDER: z
      .enum(['local', 'openai'], { error: 'must be local, or openai for OpenAI and everything that speaks its protocol' })
      .default('local'),
    OPENAI_API_KEY: z.string().min(1).optional(),
    OPENAI_BASE_URL: z.url({ protocol: /^https?$/, error: 'must be an address such as https://host/v1' }).optional(),
    EMBEDDING_MODEL: z.string().min(1).max(256).optional(),
    EMBEDDING_DIMENSIONS: wholeNumber(2, 4_096).optional(),
    EMBEDDING_WINDOW: wholeNumber(200, 50_000).optional(),
  })
  .superRefine((values, issue) => {
    const isLocal = values.EMBEDDING_PROVIDER === 'local';
    for (const name of ['EMBEDDING_MODEL', 'EMBEDDING_DIMENSIONS', 'EMBEDDING_WINDOW'] as const)
      if (isLocal && values[name] !== undefined) issue.addIssue({ code: 'custom', path: [name], message: 'is only for EMBEDDING_PROVIDER=openai' });
    if (!isLocal && !values.OPENAI_API_KEY && !values.OPENAI_BASE_URL)
      issue.addIssue({
        code: 'custom',
        path: ['OPENAI_API_KEY'],
        message: 'is required with EMBEDDING_PROVIDER=openai, but for a server of yours at OPENAI_BASE_URL',
      });
    if (values.NEO4J_URI && !values.NEO4J_PASSWORD)
      issue.addIssue({ code: 'custom', path: ['NEO4J_PASSWORD'], message: 'is required with NEO4J_URI' });
  });

/** Where vectors come from: the model that ships with the service, or an OpenAI-compatible API. */
export type EmbeddingConfig =
  | { readonly provider: 'local' }
  | {
      readonly provider: 'openai';
      readonly apiKey: string;
      readonly baseUrl: string | undefined;
      readonly model: string;
      /** Absent: as many as the model gives. */
      readonly dimensions: number | undefined;
      /** Characters that are embedded at once. */
      readonly window: number;
    };

/** The configuration; times in milliseconds, paths absolute. */
export interface Config {
  readonly port: number;
  readonly host: string;
  readonly dataDir: string;
  readonly runtimeDir: string;
  /** A Neo4j that is already there; absent, the service runs one of its own in `dataDir`. */
  readonly neo4j: { readonly uri: string; readonly username: string; readonly password: string } | undefined;
  readonly neo4jDatabase: string;
  readonly neo4jHeap: string;
  /** Bytes below which nothing is stored by the service's own Neo4j. */
  readonly minFreeDisk: number;
  readonly bootstrapApiKey: string | undefined;
  readonly sessionTtl: number;
  readonly requestTimeout: number;
  readonly logLevel: z.output<typeof Environment>['LOG_LEVEL'];
  readonly trustProxy: boolean | string[];
  readonly corsOrigins: readonly string[];
  readonly introspection: boolean;
  readonly plans: Plans;
  /** Where rate limits are counted that several processes share; absent, each counts alone. */
  readonly redis: { readonly url: string; readonly prefix: string } | undefined;
  readonly maxConcurrentRequests: number;
  /** Where metrics are served; absent: nowhere. */
  readonly metrics: { readonly port: number; readonly host: string } | undefined;
  readonly embedding: EmbeddingConfig;
}

/** Every mistake of the configuration, one a line. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Reads `.env` (when there is one) and the environment. Throws a ConfigError that lists all problems at once. */
export function loadConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  if (environment === process.env && existsSync('.env')) loadEnvFile('.env');
  // An empty variable means "not set": Compose and CI systems pass those.
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = Environment.safeParse(given);
  if (!parsed.success) {
    const lines = parsed.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`);
    throw new ConfigError(`The configuration has ${lines.length === 1 ? 'a mistake' : `${lines.length} mistakes`}:\n${lines.join('\n')}`);
  }
  const values = parsed.data;
  const dataDir = resolve(values.DATA_DIR);
  return Object.freeze({
    port: values.PORT,
    host: values.HOST,
    dataDir,
    runtimeDir: values.RUNTIME_DIR ? resolve(values.RUNTIME_DIR) : join(dataDir, 'runtime'),
    neo4j: values.NEO4J_URI ? { uri: values.NEO4J_URI, username: values.NEO4J_USERNAME, password: values.NEO4J_PASSWORD ?? '' } : undefined,
    neo4jDatabase: values.NEO4J_DATABASE,
    neo4jHeap: values.NEO4J_HEAP,
    minFreeDisk: values.MIN_FREE_DISK,
    bootstrapApiKey: values.BOOTSTRAP_API_KEY,
    sessionTtl: values.SESSION_TTL,
    requestTimeout: values.REQUEST_TIMEOUT,
    logLevel: values.LOG_LEVEL,
    trustProxy: values.TRUST_PROXY,
    corsOrigins: values.CORS_ORIGINS,
    introspection: values.INTROSPECTION,
    plans: values.PLANS_FILE ?? createPlans(),
    redis: values.REDIS_URL ? { url: values.REDIS_URL, prefix: values.REDIS_PREFIX } : undefined,
    maxConcurrentRequests: values.MAX_CONCURRENT_REQUESTS,
    metrics: values.METRICS_PORT === 0 ? undefined : { port: values.METRICS_PORT, host: values.METRICS_HOST },
    embedding: embeddingOf(values),
  });
}

function embeddingOf(values: z.output<typeof Environment>): EmbeddingConfig {
  if (values.EMBEDDING_PROVIDER === 'local') return { provider: 'local' };
  return {
    provider: 'openai',
    apiKey: values.OPENAI_API_KEY ?? 'none',
    baseUrl: values.OPENAI_BASE_URL,
    model: values.EMBEDDING_MODEL ?? 'text-embedding-3-small',
    dimensions: values.EMBEDDING_DIMENSIONS,
    window: values.EMBEDDING_WINDOW ?? 4_000,
  };
}
