import { loadConfig } from '../config.ts';
import { deadlineIn } from '../deadline.ts';
import { createEmbedder } from '../embedding/provider.ts';
import { migrate } from '../graph/migrations.ts';
import { openDatabase } from '../graph/open.ts';
import { reembed } from '../modules/vectors/reembedding.ts';
import { createVectorStore } from '../modules/vectors/store.ts';
import { readArguments, runCommand, UsageError, withDatabase } from './command-line.ts';

const USAGE = `Usage: npm run reembed

Embeds all memories anew with the model that the configuration says (EMBEDDING_PROVIDER, EMBEDDING_MODEL, EMBEDDING_DIMENSIONS).
Stop the service first. Broken off, the command goes on where it was; until it is done the service does not start.`;

await runCommand(async () => {
  if (readArguments({}, USAGE).action !== undefined) throw new UsageError(USAGE);
  await withDatabase(openDatabase, 'npm run reembed', async ({ database }, { report, signal }) => {
    await migrate(database, report);
    const store = createVectorStore(database);
    const known = async () => {
      const record = await store.readRecord(deadlineIn(30_000));
      return record?.next ?? record?.current ?? null;
    };
    // A server that is slow with long texts is waited for, as nobody waits for an answer meanwhile.
    const embedder = await createEmbedder({ ...loadConfig(), requestTimeout: 240_000 }, { known, report, signal });
    try {
      const count = await reembed({ store, embedder, report, signal });
      if (count === null) report(`Nothing to do: the memories are embedded with ${embedder.model} (${embedder.dimensions} dimensions)`);
      else report(`Done. The service starts with ${embedder.model} now: npm start`);
    } finally {
      await embedder.close();
    }
  });
});
