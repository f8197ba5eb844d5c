import { closeSync, fsyncSync, mkdtempSync, openSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createLedger, type Ledger } from '../testkit/ledger.ts';
import { startTraffic } from '../testkit/traffic.ts';
import { checkMemories, checkWhole } from './integrity.ts';
import type { Victim } from './victims.ts';

/** One kill, and what it did to those who used the service. */
export interface Kill {
  readonly requests: number;
  /** Writes that were answered with success. */
  readonly acknowledged: number;
  /** Requests without an answer, or with a 503. */
  readonly unanswered: number;
  /** Seconds from the kill until the service was ready again, and of everything. */
  readonly away: number;
  readonly seconds: number;
  readonly problems: readonly string[];
}

export interface Outcome {
  readonly kills: readonly Kill[];
  /** Of everything together, after the last kill. */
  readonly problems: readonly string[];
  /** Where every acknowledged write is written down. */
  readonly file: string;
}

/** Writes that are acknowledged before a kill at least, and milliseconds after those at most. */
const ACKNOWLEDGED_BEFORE = 5;
const BEFORE = 1_500;
/** Milliseconds from the first answer after a kill until the clients stop. */
const AFTER = 500;
/** Milliseconds to wait for answers. */
const PATIENCE = 120_000;

/** Kills the victim that often at random moments, while clients write and read, and looks after each kill at everything that they wrote. */
export async function runKills(victim: Victim, kills: number, onKill: (kill: Kill, at: number) => void = () => undefined): Promise<Outcome> {
  const file = join(mkdtempSync(join(tmpdir(), 'memory-ledger-')), 'ledger.jsonl');
  const descriptor = openSync(file, 'a');
  const ledgers: Ledger[] = [];
  const done: Kill[] = [];
  try {
    for (let at = 1; at <= kills; at++) {
      const startedAt = performance.now();
      const userId = `${victim.name}${at}`;
      let acknowledged = 0;
      const ledger = createLedger(userId, (line) => {
        writeSync(descriptor, `${JSON.stringify(line)}\n`);
        fsyncSync(descriptor);
        acknowledged++;
      });
      ledgers.push(ledger);
      const traffic = startTraffic({ client: victim.client, userId, ledger, workers: 6, pause: 10 });
      await until(() => acknowledged >= ACKNOWLEDGED_BEFORE);
      await delay(BEFORE * Math.random());
      const killedAt = performance.now();
      await victim.kill();
      const away = (performance.now() - killedAt) / 1_000;
      const before = acknowledged;
      await until(() => acknowledged > before);
      await delay(AFTER);
      await traffic.stop();
      const problems = traffic.answers.flatMap(({ problem }) => problem ?? []);
      problems.push(...(await checkMemories(victim, userId, ledger)));
      const unanswered = traffic.answers.filter(({ status }) => status === 0 || status === 503).length;
      const seconds = (performance.now() - startedAt) / 1_000;
      const kill = { requests: traffic.answers.length, acknowledged, unanswered, away, seconds, problems };
      done.push(kill);
      onKill(kill, at);
    }
    const problems: string[] = [];
    for (const [at, ledger] of ledgers.entries()) problems.push(...(await checkMemories(victim, `${victim.name}${at + 1}`, ledger)));
    problems.push(...(await checkWhole(victim.database, ledgers)));
    return { kills: done, problems, file };
  } finally {
    closeSync(descriptor);
  }
}

async function until(condition: () => boolean): Promise<void> {
  for (const end = performance.now() + PATIENCE; !condition(); await delay(20))
    if (performance.now() > end) throw new Error('No write is acknowledged');
}
