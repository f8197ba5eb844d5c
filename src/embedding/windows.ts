/** The model reads no more tokens at once, its own marks and the prefix included. */
const WHOLE = 512;

/** A longer text is read in windows of at most this many: as exact for search as the largest, and faster, as attention grows with the square. */
const WINDOW = 256;

/** 32,000 tokens: more than 50,000 characters of English, of code or of logs; less than as many of Chinese. */
const MAX_WINDOWS = 128;

/** [CLS], and "query" or "passage" with its colon, begin every window; [SEP] ends it. */
const HEAD = 3;
const TAIL = 1;

/**
 * Cuts an encoded text into even windows that each begin and end as the text does. Beyond MAX_WINDOWS some are left out, evenly over the text,
 * and `cut` is true.
 */
export function readInWindows(tokens: number[]): { windows: number[][]; cut: boolean } {
  if (tokens.length <= WHOLE) return { windows: [tokens], cut: false };
  const head = tokens.slice(0, HEAD);
  const body = tokens.slice(HEAD, -TAIL);
  const tail = tokens.slice(-TAIL);
  const count = Math.ceil(body.length / (WINDOW - HEAD - TAIL));
  const edge = (index: number) => Math.round((index * body.length) / count);
  const kept = Math.min(count, MAX_WINDOWS);
  const windows = Array.from({ length: kept }, (_, index) => {
    const at = Math.floor((index * count) / kept);
    return [...head, ...body.slice(edge(at), edge(at + 1)), ...tail];
  });
  return { windows, cut: kept < count };
}
