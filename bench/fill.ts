import { fastify } from 'fastify';
import { deadlineIn } from '../src/deadline.ts';
import { knownCalibrations } from '../src/embedding/calibration.ts';
import { createPlans } from '../src/modules/usage/plans.ts';
import { createReadyMadeEmbedder } from './ready-made.ts';
import { createServices } from '../src/services.ts';
import type { Embedded } from './corpus.ts';
import { type BenchAccount, type BenchGraph, DEFAULTS } from './graph.ts';
import { inParallel } from './load.ts';

const ROWS_A_TRANSACTION = 256;

export const FILL_NOTE = `stored by the product's own service in the benchmark's process, ${ROWS_A_TRANSACTION} a transaction`;

/** Stores the texts with their vectors, each in the account that it is for; their ids, in the same order. */
export async function fill(
  graph: BenchGraph,
  memories: readonly Embedded[],
  accountOf: (index: number) => BenchAccount,
  report: (line: string) => void,
): Promise<string[]> {
  const startedAt = performance.now();
  const vectors = new Map(memories.map(({ text, vector }) => [text, vector]));
  const embedder = createReadyMadeEmbedder();
  const plans = createPlans();
  const services = createServices({
    plans,
    database: graph.database,
    embedder: { ...embedder, embedPassage: (text) => Promise.resolve({ vector: vectors.get(text)!, cut: false }) },
    calibration: knownCalibrations[embedder.model]!,
    version: 'bench',
    batching: { rows: ROWS_A_TRANSACTION, underWay: 2, patience: 50 },
    sessionTtl: DEFAULTS.sessionTtl,
    logger: fastify().log,
  });
  const ids: string[] = [];
  let stored = 0;
  await inParallel(4 * ROWS_A_TRANSACTION, memories.entries(), async ([index, { text }]) => {
    const account = accountOf(index);
    const { memories: service } = services.contextFor({
      principal: { account, keyId: '', keyHint: '', scopes: ['admin'], boundUserId: null },
      deadline: deadlineIn(60_000),
      charge: () => Promise.resolve(),
      requestId: '',
      tally: services.meter.tally(account.id, plans.of(account.plan)),
      fingerprint: null,
    });
    ids[index] = (await service.store({ content: text }, null)).id;
    if (++stored % 10_000 === 0) report(`Loaded ${stored} memories in ${Math.round((performance.now() - startedAt) / 1_000)} s`);
  });
  await services.close();
  return ids;
}
