export type OnClose = (close: () => Promise<unknown>) => void;

/**
 * Runs `work`, and then closes what it opened, last opened first: also when it fails, and when it is interrupted, which Neo4j
 * would otherwise outlive.
 */
export async function withClosers(work: (onClose: OnClose) => Promise<void>): Promise<void> {
  const closers: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (let next = closers.pop(); next; next = closers.pop()) await next().catch((error: unknown) => console.error(error));
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close().finally(() => process.exit(1)));
  try {
    await work((closer) => closers.push(closer));
  } finally {
    await close();
  }
}
