import { v7 as uuid } from 'uuid';
import { deadlineIn } from '../deadline.ts';
import { FIRST_ACCOUNT } from '../modules/access/bootstrap.ts';
import { generateApiKey, hashApiKey, hintOf } from '../modules/access/key.ts';
import { type Scope, SCOPES } from '../modules/access/principal.ts';
import { text } from '../validation.ts';
import { readArguments, runCommand, UsageError, withAccessStore } from './command-line.ts';

const USAGE = `Usage: npm run keys -- create [--account NAME] [--name TEXT] [--scopes LIST] [--user USER_ID] [--days N]
       npm run keys -- list [--account NAME]
       npm run keys -- revoke ID [--account NAME]
       npm run keys -- generate        a key for BOOTSTRAP_API_KEY; nothing is stored

  --account   the account's name (default: ${FIRST_ACCOUNT})
  --scopes    comma-separated, of ${SCOPES.join(', ')} (default: memory:read,memory:write)
  --user      binds the key to one user_id
  --days      how long it is valid (default: without end)`;

await runCommand(async () => {
  const { action, others, values } = readArguments(
    {
      account: { type: 'string', default: FIRST_ACCOUNT },
      name: { type: 'string' },
      scopes: { type: 'string', default: 'memory:read,memory:write' },
      user: { type: 'string' },
      days: { type: 'string' },
    },
    USAGE,
  );
  const { account } = values;
  if (others.length !== (action === 'revoke' ? 1 : 0)) throw new UsageError(USAGE);
  switch (action) {
    case 'create': {
      const key = generateApiKey();
      const now = Date.now();
      const created = {
        id: uuid(),
        hash: hashApiKey(key),
        hint: hintOf(key),
        name: values.name ?? null,
        scopes: readScopes(values.scopes),
        userId: values.user === undefined ? null : readUserId(values.user),
        createdAt: now,
        expiresAt: values.days === undefined ? null : now + readDays(values.days) * 86_400_000,
      };
      return withAccessStore('npm run keys', async (store) => {
        if (!(await store.createKey(account, created, deadlineIn(30_000)))) throw noAccount(account);
        console.error(`A key for the account '${account}' (id ${created.id}, ${created.scopes.join(', ')}). It is shown this once:`);
        console.log(key);
      });
    }
    case 'list':
      return withAccessStore('npm run keys', async (store) => {
        const keys = await store.listKeys(account, deadlineIn(30_000));
        if (keys.length === 0) return console.error(`The account '${account}' has no keys`);
        for (const { id, hint, name, scopes, userId, createdAt, expiresAt, revokedAt } of keys) {
          const state = revokedAt !== null ? `revoked ${day(revokedAt)}` : expiresAt !== null && expiresAt <= Date.now() ? 'expired' : 'active';
          console.log(
            [
              id,
              `${hint}…`,
              state,
              scopes.join(','),
              userId === null ? 'any user' : `user ${userId}`,
              `created ${day(createdAt)}`,
              ...(expiresAt === null ? [] : [`expires ${day(expiresAt)}`]),
              name ?? '',
            ].join('  '),
          );
        }
      });
    case 'revoke':
      return withAccessStore('npm run keys', async (store) => {
        const id = others[0]!;
        if (!(await store.revokeKey(account, id, Date.now(), deadlineIn(30_000))))
          throw new Error(`The account '${account}' has no key with the id ${id}`);
        console.error(`Revoked ${id}; it is refused within a second`);
      });
    case 'generate':
      return console.log(generateApiKey());
    default:
      throw new UsageError(USAGE);
  }
});

function readScopes(list: string): Scope[] {
  const scopes = list.split(',').map((scope) => scope.trim());
  const unknown = scopes.filter((scope) => !SCOPES.includes(scope as Scope));
  if (unknown.length > 0) throw new UsageError(`--scopes: unknown ${unknown.join(', ')}; known are ${SCOPES.join(', ')}`);
  return [...new Set(scopes)] as Scope[];
}

function readUserId(userId: string): string {
  const parsed = text(1, 256).safeParse(userId);
  if (!parsed.success) throw new UsageError(`--user ${parsed.error.issues[0]!.message}`);
  return parsed.data;
}

function readDays(days: string): number {
  if (!/^[1-9]\d{0,4}$/.test(days)) throw new UsageError(`--days must be a whole number from 1 to 99999; got ${days}`);
  return Number(days);
}

function noAccount(name: string): Error {
  return new Error(`There is no account '${name}'; create it with: npm run accounts -- create ${name}`);
}

function day(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 10);
}
