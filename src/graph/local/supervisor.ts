import { setTimeout as delay } from 'node:timers/promises';
import type { LocalServer } from './server.ts';

export interface Supervision {
  /** Whether the server runs and yet can't go on, as after it found the disk full. */
  readonly isBroken: () => Promise<boolean>;
  /** False while there is no space, or no data any more. */
  readonly canStart: () => boolean;
  readonly start: (signal: AbortSignal) => Promise<LocalServer>;
  /** The server has another address than before, because another program has taken that. */
  readonly onMoved: (server: LocalServer) => void;
  readonly report: (line: string) => void;
}

const LOOK_EVERY = 1_000;
/** Milliseconds before a start is tried again: doubled from the first to the longest. */
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 60_000;

/** Starts the server again whenever it has ended or is broken; until `end`, which gives the one that runs now. */
export function supervise(server: LocalServer, { isBroken, canStart, start, onMoved, report }: Supervision): { end(): Promise<LocalServer> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const pause = (milliseconds: number) => delay(milliseconds, undefined, { signal }).catch(() => undefined);
  const watching = watch();

  async function watch(): Promise<void> {
    for (await pause(LOOK_EVERY); !signal.aborted; await pause(LOOK_EVERY)) {
      const hasExited = server.hasExited();
      if (!hasExited && !(await isBroken())) continue;
      if (!canStart()) continue;
      report(hasExited ? 'Neo4j has ended unexpectedly; starting it again …' : "Neo4j can't go on with its database; starting it again …");
      await restart();
    }
  }

  async function restart(): Promise<void> {
    for (let wait = FIRST_PAUSE; !signal.aborted; wait = Math.min(2 * wait, LONGEST_PAUSE)) {
      try {
        await server.stop();
        const { uri } = server;
        server = await start(signal);
        if (server.uri === uri) return;
        report(`Neo4j now listens at ${server.uri}, because ${uri} was taken`);
        return onMoved(server);
      } catch (error) {
        if (signal.aborted) return;
        report(`Neo4j could not be started again, next try in ${wait / 1000} s: ${error instanceof Error ? error.message : String(error)}`);
        await pause(wait);
      }
    }
  }

  return {
    async end() {
      stopping.abort(new Error('the watch has ended'));
      await watching;
      return server;
    },
  };
}
