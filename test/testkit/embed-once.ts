// A process that embeds one text and ends, for tests that look at what it leaves behind.
import { createLocalEmbedder, type LocalEmbedderSettings } from '../../src/embedding/local.ts';

const embedder = await createLocalEmbedder(JSON.parse(process.env['MODEL_FILES']!) as LocalEmbedderSettings);
console.log(`${(await embedder.embedQuery('text', {})).length} dimensions`);
await embedder.close();
