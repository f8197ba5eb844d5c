import { fileURLToPath } from 'node:url';

/** Where Neo4j's class path and the model are kept between runs; the same folder that `npm start` uses by default. */
export const runtimeDir = process.env['TEST_RUNTIME_DIR'] || fileURLToPath(new URL('../../.data/runtime', import.meta.url));
