/** Milliseconds between two lines. */
const EVERY = 5_000;

/** Says now and then how far something has come. */
export function startProgress(subject: string, total: number, report: (line: string) => void): { add(count?: number): void } {
  let done = 0;
  let reportedAt = performance.now();
  return {
    add(count = 1) {
      done += count;
      if (performance.now() - reportedAt < EVERY) return;
      reportedAt = performance.now();
      report(`${subject} ${done.toLocaleString('en')} of ${total.toLocaleString('en')} nodes and relationships …`);
    },
  };
}
