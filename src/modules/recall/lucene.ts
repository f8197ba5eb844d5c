// The words that the index's english analyzer drops, and the question words that say nothing about what is looked for.
const STOP_WORDS = new Set(
  (
    'a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was will with ' +
    'i me my you your he she his her we our us am were been do does did have has had can could would should may might about from ' +
    'what when where which who whom whose why how tell remind please'
  ).split(' '),
);

/** How many different words of a query are looked for. */
const MAXIMUM_WORDS = 64;

/**
 * The words to look for: letters and digits, with the signs inside a word that the index keeps there (isn't, 3.14,
 * snake_case). Nothing of Lucene's syntax can be in them.
 */
export function wordsOf(query: string): string[] {
  const words = query.toLowerCase().match(/[\p{L}\p{N}_]+(?:[.'’][\p{L}\p{N}_]+)*/gu) ?? [];
  return [...new Set(words)].filter((word) => !STOP_WORDS.has(word) && /[\p{L}\p{N}]/u.test(word)).slice(0, MAXIMUM_WORDS);
}

/** A clause on the content. Quoted, so that a word is never an operator, and one that the analyzer splits stays together. */
export function contentClause(word: string): string {
  return `content:"${word}"`;
}
