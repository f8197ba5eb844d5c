import { resolve } from 'node:path';
import { checkBackup, restore } from '../backup/restore.ts';
import { migrate } from '../graph/migrations.ts';
import { openDatabase } from '../graph/open.ts';
import { readArguments, runCommand, UsageError, withDatabase } from './command-line.ts';

const USAGE = `Usage: npm run restore -- FILE

  FILE   a file that npm run backup has written. The database must be empty, and the service must not run on it.`;

await runCommand(async () => {
  const { action: file, others } = readArguments({}, USAGE);
  if (!file || others.length > 0) throw new UsageError(USAGE);
  const path = resolve(file);
  console.error(`Checking ${path} …`);
  const contents = await checkBackup(path);
  await withDatabase(openDatabase, 'npm run restore', async (opened, { report, signal }) => {
    await restore(opened, contents, { path, report, signal });
    await migrate(opened.database, report);
    report(`The database is as it was on ${contents.header.at}, with its API keys.`);
  });
});
