/** The search that an index only approximates: every vector is compared, in this process. */
export interface ExactSearch {
  /** The best `count` (or as many as there are), best first; the cosines with unit vectors. */
  best(query: Float32Array, count: number): { id: string; cosine: number }[];
}

export function createExactSearch(memories: readonly { id: string; vector: Float32Array }[]): ExactSearch {
  const dimensions = memories[0]!.vector.length;
  const all = new Float32Array(memories.length * dimensions);
  memories.forEach(({ vector }, index) => all.set(vector, index * dimensions));

  return {
    best(query, count) {
      const found: { id: string; cosine: number }[] = [];
      for (let index = 0; index < memories.length; index++) {
        let cosine = 0;
        for (let at = 0, from = index * dimensions; at < dimensions; at++) cosine += all[from + at]! * query[at]!;
        if (found.length === count && cosine <= found.at(-1)!.cosine) continue;
        const place = found.findIndex((other) => other.cosine < cosine);
        found.splice(place < 0 ? found.length : place, 0, { id: memories[index]!.id, cosine });
        if (found.length > count) found.pop();
      }
      return found;
    },
  };
}
