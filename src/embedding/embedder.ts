/** What a call may carry: an aborted signal takes the text out of the queue and rejects with the signal's reason. */
export interface EmbedOptions {
  signal?: AbortSignal | undefined;
}

/** A stored text as a vector of unit length. `cut` says that the text was too long to be read in full. */
export interface PassageVector {
  vector: Float32Array;
  cut: boolean;
}

/**
 * Turns texts into vectors of unit length, so that the dot product of a query and a passage is their cosine.
 * Any string is accepted, also an empty one. Rejects with EmbedderBusy, EmbedderUnavailable or the signal's reason.
 * Vectors may be shared between callers: never write into one.
 */
export interface Embedder {
  /** Names the model in the index: vectors of different models can't be compared. */
  readonly model: string;
  readonly dimensions: number;
  embedQuery(text: string, options: EmbedOptions): Promise<Float32Array>;
  embedPassage(text: string, options: EmbedOptions): Promise<PassageVector>;
  status(): 'ok' | 'down';
  close(): Promise<void>;
}

/** As many texts wait as the embedder accepts: try again later. */
export class EmbedderBusy extends Error {
  override readonly name = 'EmbedderBusy';
}

/** The model can't be reached, or didn't answer with a vector. */
export class EmbedderUnavailable extends Error {
  override readonly name = 'EmbedderUnavailable';
}

/**
 * Scales a vector to unit length.
 * @throws EmbedderUnavailable when it has another length than `dimensions`, is zero, or holds a number that is not finite
 */
export function unitVector(values: ArrayLike<number>, dimensions: number): Float32Array {
  if (values.length !== dimensions) throw new EmbedderUnavailable(`Expected a vector of ${dimensions} numbers, got ${values.length}`);
  const vector = Float32Array.from(values);
  const length = Math.hypot(...vector);
  if (!Number.isFinite(length) || length === 0) throw new EmbedderUnavailable('Expected a vector of finite numbers that is not zero');
  return vector.map((value) => value / length);
}
