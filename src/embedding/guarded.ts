import { deadlinePassed } from '../deadline.ts';
import { unavailable } from '../errors.ts';
import { type EmbedOptions, type Embedder, EmbedderBusy, EmbedderUnavailable, type PassageVector } from './embedder.ts';

/** The embedder as the services use it. Throws 503 when the deadline passes. */
export interface GuardedEmbedder {
  readonly model: string;
  /** Null while the model is away, or busy: memories are found by their words all the same. */
  embedQuery(text: string, options: EmbedOptions): Promise<Float32Array | null>;
  /** Null while the model is away: the memory is embedded later. Throws 503 when as many texts wait as may. */
  embedPassage(text: string, options: EmbedOptions): Promise<PassageVector | null>;
}

/** The same embedder with its failures as the services need them. */
export function withServiceErrors(embedder: Embedder): GuardedEmbedder {
  return {
    model: embedder.model,
    embedQuery: (text, options) =>
      embedder.embedQuery(text, options).catch((error: unknown) => {
        if (error instanceof EmbedderBusy || error instanceof EmbedderUnavailable) return null;
        throw translate(error, options.signal);
      }),
    embedPassage: (text, options) =>
      embedder.embedPassage(text, options).catch((error: unknown) => {
        if (error instanceof EmbedderUnavailable) return null;
        if (error instanceof EmbedderBusy) throw unavailable('Too many texts are waiting to be embedded; try again', error);
        throw translate(error, options.signal);
      }),
  };
}

function translate(error: unknown, signal: AbortSignal | undefined): unknown {
  return signal?.aborted && error === signal.reason ? deadlinePassed() : error;
}
