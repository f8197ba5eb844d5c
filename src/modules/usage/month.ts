/** The month of a time in UTC, such as `2026-03`: what usage is counted by. */
export function monthOf(time: number): string {
  return new Date(time).toISOString().slice(0, 7);
}

/** Where the month of a time begins and ends, in milliseconds since 1970. */
export function periodOf(time: number): { start: number; end: number } {
  const date = new Date(time);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { start: Date.UTC(year, month), end: Date.UTC(year, month + 1) };
}

/** That many months up to the one of a time, the latest first. */
export function monthsUpTo(time: number, count: number): string[] {
  const date = new Date(time);
  return Array.from({ length: count }, (_, back) => monthOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - back)));
}
