/** Runs pieces of work of the same name one after the other. */
export interface SerialQueue {
  run<T>(name: string, work: () => Promise<T>): Promise<T>;
}

/**
 * Changes of one memory would otherwise wait for its lock in the database, each holding a connection of the pool.
 * Correctness stands on that lock, also with several processes; this keeps one process from exhausting its pool.
 */
export function createSerialQueue(): SerialQueue {
  const last = new Map<string, Promise<unknown>>();
  return {
    run(name, work) {
      const running = (last.get(name) ?? Promise.resolve()).then(work, work);
      last.set(name, running);
      const forget = () => {
        if (last.get(name) === running) last.delete(name);
      };
      running.then(forget, forget);
      return running;
    },
  };
}
