/** The baseline: BM25 (k1 0.9, b 0.4) over one conversation, every word of the question, endings cut lightly, no stop words. */
export function plainBm25(texts: readonly string[]): (query: string) => number[] {
  const documents = texts.map((text) => {
    const counts = new Map<string, number>();
    for (const word of wordsOf(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
    return { counts, length: [...counts.values()].reduce((sum, count) => sum + count, 0) };
  });
  const averageLength = documents.reduce((sum, { length }) => sum + length, 0) / documents.length;
  return (query) => {
    const scores = documents.map(() => 0);
    for (const word of new Set(wordsOf(query))) {
      const having = documents.filter(({ counts }) => counts.has(word)).length;
      const rarity = Math.log(1 + (documents.length - having + 0.5) / (having + 0.5));
      documents.forEach(({ counts, length }, index) => {
        const count = counts.get(word) ?? 0;
        scores[index]! += (rarity * count * 1.9) / (count + 0.9 * (1 - 0.4 + (0.4 * length) / averageLength));
      });
    }
    return scores;
  };
}

function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/[a-z0-9]+/g) ?? []).map((word) => (word.length > 4 ? word.replace(/(ing|ed|es|s)$/, '') : word));
}
