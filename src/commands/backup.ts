import { resolve } from 'node:path';
import { backUp } from '../backup/backup.ts';
import { requireWritable } from '../backup/file.ts';
import { joinDatabase } from '../graph/open.ts';
import { readArguments, runCommand, UsageError, withDatabase } from './command-line.ts';

const USAGE = `Usage: npm run backup -- FILE [--force]

  FILE      where the whole database goes, as gzipped lines of JSON; such as memories-2026-09-01.gz
  --force   replace FILE when it is there already`;

await runCommand(async () => {
  const { action: file, others, values } = readArguments({ force: { type: 'boolean', default: false } }, USAGE);
  if (!file || others.length > 0) throw new UsageError(USAGE);
  const path = resolve(file);
  requireWritable(path, values);
  await withDatabase(joinDatabase, 'npm run backup', async (opened, { report, signal }) => {
    const { at, nodes, relationships, heldMilliseconds } = await backUp(opened, { path, report, signal });
    console.error(
      `${path} has the database as of ${at}: ${nodes} nodes and ${relationships} relationships. Writes waited ${(heldMilliseconds / 1000).toFixed(1)} s.`,
    );
  });
});
