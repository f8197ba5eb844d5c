import { deadlinePassed } from '../deadline.ts';
import { unavailable } from '../errors.ts';
import { type Embedder, EmbedderBusy, EmbedderUnavailable } from './embedder.ts';

/** The same embedder with its failures as the service's 503. */
export function withServiceErrors(embedder: Embedder): Embedder {
  return {
    model: embedder.model,
    dimensions: embedder.dimensions,
    embedQuery: (text, options) => embedder.embedQuery(text, options).catch((error: unknown) => translate(error, options.signal)),
    embedPassage: (text, options) => embedder.embedPassage(text, options).catch((error: unknown) => translate(error, options.signal)),
    status: () => embedder.status(),
    close: () => embedder.close(),
  };
}

function translate(error: unknown, signal: AbortSignal | undefined): never {
  if (signal?.aborted && error === signal.reason) throw deadlinePassed();
  if (error instanceof EmbedderBusy) throw unavailable('Too many texts are waiting to be embedded; try again', error);
  if (error instanceof EmbedderUnavailable) throw unavailable('The embedding model does not answer at the moment; try again', error);
  throw error;
}
