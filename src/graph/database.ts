import { setTimeout as delay } from 'node:timers/promises';
import neo4j, { type Driver, isRetryableError, Neo4jError } from 'neo4j-driver';
import { type Deadline, deadlinePassed, raceDeadline } from '../deadline.ts';
import { ServiceError, unavailable } from '../errors.ts';

export type Parameters = Readonly<Record<string, unknown>>;
export type Row = Record<string, unknown>;
/** Runs one statement inside a transaction. */
export type Run = (statement: string, parameters: Parameters) => Promise<Row[]>;

export interface DatabaseOptions {
  readonly uri: string;
  readonly username: string;
  readonly password: string;
  readonly database: string;
}

/**
 * The only way to Neo4j. Each call is one managed transaction with the caller's deadline: repeated on passing errors, so a
 * writing one must be safe to repeat even after it committed (see Commit in migrations.ts).
 * Whole numbers are sent as integers. Throws a ServiceError `unavailable` when the database is away or the deadline passed;
 * a statement's own errors pass through as Neo4jError.
 */
export interface Database {
  read(statement: string, parameters: Parameters, deadline: Deadline): Promise<Row[]>;
  write(statement: string, parameters: Parameters, deadline: Deadline): Promise<Row[]>;
  /** Several statements that commit together. `work` may run more than once. */
  transaction<T>(work: (run: Run) => Promise<T>, deadline: Deadline): Promise<T>;
  /** DDL, which can't share a managed transaction with data. */
  define(statement: string, deadline: Deadline): Promise<void>;
  close(): Promise<void>;
}

const POOL_SIZE = 50;
/** Milliseconds before the first and before a late repeat. */
const FIRST_PAUSE = 10;
const LONGEST_PAUSE = 500;

export function connectDatabase(options: DatabaseOptions): Database {
  let driver = createDriver(options);
  let abandoned = 0;

  async function call<T>(work: (driver: Driver) => Promise<T>, deadline: Deadline): Promise<T> {
    if (deadline.signal.aborted) throw deadlinePassed();
    const used = driver;
    let settled = false;
    const running = repeat(() => work(used), deadline).finally(() => (settled = true));
    try {
      return await raceDeadline(running, deadline);
    } catch (error) {
      if (!settled) abandon(used, running);
      throw translate(error);
    }
  }

  // A half-open connection outlives the driver's own time-outs and keeps its place in the pool for minutes; with half the
  // pool lost that way only a new driver answers again.
  function abandon(used: Driver, running: Promise<unknown>): void {
    if (used === driver && ++abandoned >= POOL_SIZE / 2) {
      driver = createDriver(options);
      abandoned = 0;
      used.close().catch(() => undefined);
    }
    const finished = () => {
      if (used === driver && abandoned > 0) abandoned--;
    };
    running.then(finished, finished);
  }

  const query = (routing: 'READ' | 'WRITE') => (statement: string, parameters: Parameters, deadline: Deadline) =>
    call(async (driver) => {
      const { records } = await driver.executeQuery(`CYPHER 25\n${statement}`, encode(parameters), {
        database: options.database,
        routing,
        transactionConfig: { timeout: timeoutOf(deadline) },
        signal: deadline.signal,
      });
      return records.map((record) => record.toObject());
    }, deadline);

  return {
    read: query('READ'),
    write: query('WRITE'),

    transaction: (work, deadline) =>
      call(async (driver) => {
        const session = driver.session({ database: options.database, bookmarkManager: driver.executeQueryBookmarkManager });
        try {
          return await session.executeWrite(
            (transaction) => {
              if (deadline.signal.aborted) throw deadlinePassed();
              return work(async (statement, parameters) => {
                const { records } = await transaction.run(`CYPHER 25\n${statement}`, encode(parameters));
                return records.map((record) => record.toObject());
              });
            },
            { timeout: timeoutOf(deadline) },
          );
        } finally {
          await session.close();
        }
      }, deadline),

    define: (statement, deadline) =>
      call(async (driver) => {
        const session = driver.session({ database: options.database });
        try {
          await session.run(`CYPHER 25\n${statement}`, {}, { timeout: timeoutOf(deadline) });
        } finally {
          await session.close();
        }
      }, deadline),

    close: () => driver.close(),
  };
}

function createDriver({ uri, username, password }: DatabaseOptions): Driver {
  return neo4j.driver(uri, neo4j.auth.basic(username, password), {
    disableLosslessIntegers: true,
    maxConnectionPoolSize: POOL_SIZE,
    connectionTimeout: 5_000,
    connectionAcquisitionTimeout: 8_000,
    maxTransactionRetryTime: 0,
    notificationFilter: { minimumSeverityLevel: 'OFF' },
    telemetryDisabled: true,
  });
}

/**
 * Repeats what failed for a passing reason, within the deadline. Not left to the driver, which waits a second before its
 * first repeat while everyone whose store is in the same batch waits with it.
 */
async function repeat<T>(work: () => Promise<T>, { signal }: Deadline): Promise<T> {
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    try {
      return await work();
    } catch (error) {
      if (!isPassing(error) || signal.aborted) throw error;
      await delay(pause * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
      if (signal.aborted) throw error;
    }
  }
}

/** The server ends a transaction by itself after this many milliseconds; 0 would mean never. */
function timeoutOf(deadline: Deadline): number {
  return Math.max(1, deadline.remaining());
}

/** JavaScript has one kind of number and the driver sends it as a float, which LIMIT and list indexes refuse. */
function encode(value: Parameters): Parameters {
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, encodeValue(entry)]));
}

function encodeValue(value: unknown): unknown {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? neo4j.int(value) : value;
  if (value instanceof Float32Array) return neo4j.vector(value);
  if (Array.isArray(value)) return value.map(encodeValue);
  if (value !== null && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype) return encode(value as Parameters);
  return value;
}

function translate(error: unknown): unknown {
  if (error instanceof ServiceError) return error;
  if (isDatabaseAway(error)) return unavailable('The database is not reachable at the moment; try again', error);
  return error;
}

/** A connection that is cut while it logs in is a ProtocolError to the driver, which it does not count as passing. */
function isPassing(error: unknown): boolean {
  return error instanceof Neo4jError && (isRetryableError(error) || error.code === 'ProtocolError');
}

function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Neo4jError)) return error instanceof Error && error.name === 'AbortError';
  return (
    isPassing(error) ||
    error.code === 'N/A' ||
    error.code.startsWith('ServiceUnavailable') ||
    error.code.startsWith('Neo.TransientError') ||
    error.code.startsWith('Neo.ClientError.Transaction.TransactionTimedOut') ||
    error.code.startsWith('Neo.ClientError.Security')
  );
}
