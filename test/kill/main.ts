// npm run test:kill -- --kills N --neo4j-kills M: whether anything that was acknowledged is lost or doubled, or anything half done, by kill -9.
import { withClosers } from '../../bench/closers.ts';
import { readOptions } from '../../bench/options.ts';
import { type Cell, figure, printTable } from '../../bench/report.ts';
import { type Kill, runKills } from './run.ts';
import { startApi, startNeo4jOfService, type Victim } from './victims.ts';

const options = readOptions('test:kill', {
  kills: { byDefault: 200, what: 'how often the API is killed' },
  'neo4j-kills': { byDefault: 30, what: 'how often Neo4j is killed' },
});
const rows: Record<string, Cell>[] = [];
const problems: string[] = [];

await withClosers(async (onClose) => {
  await killOften(startApi, options.kills);
  await killOften(startNeo4jOfService, options['neo4j-kills']);

  async function killOften(start: () => Promise<Victim>, times: number): Promise<void> {
    const victim = await start();
    onClose(() => victim.close());
    const {
      kills,
      problems: whole,
      file,
    } = await runKills(victim, times, ({ away, problems }, at) => {
      const outcome = problems.length === 0 ? 'well' : problems.join('\n  ');
      console.error(`${victim.name}, kill ${at} of ${times}: back after ${figure(away, 1)} s, ${outcome}`);
    });
    const all = [...kills.flatMap((kill) => kill.problems), ...whole];
    rows.push(rowOf(victim.name, kills, all.length));
    problems.push(...all.map((problem) => `${victim.name}: ${problem}`));
    console.error(`Every acknowledged write: ${file}`);
  }
});
printTable('Writes before, while and after kills', rows);
console.log(problems.length === 0 ? '\nNo problems' : `\n${problems.length} problems:\n${problems.join('\n')}`);
process.exitCode = problems.length === 0 ? 0 : 1;

function rowOf(killed: string, kills: readonly Kill[], problems: number): Record<string, Cell> {
  const sum = (name: 'requests' | 'acknowledged' | 'unanswered' | 'seconds') => kills.reduce((total, kill) => total + kill[name], 0);
  return {
    killed,
    kills: kills.length,
    requests: sum('requests'),
    'writes acknowledged': sum('acknowledged'),
    'not answered': sum('unanswered'),
    'back after at most, s': figure(Math.max(...kills.map(({ away }) => away)), 1),
    's a kill': figure(sum('seconds') / kills.length, 1),
    problems,
  };
}
