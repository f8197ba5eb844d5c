import { parseArgs, type ParseArgsConfig } from 'node:util';
import { loadConfig } from '../config.ts';
import { migrate } from '../graph/migrations.ts';
import { joinDatabase } from '../graph/open.ts';
import { type AccessStore, createAccessStore } from '../modules/access/store.ts';

/** The command was called wrongly; the message says how it is called. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

type Options = NonNullable<ParseArgsConfig['options']>;

/** The action, its options and what else was given, from `npm run NAME -- ACTION …`. Throws a UsageError. */
export function readArguments<Given extends Options>(options: Given, usage: string) {
  if (process.argv.includes('--help')) throw new UsageError(usage);
  try {
    const { values, positionals } = parseArgs({ args: process.argv.slice(3), options, allowPositionals: true, strict: true });
    const [action, ...others] = positionals;
    return { action, others, values };
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  }
}

/** Runs a command on the database of the service, whether that runs or not, and ends the process. */
export async function runCommand(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
  process.exit();
}

/** Aborts when the command is told to stop. */
export function interruption(): AbortSignal {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort(new Error(`stopped by ${signal}`)));
  return interrupted.signal;
}

/** The access store of the configured database; closed again when `work` has settled. */
export async function withAccessStore(purpose: string, work: (store: AccessStore) => Promise<void>): Promise<void> {
  // Standard output carries the result alone, so that it can be piped.
  const report = (line: string) => console.error(line);
  const opened = await joinDatabase(loadConfig(), { purpose, report, signal: interruption() });
  try {
    await migrate(opened.database, report);
    await work(createAccessStore(opened.database));
  } finally {
    await opened.close();
  }
}
