// npm run bench:recall -- FILE: how well searches find the messages that answer a question, through the REST API.
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { inParallel } from './load.ts';
import { plainBm25 } from './plain-bm25.ts';
import { startBenchService } from './service.ts';

const USAGE = `Usage: npm run bench:recall -- FILE [--limit N] [--hits FILE]

  FILE      conversations with questions: { conversations: [ { conversation, messages: [ { id, session, date, content } ],
            questions: [ { question, ability, evidence: [message id] } ] } ] }
  --limit   only the first N conversations
  --hits    writes every question's candidates with the parts of their scores, as JSON`;

interface Conversation {
  conversation: number;
  messages: { id: number; session: number; date: string | null; content: string }[];
  questions: { question: string; ability: string; evidence: number[] }[];
}

interface Candidate {
  message: number;
  score: number;
  semantic: number;
  cosine: number;
  lexical: number;
  /** By the baseline, which does not go through the service. */
  bm25: number;
}

const RANKINGS: Record<string, (candidate: Candidate) => number> = {
  'plain BM25': ({ bm25 }) => bm25,
  'words alone': ({ lexical }) => lexical,
  'vector alone': ({ semantic }) => semantic,
  fused: ({ score }) => score,
};

const { values, positionals } = parseArgs({ allowPositionals: true, options: { limit: { type: 'string' }, hits: { type: 'string' } } });
if (positionals.length !== 1) {
  console.error(USAGE);
  process.exit(2);
}
const { conversations } = JSON.parse(readFileSync(positionals[0]!, 'utf8')) as { conversations: Conversation[] };
const chosen = conversations.slice(0, values.limit === undefined ? undefined : Number(values.limit));

const service = await startBenchService(console.error);
const asked: { conversation: number; question: string; ability: string; evidence: number[]; candidates: Candidate[] }[] = [];
try {
  for (const [index, { conversation, messages, questions }] of chosen.entries()) {
    console.error(`Conversation ${index + 1} of ${chosen.length}: ${messages.length} messages, ${questions.length} questions`);
    const user_id = `conversation-${conversation}`;
    const messageOf = new Map<string, number>();
    await inParallel(16, messages, async ({ id, session, date, content }) => {
      // Repeated messages would otherwise be one memory; the session keeps most apart and the map takes the rest.
      const stored = await service.request('POST', '/memory', {
        content,
        user_id,
        session_id: String(session),
        ...(date ? { occurred_at: isoDate(date) } : {}),
      });
      messageOf.set(stored.id, id);
    });
    const baseline = plainBm25(messages.map(({ content }) => content));
    const position = new Map(messages.map(({ id }, index) => [id, index]));
    await inParallel(4, questions, async ({ question, ability, evidence }) => {
      const parameters = new URLSearchParams({ q: question, user_id, limit: '100', explain: 'true' });
      const { memories } = await service.request('GET', `/memory/search?${parameters.toString()}`);
      const bm25 = baseline(question);
      const candidates = memories.map(({ id, score, explanation: { semantic, cosine, lexical } }: any): Candidate => {
        const message = messageOf.get(id)!;
        return { message, score, semantic, cosine, lexical, bm25: bm25[position.get(message)!]! };
      });
      asked.push({ conversation, question, ability, evidence, candidates });
    });
  }
} finally {
  await service.close();
}
if (values.hits) writeFileSync(values.hits, JSON.stringify(asked));

const half = Math.ceil(chosen.length / 2);
const firstHalf = new Set(chosen.slice(0, half).map(({ conversation }) => conversation));
console.log(`\n${asked.length} questions on ${chosen.length} conversations; Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}`);
console.log('NDCG@10: binary gain, mean over questions. recall@10: share of the evidence in the first ten. any@k: some evidence in the first k.\n');
for (const [title, questions] of [
  [`first ${half} conversations (development)`, asked.filter(({ conversation }) => firstHalf.has(conversation))],
  [`last ${chosen.length - half} conversations (held out)`, asked.filter(({ conversation }) => !firstHalf.has(conversation))],
] as const) {
  if (questions.length === 0) continue;
  console.log(`${title}, ${questions.length} questions`);
  console.log('ranking        NDCG@10  recall@10  any@1  any@5  any@10');
  for (const [name, by] of Object.entries(RANKINGS)) {
    const lists = questions.map(({ candidates, evidence }) => ({ evidence, ranked: ranked(candidates, by) }));
    const mean = (metric: (list: { evidence: number[]; ranked: number[] }) => number) =>
      (lists.reduce((sum, list) => sum + metric(list), 0) / lists.length).toFixed(3);
    console.log(`${name.padEnd(14)} ${mean(ndcg)}    ${mean(recall)}      ${mean(any(1))}  ${mean(any(5))}  ${mean(any(10))}`);
  }
  console.log();
}

/** The messages in descending order of what they are ranked by; what has nothing of it is not found. */
function ranked(candidates: Candidate[], by: (candidate: Candidate) => number): number[] {
  return candidates
    .filter((candidate) => by(candidate) > 0)
    .sort((a, b) => by(b) - by(a))
    .map(({ message }) => message);
}

function ndcg({ evidence, ranked }: { evidence: number[]; ranked: number[] }): number {
  const gain = (rank: number) => 1 / Math.log2(rank + 2);
  const found = ranked.slice(0, 10).reduce((sum, message, rank) => sum + (evidence.includes(message) ? gain(rank) : 0), 0);
  const ideal = evidence.slice(0, 10).reduce((sum, _, rank) => sum + gain(rank), 0);
  return found / ideal;
}

function recall({ evidence, ranked }: { evidence: number[]; ranked: number[] }): number {
  const first = new Set(ranked.slice(0, 10));
  return evidence.filter((message) => first.has(message)).length / evidence.length;
}

function any(k: number) {
  return ({ evidence, ranked }: { evidence: number[]; ranked: number[] }) =>
    ranked.slice(0, k).some((message) => evidence.includes(message)) ? 1 : 0;
}

function isoDate(date: string): string {
  return new Date(`${date.replaceAll('-', ' ')} UTC`).toISOString();
}
