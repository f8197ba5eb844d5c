import { setTimeout as delay } from 'node:timers/promises';
import neo4j, { type Driver, isRetryableError, Neo4jError, type Record as DriverRecord, type Session, type SessionMode } from 'neo4j-driver';
import { type Deadline, deadlineIn, deadlinePassed, raceDeadline } from '../deadline.ts';
import { ServiceError, unavailable } from '../errors.ts';

export type Parameters = Readonly<Record<string, unknown>>;
export type Row = Record<string, unknown>;
/** Runs one statement inside a transaction. */
export type Run = (statement: string, parameters: Parameters) => Promise<Row[]>;

type Work<T> = (session: Session, config: { timeout: number }) => Promise<T>;

export interface DatabaseOptions {
  readonly uri: string;
  readonly username: string;
  readonly password: string;
  readonly database: string;
}

/**
 * The only way to Neo4j. Each call is one transaction with the caller's deadline: repeated on passing errors, so a
 * writing one must be safe to repeat even after it committed (see Commit in migrations.ts).
 * Whole numbers are sent as integers. Throws a ServiceError `unavailable` when the database is away or the deadline passed;
 * a statement's own errors pass through as Neo4jError.
 */
export interface Database {
  read(statement: string, parameters: Parameters, deadline: Deadline): Promise<Row[]>;
  write(statement: string, parameters: Parameters, deadline: Deadline): Promise<Row[]>;
  /** Several statements that commit together. `work` may run more than once. */
  transaction<T>(work: (run: Run) => Promise<T>, deadline: Deadline): Promise<T>;
  /** DDL, which can't share a managed transaction with data. What is there already is left as it is. */
  define(statement: string, deadline: Deadline): Promise<void>;
  close(): Promise<void>;
}

/** A database whose server may come back at another address. */
export interface MovableDatabase extends Database {
  /** From now on calls go to that address. */
  moveTo(uri: string): void;
}

const POOL_SIZE = 50;
/** Milliseconds after its deadline from when an unsettled call counts as lost. */
const ABANDONED_AFTER = 2_000;
/** Milliseconds before the first and before a late repeat. */
const FIRST_PAUSE = 10;
const LONGEST_PAUSE = 500;
/** Milliseconds for which a constraint may be in the making, of which there is only the index as yet. */
const UNFINISHED_FOR = 30_000;
/** Milliseconds for which a server that can't be reached is tried again; before that it may have taken its time. */
const UNREACHABLE_FOR = 2_000;

/**
 * What a server says that has found its disk full: it takes no writes, or nothing at all, until it is started anew. What it failed to commit may be
 * there then.
 */
const BROKEN = [
  'Neo.ClientError.General.ForbiddenOnReadOnlyDatabase',
  'Neo.ClientError.General.WriteOnReadOnlyAccessDatabase',
  'Neo.DatabaseError.Transaction.TransactionStartFailed',
  'Neo.DatabaseError.Transaction.TransactionCommitFailed',
];

/** Opens a pool of connections; nothing is sent until the first call. */
export function connectDatabase(given: DatabaseOptions): MovableDatabase {
  let options = given;
  // One for all drivers, so that a new one still reads what the one before has written.
  const bookmarkManager = neo4j.bookmarkManager();
  let driver = createDriver(options);
  let abandoned = 0;

  async function call<T>(mode: SessionMode, work: Work<T>, deadline: Deadline): Promise<T> {
    if (deadline.signal.aborted) throw deadlinePassed();
    const running = repeat(() => attempt(mode, work, deadline), deadline);
    try {
      return await raceDeadline(running, deadline);
    } catch (error) {
      if (deadline.signal.aborted) watch(running, driver);
      throw translate(error);
    }
  }

  async function attempt<T>(mode: SessionMode, work: Work<T>, deadline: Deadline): Promise<T> {
    const session = driver.session({ database: options.database, defaultAccessMode: mode, bookmarkManager });
    // Rolls back what is open, at once; the server's own look at time-outs comes every two seconds. What was committed stays,
    // so a failure of closing is nothing to report.
    const close = () => session.close().catch(() => undefined);
    const onDeadline = () => void close();
    deadline.signal.addEventListener('abort', onDeadline, { once: true });
    try {
      return await work(session, { timeout: Math.max(1, deadline.remaining()) });
    } finally {
      deadline.signal.removeEventListener('abort', onDeadline);
      await close();
    }
  }

  // A half-open connection outlives the driver's own time-outs and keeps its place in the pool for minutes; with half the
  // pool lost that way only a new driver answers again.
  function watch(running: Promise<unknown>, used: Driver): void {
    let lost = false;
    const timer = setTimeout(() => {
      lost = used === driver;
      if (lost && ++abandoned >= POOL_SIZE / 2) replaceDriver();
    }, ABANDONED_AFTER);
    timer.unref();
    const settled = () => {
      clearTimeout(timer);
      if (lost && used === driver) abandoned--;
    };
    running.then(settled, settled);
  }

  /** The old driver keeps its connections for a while, because closing it would leave the calls on them without an answer. */
  function replaceDriver(): void {
    const old = driver;
    driver = createDriver(options);
    abandoned = 0;
    setTimeout(() => void old.close().catch(() => undefined), 60_000).unref();
  }

  /** One round trip, and locks are held no longer than it takes: a connection that falls silent before a commit would hold them until its time-out. */
  function run(mode: SessionMode, statement: string, parameters: Parameters, deadline: Deadline): Promise<Row[]> {
    const text = `CYPHER 25\n${statement}`;
    return call(mode, async (session, config) => rowsOf((await session.run(text, encode(parameters), config)).records), deadline);
  }

  return {
    read: (statement, parameters, deadline) => run('READ', statement, parameters, deadline),
    write: (statement, parameters, deadline) => run('WRITE', statement, parameters, deadline),
    transaction: (work, deadline) =>
      call(
        'WRITE',
        async (session, config) => {
          const transaction = session.beginTransaction(config);
          const result = await work(async (statement, parameters) => {
            const { records } = await transaction.run(`CYPHER 25\n${statement}`, encode(parameters));
            return rowsOf(records);
          });
          await transaction.commit();
          return result;
        },
        deadline,
      ),
    async define(statement, deadline) {
      for (const startedAt = performance.now(); ; await delay(LONGEST_PAUSE))
        try {
          return void (await run('WRITE', statement, {}, deadline));
        } catch (error) {
          // IF NOT EXISTS does not see what another process, or one before that was ended, is making at the moment.
          const code = error instanceof Neo4jError ? error.code : '';
          if (code === 'Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists') return;
          if (code !== 'Neo.ClientError.Schema.IndexWithNameAlreadyExists' || performance.now() - startedAt > UNFINISHED_FOR) throw error;
        }
    },
    moveTo(uri) {
      options = { ...options, uri };
      replaceDriver();
    },
    close: () => driver.close(),
  };
}

function createDriver({ uri, username, password }: DatabaseOptions): Driver {
  return neo4j.driver(uri, neo4j.auth.basic(username, password), {
    disableLosslessIntegers: true,
    maxConnectionPoolSize: POOL_SIZE,
    connectionTimeout: 5_000,
    connectionAcquisitionTimeout: 8_000,
    notificationFilter: { minimumSeverityLevel: 'OFF' },
    telemetryDisabled: true,
  });
}

/**
 * Repeats what failed for a passing reason, within the deadline. Not left to the driver, which waits a second before its
 * first repeat while everyone whose store is in the same batch waits with it.
 */
async function repeat<T>(work: () => Promise<T>, { signal }: Deadline): Promise<T> {
  let unreachableSince = Infinity;
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    try {
      return await work();
    } catch (error) {
      unreachableSince = isUnreachable(error) ? Math.min(unreachableSince, performance.now()) : Infinity;
      const isHopeless = performance.now() - unreachableSince > UNREACHABLE_FOR;
      if (!isPassing(error) || isHopeless || signal.aborted) throw error;
      await delay(pause * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
      if (signal.aborted) throw error;
    }
  }
}

function rowsOf(records: readonly DriverRecord[]): Row[] {
  return records.map((record) => record.toObject());
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
  return isBrokenHandshake(error) || (error instanceof Neo4jError && (isRetryableError(error) || error.code === 'ProtocolError'));
}

/** The driver reads beyond the end of a server's first answer when that comes in pieces, or only in part. */
function isBrokenHandshake(error: unknown): boolean {
  return error instanceof RangeError && (error as NodeJS.ErrnoException).code === 'ERR_OUT_OF_RANGE';
}

function isUnreachable(error: unknown): boolean {
  return error instanceof Neo4jError && error.code === 'ServiceUnavailable';
}

/** Whether the server answers and yet must be started anew before it takes writes again. */
export async function isBroken(database: Pick<Database, 'read'>): Promise<boolean> {
  try {
    await database.read('MATCH (n) RETURN n LIMIT 0', {}, deadlineIn(2_000));
    const rows = await database.read('SHOW DATABASES YIELD statusMessage', {}, deadlineIn(2_000));
    return rows.some(({ statusMessage }) => String(statusMessage).includes('read only mode'));
  } catch (error) {
    const { cause } = error as Error;
    return cause instanceof Neo4jError && BROKEN.includes(cause.code);
  }
}

function isDatabaseAway(error: unknown): boolean {
  if (isPassing(error)) return true;
  if (!(error instanceof Neo4jError)) return false;
  return (
    error.code === 'N/A' ||
    error.code.startsWith('Neo.TransientError') ||
    error.code.startsWith('Neo.ClientError.Transaction.TransactionTimedOut') ||
    error.code.startsWith('Neo.ClientError.Security') ||
    BROKEN.includes(error.code)
  );
}
