// npm run bench:overload: what is still served well while three times as much is asked for as the service can do.
import { quantile } from '../src/embedding/calibration.ts';
import { createLocalEmbedder } from '../src/embedding/local.ts';
import { withClosers } from './closers.ts';
import { CORPUS_NOTE, prepareCorpus } from './corpus.ts';
import { fill, FILL_NOTE } from './fill.ts';
import { DEFAULTS, startGraph } from './graph.ts';
import { load, pace, rateOf } from './load.ts';
import { readOptions } from './options.ts';
import { type Aim, conditions, figure, printAims, printConditions, printTable } from './report.ts';
import { startApi } from './service.ts';
import { distinct, questionOf, textOf } from './texts.ts';

const TIMES = 3;
/** Milliseconds within which an answer still helps an agent that waits for it. */
const SOON = 2_000;

const { size, seconds, warmup, places } = readOptions('bench:overload', {
  size: { byDefault: 10_000, what: 'memories that are there before' },
  seconds: { byDefault: 20, what: 'length of each load' },
  warmup: { byDefault: 15, what: 'seconds of each kind before, as Neo4j compiles for its first minute' },
  places: { byDefault: DEFAULTS.maxConcurrentRequests, what: 'MAX_CONCURRENT_REQUESTS' },
});
const report = (line: string) => console.error(line);

interface Kind {
  readonly name: string;
  /** Callers in the closed loop: as many as it takes to reach the peak. */
  readonly clients: number;
  readonly call: () => Promise<number>;
}

interface Outcome {
  readonly status: number;
  readonly milliseconds: number;
}

await withClosers(async (onClose) => {
  const graph = await startGraph(report);
  onClose(() => graph.close());
  const facts = await conditions(graph);
  const embedder = await createLocalEmbedder(graph.runtime);
  const account = await graph.newAccount('overloaded');
  await fill(graph, await prepareCorpus(size, embedder, report), () => account, report);
  await embedder.close();
  const api = await startApi(graph, { embedder: 'local model', maxConcurrentRequests: places });
  onClose(() => api.close());
  const client = api.client(account.key);
  onClose(() => client.close());

  const questions = distinct(questionOf);
  const texts = distinct((number) => textOf(10_000_000 + number));
  const kinds: Kind[] = [
    {
      name: 'searches',
      clients: 16,
      call: () => client.status('GET', `/memory/search?${new URLSearchParams({ q: questions.next().value.text }).toString()}`),
    },
    { name: 'stores', clients: 64, call: () => client.status('POST', '/memory', { content: texts.next().value.text }) },
  ];
  for (const { name, clients, call } of kinds) {
    report(`Warming up ${name}`);
    await load(clients, warmup, call);
  }

  const rows = [];
  const aims: Aim[] = [];
  for (const kind of kinds) {
    report(`Peak of ${kind.name}`);
    const peak = await load(kind.clients, seconds, kind.call);
    report(`${TIMES} times as many ${kind.name}`);
    const { outcomes, seconds: length } = await overload(kind, TIMES * rateOf(peak));
    const served = outcomes.filter(({ status, milliseconds }) => status === 200 && milliseconds <= DEFAULTS.requestTimeout);
    const soon = served.filter(({ milliseconds }) => milliseconds <= SOON);
    const refused = outcomes.filter(({ status }) => status === 503);
    const share = (of: readonly Outcome[]) => of.length / length / rateOf(peak);
    const time = (of: readonly Outcome[], at: number) =>
      figure(
        quantile(
          of.map(({ milliseconds }) => milliseconds),
          at,
        ),
      );
    rows.push({
      load: kind.name,
      'peak /s': figure(rateOf(peak)),
      'peak p50 ms': figure(quantile(peak.latencies, 0.5)),
      'asked /s': figure(outcomes.length / seconds),
      'served /s': figure(served.length / length),
      'of the peak': `${figure(100 * share(served), 1)} %`,
      'within 2 s': `${figure(100 * share(soon), 1)} %`,
      refused: `${figure((100 * refused.length) / outcomes.length, 1)} %`,
      'other failures': figure(outcomes.length - served.length - refused.length),
      'served p50 ms': time(served, 0.5),
      'p99 ms': time(served, 0.99),
      'refused p50 ms': time(refused, 0.5),
    });
    aims.push(
      { aim: `${kind.name}: served of the peak`, value: share(served), least: 0.9, unit: '%' },
      { aim: `${kind.name}: served within 2 s, of the peak`, value: share(soon), least: 0.9, unit: '%' },
      {
        aim: `${kind.name}: failures that are no refusal`,
        value: (outcomes.length - served.length - refused.length) / outcomes.length,
        most: 0,
        unit: '%',
      },
    );
  }
  printConditions({
    ...facts,
    before: `${figure(size)} memories, ${FILL_NOTE}; ${CORPUS_NOTE}`,
    load: `from another process on the same machine; ${seconds} s each: a closed loop for the peak, then ${TIMES} times its rate whatever the answers are, without repeats`,
    'at once': `MAX_CONCURRENT_REQUESTS=${places}, REQUEST_TIMEOUT=${DEFAULTS.requestTimeout / 1_000}s`,
  });
  printTable(`Asked for ${TIMES} times the peak`, rows);
  printAims(aims);
});

/** Times are from when a call was due. */
async function overload({ call }: Kind, rate: number): Promise<{ outcomes: Outcome[]; seconds: number }> {
  const outcomes: Outcome[] = [];
  const done = await pace(rate, seconds, async (dueAt) => {
    const status = await call().catch(() => 0);
    outcomes.push({ status, milliseconds: performance.now() - dueAt });
  });
  return { outcomes, seconds: done.seconds };
}
