import { setTimeout as delay } from 'node:timers/promises';
import { deadlineIn } from '../../src/deadline.ts';
import type { Fault } from '../testkit/faulty-proxy.ts';
import { createLedger, disagreements } from '../testkit/ledger.ts';
import { type Answer, startTraffic } from '../testkit/traffic.ts';
import { type Probe, startProbes } from './probes.ts';
import { DEADLINE, type Rig, type Target } from './rig.ts';

export interface Case {
  readonly target: Target;
  readonly fault: Fault;
  /** How long it lasts, in milliseconds. */
  readonly lasting: number;
}

export interface Result {
  readonly answers: readonly Answer[];
  readonly probes: readonly Probe[];
  /** Milliseconds from the fault's end until every request that is sent succeeds. */
  readonly recovered: number;
  /** Connections that the service still has through the proxy. */
  readonly connections: number;
  /** What should not be, a line each. */
  readonly problems: readonly string[];
}

const BEFORE = 300;
/** Milliseconds after a fault's end from when on everything has to work. */
const RECOVERY = 2_000;
const AFTER = 1_500;
/** Milliseconds that a request may take longer than its deadline. */
const GRACE = 1_000;
/** Milliseconds within which /livez answers: a second that it may wait for Redis, and the grace. */
const LIVE = 1_000 + GRACE;
/** Milliseconds for which a look at the database counts. */
const SHARED_LOOK = 500;
/** The driver's pool has 50 connections, and one that was replaced lets go of its own after a minute; four batches are under way to an embedder. */
const MOST_CONNECTIONS: Readonly<Record<Target, number>> = { neo4j: 100, embedder: 8, redis: 2 };
/** With these the other side is slow and not away. */
const SLOW: readonly Fault[] = ['latency', 'narrow'];

let cases = 0;

/** Clients store, change, erase and read before, while and after one dependency of the service is faulty. */
export async function runCase(rig: Rig, { target, fault, lasting }: Case): Promise<Result> {
  const name = `f${++cases}`;
  const ledger = createLedger(name);
  const proxy = rig.proxies[target];
  await settled(rig);
  const logged = rig.errors().length;
  const traffic = startTraffic({ client: rig.client, userId: name, ledger, workers: 4, pause: 40 });
  const probes = startProbes(rig.client);
  await delay(BEFORE);
  proxy.begin(fault);
  const begun = performance.now();
  await delay(lasting);
  await proxy.end();
  const ended = performance.now();
  await delay(RECOVERY + AFTER);
  await Promise.all([traffic.stop(), probes.stop()]);
  await settled(rig);

  const problems: string[] = [];
  const expect = (condition: boolean, problem: string) => condition || problems.push(problem);
  for (const { request, milliseconds, status, problem, startedAt } of traffic.answers) {
    const when = `${request}, ${Math.round(startedAt - begun)} ms after the fault began`;
    if (problem) problems.push(problem);
    expect(status !== 0, `${when}: no answer`);
    expect(milliseconds <= DEADLINE + GRACE, `${when}: took ${Math.round(milliseconds)} ms`);
    const isSound = target !== 'neo4j' || startedAt + milliseconds < begun || startedAt > ended + RECOVERY;
    expect(!isSound || isAnswered(status), `${when}: answered ${status}`);
  }
  for (const { path, status, milliseconds, startedAt } of probes.seen) {
    const when = `${path}, ${Math.round(startedAt - begun)} ms after the fault began`;
    const isAway = startedAt > begun + SHARED_LOOK && startedAt + milliseconds < ended && target === 'neo4j' && !SLOW.includes(fault);
    const isWell = target !== 'neo4j' || startedAt + milliseconds < begun || startedAt > ended + RECOVERY;
    expect(milliseconds <= (path === '/livez' ? LIVE : DEADLINE + GRACE), `${when}: took ${Math.round(milliseconds)} ms`);
    if (path === '/livez' || isWell) expect(status === 200, `${when}: answered ${status}`);
    else expect(isAway ? status === 503 : status === 200 || status === 503, `${when}: answered ${status}`);
  }
  const connections = proxy.connections();
  expect(connections <= MOST_CONNECTIONS[target], `${connections} connections are left`);
  expect(!rig.hasEnded(), 'the service has ended');
  problems.push(...rig.errors().slice(logged));
  problems.push(...disagreements(ledger, await memoriesOf(rig, name)));
  const failures = traffic.answers.filter(({ startedAt, status }) => startedAt > ended && !isAnswered(status));
  const recovered = Math.max(0, ...failures.map(({ startedAt }) => startedAt - ended));
  return { answers: traffic.answers, probes: probes.seen, recovered, connections, problems };
}

/** Whether the service did what it was asked, or rightly refused it. */
const isAnswered = (status: number) => status > 0 && status < 429;

/** Waits until everything is embedded and every dependency answers. */
async function settled({ client }: Rig): Promise<void> {
  for (const end = performance.now() + 120_000; performance.now() < end; await delay(100))
    if ((await client.get('/health')).body.status === 'ok') return;
  throw new Error('The service does not recover');
}

async function memoriesOf({ database }: Rig, userId: string): Promise<{ id: string; content: string }[]> {
  const rows = await database.read(
    'MATCH (m:Memory) WHERE m.userId = $userId RETURN m.id AS id, m.content AS content',
    { userId },
    deadlineIn(30_000),
  );
  return rows as { id: string; content: string }[];
}
