import { setTimeout as delay } from 'node:timers/promises';
import { ask, type Language, type Operation, type Outcome } from './ask.ts';
import type { Client } from './client.ts';
import { type Content, type Entry, isPossible, type Ledger } from './ledger.ts';

/** A request and what came of it. */
export interface Answer {
  readonly request: string;
  /** By performance.now(). */
  readonly startedAt: number;
  readonly milliseconds: number;
  /** Over GraphQL that of the error; 0 when there was no answer. */
  readonly status: number;
  /** What is wrong with it, whatever the service's state; null: nothing. */
  readonly problem: string | null;
}

export interface TrafficOptions {
  readonly client: Client;
  readonly userId: string;
  readonly ledger: Ledger;
  readonly workers: number;
  /** Milliseconds between two requests of a worker. */
  readonly pause: number;
}

/** Clients that write and read until they are stopped. Stores over REST carry an Idempotency-Key, and are repeated until they are answered. */
export interface Traffic {
  readonly answers: readonly Answer[];
  /** Settles when the requests under way have been answered. */
  stop(): Promise<void>;
}

/** How often each comes, against the others. */
const MIX: Readonly<Record<Operation, number>> = { store: 4, update: 2, delete: 1, search: 1, list: 1, get: 1 };
/** Milliseconds after which a request counts as one without an answer. */
const GIVEN_UP_AFTER = 30_000;
/** Milliseconds until a client that got no answer asks again. */
const AFTER_NO_ANSWER = 100;
const EXPECTED = [0, 200, 404, 429, 503];

export function startTraffic({ client, userId, ledger, workers, pause }: TrafficOptions): Traffic {
  const answers: Answer[] = [];
  let stopping = false;
  const working = Promise.all(Array.from({ length: workers }, work));

  /** One request after the other, so that each memory has one writer. */
  async function work(): Promise<void> {
    const own: Entry[] = [];
    while (!stopping) {
      const living = own.filter(({ acknowledged }) => acknowledged !== null);
      const operation = living.length === 0 ? 'store' : pick(MIX);
      const language = Math.random() < 0.5 ? 'REST' : 'GraphQL';
      if (operation === 'store') {
        const entry = ledger.newEntry();
        own.push(entry);
        await store(entry, language);
      } else await perform(operation, living[Math.floor(Math.random() * living.length)]!, language);
      await delay(pause * (0.5 + Math.random()));
    }
  }

  async function store(entry: Entry, language: Language): Promise<void> {
    const content = textOf(entry);
    if (language === 'GraphQL') return void (await perform('store', entry, language, content));
    const headers = { 'idempotency-key': entry.marker };
    while ((await perform('store', entry, 'REST', content, headers)) === null && !stopping);
    if (entry.id === null || Math.random() > 0.2) return;
    await perform('store', entry, 'REST', content, headers, ({ reply, id }) =>
      reply.headers.get('idempotency-replayed') === 'true' && id === entry.id && reply.body.stored === true ? null : 'not a replay',
    );
    await perform('store', entry, 'REST', `${content} and more`, headers, ({ status }) => (status === 409 ? null : 'not refused under a used key'));
  }

  /** Returns null when it was not answered. `judge` says what is wrong with an answer that is one. */
  async function perform(
    operation: Operation,
    entry: Entry,
    language: Language,
    content: Content = operation === 'delete' ? null : textOf(entry),
    headers: Record<string, string> = {},
    judge: (outcome: Outcome) => string | null = (outcome) => judgeAnswer(operation, entry, outcome),
  ): Promise<Outcome | null> {
    const writes = operation === 'store' || operation === 'update' || operation === 'delete';
    const sought = operation === 'search' ? entry.acknowledged! : (content ?? '');
    if (writes) ledger.begin(entry, content);
    const startedAt = performance.now();
    const asked = ask(client, operation, { id: entry.id ?? '', userId, content: sought, headers }, language);
    const outcome = await Promise.race([asked.catch(() => null), delay(GIVEN_UP_AFTER, null, { ref: false })]);
    const answered = outcome !== null && outcome.status < 500 && outcome.status !== 429;
    const problem = outcome && (problemOf(outcome) ?? (answered ? judge(outcome) : null));
    const request = `${operation} ${entry.marker} over ${language}`;
    answers.push({
      request,
      startedAt,
      milliseconds: performance.now() - startedAt,
      status: outcome?.status ?? 0,
      problem: problem && `${request}: ${problem}: ${outcome.reply.story}`,
    });
    if (!outcome || !answered) {
      await delay(AFTER_NO_ANSWER);
      return null;
    }
    if (outcome.status === 200 && writes) ledger.acknowledge(entry, content, entry.id ?? outcome.id!);
    // What was deleted without an answer is seen to be gone.
    else if (outcome.status === 404) ledger.acknowledge(entry, null, entry.id!);
    else if (writes) ledger.refuse(entry, content);
    return outcome;
  }

  return {
    answers,
    async stop() {
      stopping = true;
      await working;
    },
  };
}

const textOf = ({ marker }: Entry) => `${marker} was written at ${Math.round(1000 * performance.now())}`;

/** What must not be, whatever was asked. */
function problemOf({ status, reply }: Outcome): string | null {
  if (status === 409) return null;
  if (!EXPECTED.includes(status)) return `answered ${status}`;
  const isRefusal = reply.status === 503 || reply.status === 429;
  return isRefusal && !reply.headers.has('retry-after') ? 'has no Retry-After' : null;
}

function judgeAnswer(operation: Operation, entry: Entry, { status, reply, id, content, ids }: Outcome): string | null {
  if (status === 404) return isPossible(entry, null) && operation !== 'store' ? null : 'is not there';
  if (status !== 200) return `answered ${status}`;
  switch (operation) {
    case 'store':
    case 'update':
    case 'delete':
      return typeof id === 'string' ? null : 'has no id';
    case 'get':
      return isPossible(entry, content ?? null) ? null : 'says something else';
    case 'search':
      return entry.unanswered.size > 0 || ids?.includes(entry.id!) ? null : 'does not find it';
    case 'list':
      return Array.isArray(ids) && reply.status === 200 ? null : 'is no list';
  }
}

function pick(mix: Readonly<Record<Operation, number>>): Operation {
  const operations = Object.entries(mix) as [Operation, number][];
  let at = Math.random() * operations.reduce((sum, [, weight]) => sum + weight, 0);
  return operations.find(([, weight]) => (at -= weight) < 0)![0];
}
