import { quantile } from '../src/embedding/calibration.ts';
import { type Load, load, rateOf, together } from './load.ts';
import { cpuSeconds } from './processes.ts';
import { figure } from './report.ts';

/** A load, and the CPU seconds that it took. */
export interface Turn extends Load {
  readonly clients: number;
  readonly cpu: number;
  readonly neo4jCpu: number;
}

export interface Work {
  readonly clients: number;
  readonly seconds: number;
  /** The process that does the work, besides Neo4j. */
  readonly pid: number;
  readonly neo4jPid: number;
  readonly call: () => Promise<unknown>;
}

export async function takeTurn({ clients, seconds, pid, neo4jPid, call }: Work): Promise<Turn> {
  const before = { cpu: cpuSeconds(pid), neo4jCpu: cpuSeconds(neo4jPid) };
  const done = await load(clients, seconds, call);
  return { ...done, clients, cpu: cpuSeconds(pid) - before.cpu, neo4jCpu: cpuSeconds(neo4jPid) - before.neo4jCpu };
}

/** The figures of the same work's turns, a call's CPU among them. */
export function columnsOf(turns: readonly Turn[], { usesNeo4j }: { usesNeo4j: boolean }) {
  const all = together(turns);
  const rates = turns.map(rateOf);
  const perCall = (cost: 'cpu' | 'neo4jCpu') => figure((1_000 * turns.reduce((sum, turn) => sum + turn[cost], 0)) / all.latencies.length, 1);
  return {
    'a second': figure(rateOf(all)),
    'by rounds': `${figure(Math.min(...rates))}–${figure(Math.max(...rates))}`,
    'p50 ms': figure(quantile(all.latencies, 0.5), 1),
    'p95 ms': figure(quantile(all.latencies, 0.95), 1),
    'CPU ms': perCall('cpu'),
    'Neo4j CPU ms': usesNeo4j ? perCall('neo4jCpu') : '–',
  };
}

export const CPU_NOTE = 'CPU ms a call: of the API (of the benchmark, for what is measured without it), and of Neo4j.';
