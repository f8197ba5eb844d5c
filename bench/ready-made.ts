import type { Embedder } from '../src/embedding/embedder.ts';
import { unitVector } from '../src/embedding/embedder.ts';
import { LOCAL_MODEL } from '../src/embedding/local.ts';
import { randomFrom } from './texts.ts';

/** An embedder without a model: each text has a vector of its own, from its hash, at once. */
export function createReadyMadeEmbedder(): Embedder {
  const embedQuery = (text: string) => Promise.resolve(readyMadeVector(text));
  return {
    ...LOCAL_MODEL,
    embedQuery,
    embedPassage: async (text) => ({ vector: await embedQuery(text), cut: false }),
    status: () => 'ok',
    close: () => Promise.resolve(),
  };
}

export function readyMadeVector(text: string): Float32Array {
  const random = randomFrom(hashOf(text));
  return unitVector(
    Array.from({ length: LOCAL_MODEL.dimensions }, () => random() - 0.5),
    LOCAL_MODEL.dimensions,
  );
}

/** FNV-1a */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}
