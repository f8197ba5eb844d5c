import { deadlineIn } from '../deadline.ts';
import { checkChain } from '../modules/access/audit-check.ts';
import { type AuditLog, createAuditLog } from '../modules/access/audit-log.ts';
import { FIRST_ACCOUNT } from '../modules/access/bootstrap.ts';
import { createAccessStore } from '../modules/access/store.ts';
import { migrate } from '../graph/migrations.ts';
import { joinDatabase } from '../graph/open.ts';
import { readArguments, requireAccount, runCommand, UsageError, withDatabase } from './command-line.ts';

const USAGE = `Usage: npm run audit -- verify [--account NAME] [--head HASH]
       npm run audit -- list [--account NAME]

verify walks the log from its first entry to its head, and prints the number of entries and the hash of the last; or what is
wrong with the first that was changed, and fails. list prints the log, the latest first.

  --account   the account's name (default: every account for verify, ${FIRST_ACCOUNT} for list)
  --head      a hash that verify printed before: it has to be in the log still, or the log was cut off or written anew`;

const PAGE = 1_000;

await runCommand(async () => {
  const { action, others, values } = readArguments({ account: { type: 'string' }, head: { type: 'string' } }, USAGE);
  const { account: name, head = null } = values;
  if (others.length > 0) throw new UsageError(USAGE);
  if (action !== 'verify' && action !== 'list') throw new UsageError(USAGE);
  if (head !== null && (action !== 'verify' || !/^[0-9a-f]{64}$/.test(head)))
    throw new UsageError(`--head takes a hash that verify printed\n\n${USAGE}`);
  await withDatabase(joinDatabase, 'npm run audit', async ({ database }, { report }) => {
    await migrate(database, report);
    const log = createAuditLog(database);
    const find = async (accountName: string) => {
      const { id } = await requireAccount(createAccessStore(database), accountName);
      return { accountId: id, name: accountName };
    };
    if (action === 'list') return list(log, (await find(name ?? FIRST_ACCOUNT)).accountId);
    return verify(log, name === undefined ? await log.listChains(deadlineIn(30_000)) : [await find(name)], head);
  });
});

/** Throws when a chain is broken, or none contains the wanted head. */
async function verify(log: AuditLog, chains: readonly { accountId: string; name: string | null }[], wantedHead: string | null): Promise<void> {
  let broken = 0;
  let found = wantedHead === null;
  for (const { accountId, name } of chains) {
    const title = name ?? `${accountId} (its account is gone)`;
    const report = await checkChain(log, accountId, wantedHead);
    if (report.intact) console.log(`${title}  ${report.entries} ${report.entries === 1 ? 'entry' : 'entries'}  head ${report.head}`);
    else console.log(`${title}  BROKEN: ${report.problem}`);
    found ||= report.intact && report.containsHead;
    if (!report.intact || name === null) broken++;
  }
  if (broken > 0) throw new Error(`The audit log is broken in ${broken} of ${chains.length} ${chains.length === 1 ? 'account' : 'accounts'}`);
  if (!found) throw new Error(`No entry has the hash ${wantedHead}: the log was cut off or written anew since`);
}

async function list(log: AuditLog, accountId: string): Promise<void> {
  let before = Number.MAX_SAFE_INTEGER;
  for (let entries; (entries = await log.readPage(accountId, before, PAGE, deadlineIn(30_000))).length > 0; before = entries.at(-1)!.sequence)
    for (const { sequence, at, actor, action, target, details } of entries)
      console.log([sequence, new Date(at).toISOString(), actor, action, target, details].join('  '));
}
