import { parseArgs, type ParseArgsConfig } from 'node:util';
import { loadConfig } from '../config.ts';
import { deadlineIn } from '../deadline.ts';
import { migrate } from '../graph/migrations.ts';
import { joinDatabase, type OpenDatabase, type OpenOptions } from '../graph/open.ts';
import type { Author } from '../modules/access/audit.ts';
import { type AccessStore, createAccessStore, type StoredAccount } from '../modules/access/store.ts';

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

/** The access store of the configured database; closed again when `work` has settled. */
export function withAccessStore(purpose: string, work: (store: AccessStore) => Promise<void>): Promise<void> {
  return withDatabase(joinDatabase, purpose, async ({ database }, { report }) => {
    await migrate(database, report);
    await work(createAccessStore(database));
  });
}

/** As whom the commands change something now. */
export function byCommand(): Author {
  return { actor: 'command', at: Date.now() };
}

/** The account of that name. Throws, and says how to create it, when there is none. */
export async function requireAccount(store: AccessStore, name: string): Promise<StoredAccount> {
  const account = await store.findAccountByName(name, deadlineIn(30_000));
  if (!account) throw new Error(`There is no account '${name}'; create it with: npm run accounts -- create ${name}`);
  return account;
}

/** The configured database as `open` opens it; closed again when `work` has settled. */
export async function withDatabase(
  open: typeof joinDatabase,
  purpose: string,
  work: (opened: OpenDatabase, options: OpenOptions) => Promise<void>,
): Promise<void> {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort(new Error(`stopped by ${signal}`)));
  // Standard output carries the result alone, so that it can be piped.
  const options = { purpose, report: (line: string) => console.error(line), signal: interrupted.signal };
  const opened = await open(loadConfig(), options);
  try {
    await work(opened, options);
  } finally {
    await opened.close();
  }
}
