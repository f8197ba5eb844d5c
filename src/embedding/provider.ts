import type { Config } from '../config.ts';
import { prepareModel } from '../graph/local/runtime.ts';
import { withCache } from './cache.ts';
import type { Embedder } from './embedder.ts';
import { createLocalEmbedder } from './local.ts';

export interface ProviderOptions {
  /** What the database's vectors are of; null in a new one. */
  readonly known: () => Promise<{ readonly model: string; readonly dimensions: number } | null>;
  /** Looks at what reaches the model, which is what the cache does not have. */
  readonly watch?: (embedder: Embedder) => Embedder;
  readonly report: (line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * The embedder of the configuration, with its cache.
 * @throws Error that says what is missing or away
 */
export async function createEmbedder(
  config: Pick<Config, 'embedding' | 'runtimeDir' | 'requestTimeout'>,
  options: ProviderOptions,
): Promise<Embedder> {
  const { embedding } = config;
  const { watch = (embedder) => embedder } = options;
  return withCache(
    watch(
      embedding.provider === 'openai' ? await createRemote(embedding, config.requestTimeout, options) : await createLocal(config.runtimeDir, options),
    ),
  );
}

async function createLocal(runtimeDir: string, { report, signal }: ProviderOptions): Promise<Embedder> {
  return createLocalEmbedder(await prepareModel({ runtimeDir, report, signal }));
}

async function createRemote(
  { provider: _, dimensions: requested, ...settings }: Extract<Config['embedding'], { provider: 'openai' }>,
  requestTimeout: number,
  { known, report, signal }: ProviderOptions,
): Promise<Embedder> {
  // Loaded only where it is used: the library takes some ten megabytes of memory.
  const { createOpenAiEmbedder, measureDimensions } = await import('./openai.ts');
  // Half of a request's time, so that the other half is left to store the memory without its vector.
  const connection = { ...settings, timeout: requestTimeout / 2 };
  const dimensions =
    requested ??
    (await measureDimensions(connection, signal).catch(async (error: unknown) => {
      // Away for now: then they are what they were.
      const index = await known();
      if (index?.model !== settings.model) throw error;
      return index.dimensions;
    }));
  return createOpenAiEmbedder({ ...connection, dimensions, requestDimensions: requested !== undefined, report });
}
