import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Taken } from '../limits/windows.ts';
import type { RequestRecord } from '../request-log.ts';

/** What the service counts of itself. Labels are patterns and outcomes: never an id, a key, an account or a content. */
export interface Metrics {
  readonly registry: Registry;
  readonly observeRequest: (record: RequestRecord) => void;
  readonly observeOverload: () => void;
  readonly observeDecision: (decision: Pick<Taken, 'taken' | 'where'>) => void;
  readonly observeDatabaseCall: (mode: string, outcome: string, seconds: number) => void;
  readonly observeEmbedding: (kind: 'query' | 'passage', seconds: number) => void;
  readonly observeTransaction: (rows: number) => void;
  /** A value that is read when somebody looks. While it can't be read it is not a number. */
  readonly gauge: (name: string, help: string, read: () => number | Promise<number>) => void;
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** Seconds; from a cached read to the longest deadline that makes sense. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const ROWS = [1, 2, 4, 8, 16, 32, 64, 128];

export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const requests = new Counter({
    name: 'memory_http_requests_total',
    help: 'Requests by route and status; "aborted" when the client went away, route "none" when there is no such path.',
    labelNames: ['method', 'route', 'status'],
    registers,
  });
  const requestSeconds = new Histogram({
    name: 'memory_http_request_duration_seconds',
    help: 'From the head of a request to the end of its response.',
    labelNames: ['method', 'route'],
    buckets: BUCKETS,
    registers,
  });
  const overloads = new Counter({
    name: 'memory_http_overload_refusals_total',
    help: 'Requests that were refused because MAX_CONCURRENT_REQUESTS others were worked on.',
    registers,
  });
  const decisions = new Counter({
    name: 'memory_rate_limit_decisions_total',
    help: 'Decisions of the rate limits, and where they were counted.',
    labelNames: ['decision', 'where'],
    registers,
  });
  const databaseCalls = new Counter({
    name: 'memory_database_calls_total',
    help: 'Calls of the database, repeats within one not counted, by outcome: "ok", or the code of the error.',
    labelNames: ['mode', 'outcome'],
    registers,
  });
  const databaseSeconds = new Histogram({
    name: 'memory_database_call_duration_seconds',
    help: 'What calls of the database took, repeats and waiting for a connection included.',
    labelNames: ['mode'],
    buckets: BUCKETS,
    registers,
  });
  const embeddingSeconds = new Histogram({
    name: 'memory_embedding_duration_seconds',
    help: 'What embedding a text took, waiting for the model included; texts from the cache are not counted.',
    labelNames: ['kind'],
    buckets: BUCKETS,
    registers,
  });
  const transactionRows = new Histogram({
    name: 'memory_store_transaction_rows',
    help: 'Memories that were stored in one transaction.',
    buckets: ROWS,
    registers,
  });

  return {
    registry,
    observeRequest({ method: given, route, status, seconds }) {
      const labels = { method: METHODS.has(given ?? '') ? given! : 'other', route: route ?? 'none' };
      requests.inc({ ...labels, status: status ?? 'aborted' });
      requestSeconds.observe(labels, seconds);
    },
    observeOverload: () => overloads.inc(),
    observeDecision: ({ taken, where }) => decisions.inc({ decision: taken ? 'allowed' : 'refused', where }),
    observeDatabaseCall(mode, outcome, seconds) {
      databaseCalls.inc({ mode, outcome });
      databaseSeconds.observe({ mode }, seconds);
    },
    observeEmbedding: (kind, seconds) => embeddingSeconds.observe({ kind }, seconds),
    observeTransaction: (rows) => transactionRows.observe(rows),
    gauge(name, help, read) {
      new Gauge({
        name,
        help,
        registers,
        async collect() {
          this.set(await Promise.resolve(read()).catch(() => NaN));
        },
      });
    },
  };
}
