import { deadlineIn } from '../../deadline.ts';
import type { Row } from '../../graph/database.ts';
import { type AuditEntry, EMPTY_CHAIN, hashOf } from './audit.ts';
import type { AuditLog } from './audit-log.ts';

/** What a look at a whole chain found; `containsHead` is whether the hash that was asked for is one of its entries'. */
export type ChainReport =
  | { readonly intact: true; readonly entries: number; readonly head: string; readonly containsHead: boolean }
  | { readonly intact: false; readonly problem: string };

const PAGE = 1_000;
const FIELDS = ['accountId', 'action', 'actor', 'at', 'details', 'hash', 'id', 'previousHash', 'sequence', 'target'];

/**
 * Walks the account's chain from its first entry to its head, a page at a time. Entries may be appended meanwhile; the end is
 * looked at while none can be.
 */
export async function checkChain(log: AuditLog, accountId: string, wantedHead: string | null = null): Promise<ChainReport> {
  let { sequence, hash } = EMPTY_CHAIN;
  let containsHead = wantedHead === null;

  /** Takes the next entries; what is wrong with the first that doesn't follow. */
  function follow(entries: readonly Row[]): string | null {
    for (const entry of entries) {
      const problem = problemOf(entry, { accountId, sequence, hash });
      if (problem) return problem;
      ({ sequence, hash } = entry as unknown as AuditEntry);
      containsHead ||= hash === wantedHead;
    }
    return null;
  }

  for (;;) {
    const entries = await log.readAfter(accountId, sequence, PAGE, deadlineIn(30_000));
    const problem = follow(entries);
    if (problem) return { intact: false, problem };
    if (entries.length < PAGE) break;
  }
  const problem = await log.hold(
    accountId,
    async ({ head, count, readAfter }) => {
      if (head['sequence'] == null) return 'the head of the chain is missing';
      for (let entries; (entries = await readAfter(sequence, PAGE)).length > 0;) {
        const broken = follow(entries);
        if (broken) return broken;
      }
      if (head['sequence'] !== sequence || head['hash'] !== hash)
        return `the chain ends with entry ${sequence}, and its head says ${JSON.stringify(head)}`;
      return count === sequence ? null : `${count - sequence} entries of the account are not part of the chain`;
    },
    deadlineIn(60_000),
  );
  return problem === null ? { intact: true, entries: sequence, head: hash, containsHead } : { intact: false, problem };
}

function problemOf(entry: Row, before: { accountId: string; sequence: number; hash: string }): string | null {
  const expected = before.sequence + 1;
  if (entry['sequence'] !== expected) return `entry ${expected} is missing: ${String(entry['sequence'])} comes next`;
  const place = `entry ${expected} (${String(entry['id'])})`;
  const fields = Object.keys(entry).sort();
  if (fields.join() !== FIELDS.join()) return `${place} has the fields ${fields.join(', ')} in place of ${FIELDS.join(', ')}`;
  if (entry['previousHash'] !== before.hash) return `${place} does not follow on the entry before it`;
  if (entry['hash'] !== hashOf(entry as unknown as AuditEntry)) return `${place} does not say what was recorded: its hash does not fit`;
  return null;
}
