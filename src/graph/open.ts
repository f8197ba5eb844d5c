import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { deadlineIn } from '../deadline.ts';
import { connectDatabase, type Database, type DatabaseOptions, isBroken } from './database.ts';
import { DataFolderInUseError, lockDataFolder } from './local/data-folder.ts';
import { type DiskWatch, watchDisk } from './local/disk.ts';
import { existingHome } from './local/home.ts';
import { prepareRuntime } from './local/runtime.ts';
import { findLocalServer, startLocalServer } from './local/server.ts';
import { supervise } from './local/supervisor.ts';

export interface OpenOptions {
  /** Who holds the data folder, for the message that a second one gets. */
  readonly purpose: string;
  readonly report: (line: string) => void;
  readonly signal: AbortSignal;
}

/** A database that answers, and what has to be closed with it. */
export interface OpenDatabase {
  readonly database: Database;
  /** Of the service's own Neo4j. */
  readonly disk: DiskWatch | null;
  /** For what needs connections of its own. */
  readonly address: DatabaseOptions;
  /** Closes the connections, and stops Neo4j when it was started for this. */
  close(): Promise<void>;
}

/** The database of NEO4J_URI, or else the service's own, which is started for it. Throws an Error that says what to do. */
export async function openDatabase(config: Config, options: OpenOptions): Promise<OpenDatabase> {
  return config.neo4j ? connectGiven(config, config.neo4j) : startOwn(config, options);
}

/** The same for a command that may run beside the service: uses the service's Neo4j while that runs. */
export async function joinDatabase(config: Config, options: OpenOptions): Promise<OpenDatabase> {
  if (config.neo4j) return connectGiven(config, config.neo4j);
  for (let attempt = 1; ; attempt++) {
    options.signal.throwIfAborted();
    const running = await findLocalServer(config.dataDir);
    if (running) {
      const address = { ...running, database: config.neo4jDatabase };
      const database = connectDatabase(address);
      return { database, address, disk: null, close: () => database.close() };
    }
    try {
      return await startOwn(config, options);
    } catch (error) {
      // Someone else holds the folder and has not started Neo4j yet.
      if (!(error instanceof DataFolderInUseError) || attempt === 60) throw error;
      if (attempt === 1) options.report('Waiting for the service to start …');
      await delay(1_000, undefined, { signal: options.signal });
    }
  }
}

async function startOwn(config: Config, { purpose, report, signal }: OpenOptions): Promise<OpenDatabase> {
  const folder = await lockDataFolder(config.dataDir, purpose);
  try {
    const runtime = await prepareRuntime({ runtimeDir: config.runtimeDir, report, signal });
    const start = (signal: AbortSignal) => startLocalServer({ dataDir: config.dataDir, runtime, heap: config.neo4jHeap, report, signal });
    const server = await start(signal);
    const address = { ...server, database: config.neo4jDatabase };
    const database = connectDatabase(address);
    const disk = watchDisk(join(config.dataDir, 'neo4j'), config.minFreeDisk, report);
    const supervised = supervise(server, {
      isBroken: () => isBroken(database),
      // Where the folder was deleted under it a start would make a new, empty database.
      canStart: () => disk.shortage() === null && existingHome(config.dataDir) !== null,
      start,
      onMoved: ({ uri }) => database.moveTo(uri),
      report,
    });
    return {
      database,
      address,
      disk,
      close: async () => {
        disk.stop();
        // First of all, because it asks the database how it is.
        const running = await supervised.end();
        try {
          await database.close();
        } finally {
          report('Stopping Neo4j …');
          await running.stop();
          folder.release();
        }
      },
    };
  } catch (error) {
    folder.release();
    throw error;
  }
}

async function connectGiven(config: Config, given: NonNullable<Config['neo4j']>): Promise<OpenDatabase> {
  const address = { ...given, database: config.neo4jDatabase };
  const database = connectDatabase(address);
  try {
    await database.read('RETURN 1', {}, deadlineIn(30_000));
  } catch (error) {
    await database.close();
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new Error(
      `NEO4J_URI ${given.uri} can't be used with the username ${given.username}: ${cause instanceof Error ? cause.message : String(cause)}`,
      {
        cause: error,
      },
    );
  }
  return { database, address, disk: null, close: () => database.close() };
}
