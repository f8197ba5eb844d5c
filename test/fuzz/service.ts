import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '../testkit/client.ts';
import { DIMENSIONS, embeddingBy, startEmbeddingServer } from '../testkit/embedding-server.ts';
import { startReady } from '../testkit/npm-start.ts';

/** A service as it is started, for an account without limits. */
export async function startForFuzzing(): Promise<{ client: Client; close(): Promise<void> }> {
  const embedder = await startEmbeddingServer({ dimensions: DIMENSIONS });
  const dataDir = mkdtempSync(join(tmpdir(), 'memory-fuzz-'));
  const service = await startReady(dataDir, { ...embeddingBy(embedder.url), LOG_LEVEL: 'error', METRICS_PORT: '0' });
  return {
    client: service.client,
    async close() {
      await service.kill('SIGTERM');
      await embedder.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
