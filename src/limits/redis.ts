import { Redis } from 'ioredis';

export interface RedisSettings {
  readonly url: string;
  /** What every key begins with, so that several services can share a Redis. */
  readonly prefix: string;
}

/** A Redis that may go away at any time, and that nobody waits for. */
export interface RedisConnection {
  readonly client: Redis;
  readonly prefix: string;
  /** While false no command is to be sent. */
  isThere(): boolean;
  /** Notes that a command failed: from now on Redis is asked by a probe alone, until it answers. */
  fail(error: unknown): void;
  /** Settles when it is there, or is known not to be, or after a second. */
  readonly tried: Promise<void>;
  close(): void;
}

/**
 * Milliseconds for which the commands under way wait when Redis stops answering; those after them don't. More than a busy
 * process may take until it reads an answer, or it would count alone just when it has most to do.
 */
const COMMAND_TIMEOUT = 1_000;
const PROBE_EVERY = 1_000;
/** Milliseconds of silence after which a connection is taken for dead and made anew. */
const SILENCE = 3_000;

/** Connects, and connects again whenever the connection ends. */
export function connectRedis({ url, prefix }: RedisSettings, report: (line: string) => void): RedisConnection {
  const client = new Redis(url, {
    commandTimeout: COMMAND_TIMEOUT,
    connectTimeout: SILENCE,
    socketTimeout: SILENCE,
    retryStrategy: () => PROBE_EVERY,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
  });
  let probing: NodeJS.Timeout | undefined;
  let isReported = false;
  let isClosed = false;

  const isThere = () => client.status === 'ready' && !probing;

  function away(error: unknown): void {
    if (!isReported) report(`Redis does not answer; requests are counted in this process until it does: ${messageOf(error)}`);
    isReported = true;
  }

  function back(): void {
    if (isReported && isThere()) {
      report('Redis answers again');
      isReported = false;
    }
  }

  /** A write, because a full Redis and a read-only one answer a PING as well. */
  function probe(): void {
    client.set(`${prefix}:probe`, '', 'EX', 60).then(
      () => {
        probing = undefined;
        back();
      },
      () => {
        if (!isClosed) probing = setTimeout(probe, PROBE_EVERY);
      },
    );
  }

  let lastError: unknown;
  client.on('error', (error) => (lastError = error));
  client.on('close', () => away(lastError ?? 'the connection was closed'));
  client.on('ready', () => {
    lastError = undefined;
    back();
  });
  const tried = new Promise<void>((resolve) => {
    for (const event of ['ready', 'close']) client.once(event, () => resolve());
    setTimeout(resolve, 1_000).unref();
  });

  return {
    client,
    prefix,
    isThere,
    fail(error) {
      if (probing) return;
      probing = setTimeout(probe, PROBE_EVERY);
      away(error);
    },
    tried,
    close() {
      isClosed = true;
      client.removeAllListeners('close');
      client.disconnect();
      clearTimeout(probing);
    },
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
