import { setTimeout as delay } from 'node:timers/promises';
import type { LocalServer } from './server.ts';

export interface Supervision {
  /** Whether the server runs and yet can't go on, as after it found the disk full. */
  readonly isBroken: () => Promise<boolean>;
  /** Whether a start makes sense now. */
  readonly hasSpace: () => boolean;
  readonly start: (signal: AbortSignal) => Promise<LocalServer>;
  readonly report: (line: string) => void;
}

const LOOK_EVERY = 1_000;
/** Milliseconds before a start is tried again: doubled from the first to the longest. */
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 60_000;

/** Starts the server again, at the same address, whenever it has ended or is broken. `stop` ends both the watch and the server. */
export function supervise(server: LocalServer, { isBroken, hasSpace, start, report }: Supervision): { stop(): Promise<void> } {
  const { uri } = server;
  const stopping = new AbortController();
  const { signal } = stopping;
  const pause = (milliseconds: number) => delay(milliseconds, undefined, { signal, ref: false }).catch(() => undefined);
  const watching = watch();

  async function watch(): Promise<void> {
    for (await pause(LOOK_EVERY); !signal.aborted; await pause(LOOK_EVERY)) {
      const hasExited = server.hasExited();
      if (!hasExited && !(await isBroken())) continue;
      if (!hasSpace()) continue;
      report(hasExited ? 'Neo4j has ended unexpectedly; starting it again …' : "Neo4j can't go on with its database; starting it again …");
      await restart();
    }
  }

  async function restart(): Promise<void> {
    for (let wait = FIRST_PAUSE; !signal.aborted; wait = Math.min(2 * wait, LONGEST_PAUSE)) {
      try {
        await server.stop();
        server = await start(signal);
        if (server.uri !== uri) report(`Neo4j now listens at ${server.uri}, because ${uri} was taken: restart the service`);
        return;
      } catch (error) {
        if (signal.aborted) return;
        report(`Neo4j could not be started again, next try in ${wait / 1000} s: ${error instanceof Error ? error.message : String(error)}`);
        await pause(wait);
      }
    }
  }

  return {
    async stop() {
      stopping.abort(new Error('stopped'));
      await watching;
      await server.stop();
    },
  };
}
