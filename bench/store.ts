// npm run bench:store: how many stores a second are acknowledged, and what that is of what model and database could do alone.
import { deadlineIn } from '../src/deadline.ts';
import { quantile } from '../src/embedding/calibration.ts';
import { createLocalEmbedder } from '../src/embedding/local.ts';
import { withClosers } from './closers.ts';
import { CORPUS_NOTE, prepareCorpus } from './corpus.ts';
import { fill, FILL_NOTE } from './fill.ts';
import { type BenchGraph, startGraph } from './graph.ts';
import { rateOf, together } from './load.ts';
import { readOptions } from './options.ts';
import { conditions, figure, printAims, printConditions, printTable } from './report.ts';
import { distinct, textOf } from './texts.ts';
import { columnsOf, CPU_NOTE, takeTurn, type Turn } from './turns.ts';
import { embeddingAlone, overBolt, overHttp, type Way } from './ways-to-store.ts';

const WRITERS = [1, 16, 64] as const;

const { size, rounds, seconds, warmup } = readOptions('bench:store', {
  size: { byDefault: 10_000, what: 'memories that are there before' },
  rounds: { byDefault: 3, what: 'how often each way has its turns' },
  seconds: { byDefault: 4, what: 'length of a turn' },
  warmup: { byDefault: 10, what: 'seconds of each way before the rounds, as Neo4j compiles for its first minute' },
});
const report = (line: string) => console.error(line);

await withClosers(async (onClose) => {
  const graph = await startGraph(report);
  onClose(() => graph.close());
  const facts = await conditions(graph);
  const embedder = await createLocalEmbedder(graph.runtime);
  onClose(() => embedder.close());
  const others = await graph.newAccount('others');
  await fill(graph, await prepareCorpus(size, embedder, report), () => others, report);

  // One memory a transaction: as many transactions at once as there are writers.
  const single = { rows: 1, underWay: Math.max(...WRITERS), patience: 50 };
  const local = await overHttp('service, local model', graph, { embedder: 'local model' }, onClose);
  const model = embeddingAlone('the model alone', embedder);
  const readyMade = await overHttp('service, ready-made vectors', graph, { embedder: 'ready-made' }, onClose);
  const unbatched = await overHttp('… one memory a transaction', graph, { embedder: 'ready-made', batching: single }, onClose);
  const cypher = await overBolt('Cypher alone, one CREATE a transaction', graph, onClose);
  const ways = [local, model, readyMade, unbatched, cypher];
  const turns = await takeTurns(graph, ways);

  const of = (way: Way, writers: number) => together(turns.get(way)!.filter((turn) => turn.clients === writers));
  const rate = (way: Way, writers: number) => rateOf(of(way, writers));
  const p50 = (way: Way) => quantile(of(way, 1).latencies, 0.5);
  printConditions({
    ...facts,
    before: `${figure(size)} memories, ${FILL_NOTE}; ${CORPUS_NOTE}`,
    stores: 'POST /memory over kept connections; texts made from a seed, all different, about 45 tokens each',
    load: `from another process on the same machine; ${rounds} rounds of ${seconds} s for each way in turn, after ${warmup} s of warm-up each`,
  });
  printTable(
    'Stores acknowledged',
    WRITERS.flatMap((writers) =>
      ways.map((way) => {
        const taken = turns.get(way)!.filter(({ clients }) => clients === writers);
        return { writers, way: way.name, ...columnsOf(taken, { usesNeo4j: way.accountId !== null }) };
      }),
    ),
  );
  console.log(`\n${CPU_NOTE}`);
  printTable('Acknowledged and kept', await Promise.all(ways.flatMap((way) => (way.accountId ? [kept(graph, way, turns.get(way)!)] : []))));
  printAims([
    { aim: '16 writers, local model: share of what the model embeds alone', value: rate(local, 16) / rate(model, 16), least: 0.6, unit: '%' },
    { aim: '64 writers, ready-made vectors: times one memory a transaction', value: rate(readyMade, 64) / rate(unbatched, 64), least: 6, unit: '×' },
    { aim: '64 writers, ready-made vectors: stores a second', value: rate(readyMade, 64), least: 450, unit: '/s' },
    { aim: `1 writer, local model: p50 beyond the embedding alone, at ${figure(size)}`, value: p50(local) - p50(model), most: 25, unit: 'ms' },
  ]);
});

/** The turns of each way, the warm-up (of no writers) first. In each round another way begins, as each leaves the database some work behind. */
async function takeTurns(graph: BenchGraph, ways: readonly Way[]): Promise<Map<Way, Turn[]>> {
  const sources = new Map(ways.map((way) => [way, distinct(textOf)]));
  const turns = new Map(ways.map((way) => [way, [] as Turn[]]));
  const take = (way: Way, writers: number, seconds: number): Promise<Turn> => {
    const source = sources.get(way)!;
    return takeTurn({ clients: writers, seconds, pid: way.pid, neo4jPid: graph.pid, call: () => way.store(source.next().value.text) });
  };
  for (const way of ways) turns.get(way)!.push({ ...(await take(way, 16, warmup)), clients: 0 });
  for (let round = 0; round < rounds; round++)
    for (const writers of WRITERS) {
      report(`Round ${round + 1} of ${rounds}, ${writers} writers`);
      for (let turn = 0; turn < ways.length; turn++) {
        const way = ways[(round + turn) % ways.length]!;
        turns.get(way)!.push(await take(way, writers, seconds));
      }
    }
  return turns;
}

async function kept({ database }: BenchGraph, { name, accountId }: Way, turns: readonly Turn[]) {
  const [row] = await database.read('MATCH (m:Memory {accountId: $accountId}) RETURN count(m) AS count', { accountId }, deadlineIn(30_000));
  return { way: name, acknowledged: figure(together(turns).latencies.length), kept: figure(row!['count'] as number) };
}
