// npm run bench:search: what a search takes, through the whole API, as a statement alone and by brute force, and what it finds.
import { setTimeout as delay } from 'node:timers/promises';
import { deadlineIn } from '../src/deadline.ts';
import { quantile } from '../src/embedding/calibration.ts';
import type { Embedder } from '../src/embedding/embedder.ts';
import { createLocalEmbedder } from '../src/embedding/local.ts';
import { visibilityOf } from '../src/modules/memory/scope.ts';
import { wordsOf } from '../src/modules/recall/lucene.ts';
import { CANDIDATES_PER_SOURCE } from '../src/modules/recall/service.ts';
import { createRecallStore, type RecallStore } from '../src/modules/recall/store.ts';
import type { EventLoopDelay } from './api.ts';
import { withClosers } from './closers.ts';
import { CORPUS_NOTE, prepareCorpus } from './corpus.ts';
import { createExactSearch, type ExactSearch } from './exact.ts';
import { fill, FILL_NOTE } from './fill.ts';
import { type BenchAccount, type BenchGraph, startGraph } from './graph.ts';
import { pace, rateOf, together } from './load.ts';
import { readOptions } from './options.ts';
import { memoryOf } from './processes.ts';
import { type Aim, conditions, figure, printAims, printConditions, printTable } from './report.ts';
import { type BenchApi, type Client, startApi } from './service.ts';
import { distinct, questionOf, randomFrom, textOf } from './texts.ts';
import { columnsOf, CPU_NOTE, takeTurn, type Turn } from './turns.ts';

const SHARES = [0.5, 0.1, 0.01, 0.0001] as const;
const OTHER_ACCOUNTS = 100;
const CLIENTS = [1, 8] as const;
const STORES_A_SECOND = 20;
/** Questions that are asked again and again; the others are asked once. */
const KNOWN_QUESTIONS = 200;
const HITS = 10;

const { size, rounds, seconds, warmup } = readOptions('bench:search', {
  size: { byDefault: 10_000, what: 'memories' },
  rounds: { byDefault: 3, what: 'how often each way has its turns' },
  seconds: { byDefault: 2, what: 'length of a turn' },
  warmup: { byDefault: 4, what: 'seconds of each way and account before the rounds, as Neo4j compiles for its first minute' },
});
const report = (line: string) => console.error(line);

interface Question {
  readonly text: string;
  readonly vector: Float32Array;
}

/** An account that is searched. */
interface Tenant {
  readonly account: BenchAccount;
  readonly client: Client;
  readonly memories: number;
  readonly exact: ExactSearch;
}

interface Way {
  readonly name: string;
  readonly pid: number;
  readonly usesNeo4j: boolean;
  readonly clients: readonly number[];
  readonly search: (tenant: Tenant) => Promise<unknown>;
}

interface Recall {
  readonly mean: number;
  readonly worst: number;
}

await withClosers(async (onClose) => {
  const graph = await startGraph(report);
  onClose(() => graph.close());
  const facts = await conditions(graph);
  const memory: Record<string, { api: ReturnType<typeof memoryOf>; neo4j: ReturnType<typeof memoryOf> }> = {};
  const api = await startApi(graph, { embedder: 'local model' });
  onClose(() => api.close());
  const note = (moment: string) => (memory[moment] = { api: memoryOf(api.pid), neo4j: memoryOf(graph.pid) });
  await delay(5_000);
  note('idle, without memories');

  const embedder = await createLocalEmbedder(graph.runtime);
  onClose(() => embedder.close());
  const tenants = await settle(graph, api, embedder);
  tenants.forEach(({ client }) => onClose(() => client.close()));
  note(`idle, with ${figure(size)} memories`);

  const unasked = distinct(questionOf);
  const known = await Promise.all(
    Array.from({ length: KNOWN_QUESTIONS }, async (): Promise<Question> => {
      const { text } = unasked.next().value;
      return { text, vector: await embedder.embedQuery(text, {}) };
    }),
  );
  const next = cycle(known);
  const store = createRecallStore(graph.database);
  const ask = ({ client }: Tenant, question: string) => client.request('GET', `/memory/search?${new URLSearchParams({ q: question }).toString()}`);
  const asked: Way = {
    name: 'API, new question',
    pid: api.pid,
    usesNeo4j: true,
    clients: CLIENTS,
    search: (tenant) => ask(tenant, unasked.next().value.text),
  };
  const repeated: Way = {
    name: 'API, repeated question',
    pid: api.pid,
    usesNeo4j: true,
    clients: CLIENTS,
    search: (tenant) => ask(tenant, next().text),
  };
  const statement: Way = {
    name: 'statement alone',
    pid: process.pid,
    usesNeo4j: true,
    clients: CLIENTS,
    search: ({ account }) => findCandidates(store, account, next()),
  };
  const exact: Way = {
    name: 'exact, in process',
    pid: process.pid,
    usesNeo4j: false,
    clients: [1],
    search: (tenant) => Promise.resolve(tenant.exact.best(next().vector, HITS)),
  };
  const embedding: Way = {
    name: 'embedding the question',
    pid: process.pid,
    usesNeo4j: false,
    clients: CLIENTS,
    search: () => embedder.embedQuery(unasked.next().value.text, {}),
  };
  const ways = [asked, repeated, statement, exact];

  const recalls: Recall[] = [];
  for (const tenant of tenants) recalls.push(await measureRecall(store, tenant, known));

  const delays = new Map<string, EventLoopDelay[]>();
  const noteDelay = async (moment: string) => delays.set(moment, [...(delays.get(moment) ?? []), await api.eventLoopDelay()]);
  const turns = new Map<Tenant, Map<Way, Turn[]>>(tenants.map((tenant) => [tenant, new Map([...ways, embedding].map((way) => [way, []]))]));
  const take = (tenant: Tenant, way: Way, clients: number, length = seconds) =>
    takeTurn({ clients, seconds: length, pid: way.pid, neo4jPid: graph.pid, call: () => way.search(tenant) });
  report('Warming up');
  for (const tenant of tenants) for (const way of [asked, repeated, statement]) await take(tenant, way, 8, warmup);
  await api.eventLoopDelay();
  await delay(2_000);
  await noteDelay('idle');
  for (let round = 0; round < rounds; round++) {
    report(`Round ${round + 1} of ${rounds}`);
    for (const clients of CLIENTS) {
      turns
        .get(tenants[0]!)!
        .get(embedding)!
        .push(await take(tenants[0]!, embedding, clients));
      for (const tenant of tenants)
        for (let turn = 0; turn < ways.length; turn++) {
          const way = ways[(round + turn) % ways.length]!;
          if (!way.clients.includes(clients)) continue;
          await api.eventLoopDelay();
          turns
            .get(tenant)!
            .get(way)!
            .push(await take(tenant, way, clients));
          if (way.pid === api.pid) await noteDelay(`${way.name}, ${clients} clients`);
        }
    }
  }
  note('after the searches');

  report(`Searching while ${STORES_A_SECOND} memories a second are stored`);
  const { key } = await graph.newAccount('writer');
  const writer = api.client(key);
  onClose(() => writer.close());
  const texts = distinct((number) => textOf(10_000_000 + number));
  const busy = [];
  for (const clients of CLIENTS)
    for (const tenant of tenants.slice(0, 2)) {
      const length = seconds * rounds;
      await api.eventLoopDelay();
      const [stored, searched] = await Promise.all([
        pace(STORES_A_SECOND, length, () => writer.request('POST', '/memory', { content: texts.next().value.text })),
        take(tenant, asked, clients, length),
      ]);
      await noteDelay(`${asked.name}, ${clients} clients, and ${STORES_A_SECOND} stores/s`);
      busy.push({ clients, tenant, stored, searched });
    }
  note(`after ${STORES_A_SECOND} stores/s`);

  const of = (tenant: Tenant, way: Way, clients: number) =>
    turns
      .get(tenant)!
      .get(way)!
      .filter((turn) => turn.clients === clients);
  const p50 = (tenant: Tenant, way: Way) => quantile(together(of(tenant, way, 1)).latencies, 0.5);
  const embeddingP50 = p50(tenants[0]!, embedding);
  printConditions({
    ...facts,
    memories: `${figure(size)}, ${FILL_NOTE}; ${CORPUS_NOTE}`,
    accounts: `the four below, and ${OTHER_ACCOUNTS} with the rest`,
    searches: `GET /memory/search over kept connections, ${HITS} hits, of the whole account; the statement gives ${CANDIDATES_PER_SOURCE} candidates by meaning and as many by words`,
    load: `from another process on the same machine; ${rounds} rounds of ${seconds} s for each way in turn, after ${warmup} s of warm-up each`,
  });
  printTable(
    'Searches',
    tenants.flatMap((tenant) =>
      CLIENTS.flatMap((clients) =>
        ways
          .filter((way) => way.clients.includes(clients))
          .map((way) => ({
            account: figure(tenant.memories),
            clients,
            way: way.name,
            ...columnsOf(of(tenant, way, clients), way),
          })),
      ),
    ),
  );
  printTable(
    'Embedding the question alone',
    CLIENTS.map((clients) => ({ clients, ...columnsOf(of(tenants[0]!, embedding, clients), embedding) })),
  );
  console.log(`\n${CPU_NOTE}`);
  printTable(
    `New questions while ${STORES_A_SECOND} memories a second are stored`,
    busy.map(({ clients, tenant, stored, searched }) => ({
      account: figure(tenant.memories),
      clients,
      ...columnsOf([searched], asked),
      'stores/s': figure(rateOf(stored)),
      'store p50 ms': figure(quantile(stored.latencies, 0.5), 1),
      'store p95 ms': figure(quantile(stored.latencies, 0.95), 1),
    })),
  );
  printTable(
    `recall@${HITS} of the candidates by meaning against exact search, ${KNOWN_QUESTIONS} questions`,
    tenants.map((tenant, index) => ({
      account: figure(tenant.memories),
      mean: recalls[index]!.mean.toFixed(4),
      worst: recalls[index]!.worst.toFixed(2),
    })),
  );
  printTable(
    "Delay of the API's event loop, ms",
    [...delays].map(([moment, of]) => ({
      moment,
      p50: figure(Math.max(...of.map(({ p50 }) => p50)), 1),
      p99: figure(Math.max(...of.map(({ p99 }) => p99)), 1),
      max: figure(Math.max(...of.map(({ max }) => max)), 1),
    })),
  );
  printTable(
    'Memory, MB (of it anonymous: without the pages of mapped files)',
    Object.entries(memory).map(([moment, { api, neo4j }]) => ({
      moment,
      API: figure(api.resident),
      'API anonymous': figure(api.anonymous),
      Neo4j: figure(neo4j.resident),
      'Neo4j anonymous': figure(neo4j.anonymous),
    })),
  );

  const moments = Object.values(memory);
  printAims([
    ...tenants.map((tenant): Aim => ({
      aim: `account of ${figure(tenant.memories)}: p50 of the API without the embedding (${figure(embeddingP50, 1)} ms), to the statement's`,
      value: (p50(tenant, asked) - embeddingP50) / p50(tenant, statement),
      most: 1.5,
      unit: '×',
    })),
    ...tenants.map((tenant): Aim => ({
      aim: `account of ${figure(tenant.memories)}: p50 of a new question`,
      value: p50(tenant, asked),
      most: 25,
      unit: 'ms',
    })),
    {
      aim: `account of ${figure(tenants[1]!.memories)}, 8 clients: new questions a second`,
      value: rateOf(together(of(tenants[1]!, asked, 8))),
      least: 150,
      unit: '/s',
    },
    ...tenants.map((tenant, index): Aim => ({
      aim: `account of ${figure(tenant.memories)}: recall@10`,
      value: recalls[index]!.mean,
      least: 0.99,
      unit: '%',
    })),
    { aim: 'longest delay of the event loop', value: Math.max(...[...delays.values()].flat().map(({ max }) => max)), most: 20, unit: 'ms' },
    { aim: 'API, idle', value: moments[0]!.api.resident, most: 400, unit: 'MB' },
    { aim: 'Neo4j, idle', value: moments[0]!.neo4j.resident, most: 1_024, unit: 'MB' },
    { aim: `Neo4j, most at ${figure(size)}`, value: Math.max(...moments.map(({ neo4j }) => neo4j.resident)), most: 2_048, unit: 'MB' },
  ]);
});

/** Loads the memories, in mixed order, into their accounts. */
async function settle(graph: BenchGraph, api: BenchApi, embedder: Embedder): Promise<Tenant[]> {
  const searched = await Promise.all(SHARES.map((share) => graph.newAccount(`searched ${share}`)));
  const others = await Promise.all(Array.from({ length: OTHER_ACCOUNTS }, (_, index) => graph.newAccount(`other ${index}`)));
  const owners = SHARES.flatMap((share, index) => Array<BenchAccount>(Math.max(1, Math.round(share * size))).fill(searched[index]!));
  const ownerOf = shuffled(Array.from({ length: size }, (_, index) => owners[index] ?? others[index % OTHER_ACCOUNTS]!));
  const corpus = await prepareCorpus(size, embedder, report);
  const ids = await fill(graph, corpus, (index) => ownerOf[index]!, report);
  return searched.map((account) => {
    const own = corpus.flatMap(({ vector }, index) => (ownerOf[index] === account ? [{ id: ids[index]!, vector }] : []));
    return { account, client: api.client(account.key), memories: own.length, exact: createExactSearch(own) };
  });
}

function findCandidates(store: RecallStore, account: BenchAccount, { text, vector }: Question, words = wordsOf(text)) {
  const filter = { visibility: visibilityOf(account.id, null), archived: false };
  return store.findCandidates({ filter, vector, words, perSource: CANDIDATES_PER_SOURCE, now: Date.now() }, deadlineIn(60_000));
}

/** The share of the exact best that are among the best candidates; as good as a best one is what has its cosine. */
async function measureRecall(store: RecallStore, { account, exact }: Tenant, questions: readonly Question[]): Promise<Recall> {
  const recalls: number[] = [];
  for (const question of questions) {
    const best = exact.best(question.vector, HITS);
    const { candidates } = await findCandidates(store, account, question, []);
    const found = candidates.map(({ cosine }) => cosine!).sort((a, b) => b - a);
    recalls.push(found.slice(0, HITS).filter((cosine) => cosine >= best.at(-1)!.cosine - 1e-6).length / best.length);
  }
  return { mean: recalls.reduce((sum, recall) => sum + recall, 0) / recalls.length, worst: Math.min(...recalls) };
}

function cycle<Item>(items: readonly Item[]): () => Item {
  let at = 0;
  return () => items[at++ % items.length]!;
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  const random = randomFrom(0);
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
