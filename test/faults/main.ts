// npm run test:faults: what the service answers while its dependencies' connections are slow, silent or broken, and after it.
import { withClosers } from '../../bench/closers.ts';
import { type Cell, printTable } from '../../bench/report.ts';
import { FAULTS } from '../testkit/faulty-proxy.ts';
import { type Case, type Result, runCase } from './case.ts';
import { startRig, TARGETS } from './rig.ts';

const LASTING = [200, 2_000, 8_000];

const cases = TARGETS.flatMap((target) => FAULTS.flatMap((fault) => LASTING.map((lasting): Case => ({ target, fault, lasting }))));
const rows: Record<string, Cell>[] = [];
const problems: string[] = [];

await withClosers(async (onClose) => {
  const rig = await startRig();
  onClose(() => rig.close());
  for (const [at, each] of cases.entries()) {
    const title = `${each.target}, ${each.fault}, ${each.lasting / 1_000} s`;
    const result = await runCase(rig, each);
    rows.push(rowOf(each, result));
    problems.push(...result.problems.map((problem) => `${title}: ${problem}`));
    console.error(`${at + 1} of ${cases.length}: ${title}: ${result.problems.length === 0 ? 'well' : result.problems.slice(0, 5).join('\n  ')}`);
  }
});
printTable('Answers while a dependency is faulty and after it; times in milliseconds', rows);
console.log(problems.length === 0 ? '\nNo problems' : `\n${problems.length} problems:\n${problems.join('\n')}`);
process.exitCode = problems.length === 0 ? 0 : 1;

function rowOf({ target, fault, lasting }: Case, { answers, probes, recovered, connections, problems }: Result): Record<string, Cell> {
  const count = (status: number) => answers.filter((answer) => answer.status === status).length;
  const known = [200, 404, 409, 503].map((status): [string, number] => [String(status), count(status)]);
  const worst = (times: readonly { milliseconds: number }[]) => Math.round(Math.max(...times.map(({ milliseconds }) => milliseconds)));
  const unready = probes.filter(({ path, status }) => path === '/readyz' && status === 503).length;
  return {
    target,
    fault,
    seconds: lasting / 1_000,
    requests: answers.length,
    ...Object.fromEntries(known.map(([status, times]) => [`of ${status}`, times])),
    others: answers.length - known.reduce((sum, [, times]) => sum + times, 0),
    worst: worst(answers),
    'worst /livez': worst(probes.filter(({ path }) => path === '/livez')),
    '/readyz 503': unready,
    'recovered after': Math.round(recovered),
    connections,
    problems: problems.length,
  };
}
