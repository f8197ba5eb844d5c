import { deadlineIn } from '../deadline.ts';
import { FIRST_ACCOUNT } from '../modules/access/bootstrap.ts';
import { keyRules } from '../modules/access/input.ts';
import { generateApiKey } from '../modules/access/key.ts';
import { issueKey, rotateKey, stateOf } from '../modules/access/keys.ts';
import { type Scope, SCOPES } from '../modules/access/principal.ts';
import type { AccessStore, ApiKey } from '../modules/access/store.ts';
import { byCommand, readArguments, requireAccount, runCommand, UsageError, withAccessStore } from './command-line.ts';

const USAGE = `Usage: npm run keys -- create [--account NAME] [--name TEXT] [--scopes LIST] [--user USER_ID] [--days N]
       npm run keys -- list [--account NAME]
       npm run keys -- rotate ID [--account NAME] [--grace HOURS]
       npm run keys -- revoke ID [--account NAME]
       npm run keys -- generate        a key for BOOTSTRAP_API_KEY; nothing is stored

  --account   the account's name (default: ${FIRST_ACCOUNT})
  --name      what the key is called
  --scopes    comma-separated, of ${SCOPES.join(', ')} (default: memory:read,memory:write)
  --user      binds the key to one user_id
  --days      how long it is valid (default: without end)
  --grace     for how many hours the old key is valid beside the new one, 0–720 (default: 24)`;

const DAY = 86_400_000;
const HOUR = 3_600_000;

await runCommand(async () => {
  const { action, others, values } = readArguments(
    {
      account: { type: 'string', default: FIRST_ACCOUNT },
      name: { type: 'string' },
      scopes: { type: 'string', default: 'memory:read,memory:write' },
      user: { type: 'string' },
      days: { type: 'string' },
      grace: { type: 'string', default: '24' },
    },
    USAGE,
  );
  const [id] = others;
  if (others.length !== (action === 'revoke' || action === 'rotate' ? 1 : 0)) throw new UsageError(USAGE);
  switch (action) {
    case 'create': {
      const author = byCommand();
      const wish = {
        name: values.name === undefined ? null : checked('--name', keyRules.name, values.name),
        scopes: readScopes(values.scopes),
        userId: values.user === undefined ? null : checked('--user', keyRules.userId, values.user),
        expiresAt: values.days === undefined ? null : author.at + readWhole('--days', values.days, 1, 99_999) * DAY,
      };
      return withAccount(async (store, account) => {
        const { key, apiKey } = await issueKey(store, account.id, wish, author, deadlineIn(30_000));
        console.error(`A key for the account '${account.name}' (id ${apiKey.id}, ${apiKey.scopes.join(', ')}). It is shown this once:`);
        console.log(key);
      });
    }
    case 'list':
      return withAccount(async (store, account) => {
        let after: ApiKey | null = null;
        for (let keys; (keys = await store.listKeys(account.id, after, 1_000, deadlineIn(30_000))).length > 0; after = keys.at(-1)!)
          for (const key of keys) console.log(lineOf(key));
        if (after === null) console.error(`The account '${account.name}' has no keys`);
      });
    case 'rotate': {
      const grace = readWhole('--grace', values.grace, 0, 720) * HOUR;
      return withAccount(async (store, account) => {
        const { key, apiKey, previous } = await rotateKey(store, account.id, { id: id!, grace }, byCommand(), deadlineIn(30_000));
        console.error(`A key in place of ${id}, which is valid until ${timeOf(previous.expiresAt!)} (id ${apiKey.id}). It is shown this once:`);
        console.log(key);
      });
    }
    case 'revoke':
      return withAccount(async (store, account) => {
        if (!(await store.revokeKey(account.id, id!, byCommand(), deadlineIn(30_000))))
          throw new Error(`The account '${account.name}' has no key with the id ${id}`);
        console.error(`Revoked ${id}; it is refused within a second`);
      });
    case 'generate':
      return console.log(generateApiKey());
    default:
      throw new UsageError(USAGE);
  }

  function withAccount(work: (store: AccessStore, account: { id: string; name: string }) => Promise<void>): Promise<void> {
    return withAccessStore('npm run keys', async (store) => work(store, await requireAccount(store, values.account)));
  }
});

function lineOf(key: ApiKey): string {
  const { id, hint, name, scopes, userId, createdAt, expiresAt, revokedAt, lastUsedAt, replacedBy } = key;
  return [
    id,
    `${hint}…`,
    revokedAt === null ? stateOf(key, Date.now()).toLowerCase() : `revoked ${dayOf(revokedAt)}`,
    scopes.join(','),
    userId === null ? 'any user' : `user ${JSON.stringify(userId)}`,
    `created ${dayOf(createdAt)}`,
    lastUsedAt === null ? 'never used' : `used ${timeOf(lastUsedAt)}`,
    ...(expiresAt === null ? [] : [`expires ${timeOf(expiresAt)}`]),
    ...(replacedBy === null ? [] : [`replaced by ${replacedBy}`]),
    // Quoted, as whoever manages the account chose it, and this is someone else's terminal.
    name === null ? '' : JSON.stringify(name),
  ].join('  ');
}

function readScopes(list: string): Scope[] {
  const scopes = list.split(',').map((scope) => scope.trim());
  const unknown = scopes.filter((scope) => !SCOPES.includes(scope as Scope));
  if (unknown.length > 0) throw new UsageError(`--scopes: unknown ${unknown.join(', ')}; known are ${SCOPES.join(', ')}`);
  return [...new Set(scopes)] as Scope[];
}

function checked(option: string, rule: typeof keyRules.name, value: string): string {
  const parsed = rule.safeParse(value);
  if (!parsed.success) throw new UsageError(`${option} ${parsed.error.issues[0]!.message}`);
  return parsed.data;
}

function readWhole(option: string, text: string, minimum: number, maximum: number): number {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : NaN;
  if (!(value >= minimum && value <= maximum)) throw new UsageError(`${option} must be a whole number from ${minimum} to ${maximum}; got ${text}`);
  return value;
}

function dayOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 10);
}

function timeOf(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 16)}Z`;
}
