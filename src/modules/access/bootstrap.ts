import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { v7 as uuid } from 'uuid';
import { deadlineIn } from '../../deadline.ts';
import { generateApiKey, hashApiKey, hintOf, isApiKey } from './key.ts';
import { SCOPES } from './principal.ts';
import type { AccessStore } from './store.ts';

export const FIRST_ACCOUNT = 'default';

/** Where a newcomer finds the first key. */
export function apiKeyFile(dataDir: string): string {
  return join(dataDir, 'api-key');
}

/**
 * Creates the first account and its key, with every scope, unless that account has a key already. Returns the key when it
 * was made here. The file comes before the database, so that a start that is killed in between goes on with the same key.
 */
export async function bootstrapAccess(
  store: AccessStore,
  options: { dataDir: string; givenKey: string | undefined; report: (line: string) => void },
): Promise<{ newKey: string | null }> {
  const deadline = deadlineIn(30_000);
  const first = await store.findAccountByName(FIRST_ACCOUNT, deadline);
  if (first && (await store.listKeys(first.id, null, 1, deadline)).length > 0) {
    if (options.givenKey && !(await store.findKey(hashApiKey(options.givenKey), deadline)))
      options.report(`BOOTSTRAP_API_KEY is not used: the account '${FIRST_ACCOUNT}' has a key already. More keys: npm run keys -- create`);
    return { newKey: null };
  }
  const key = options.givenKey ?? savedKey(options.dataDir) ?? generateApiKey();
  writeFileSync(apiKeyFile(options.dataDir), `${key}\n`, { mode: 0o600 });
  const at = Date.now();
  const author = { actor: 'start', at };
  const { account } = await store.createAccount({ id: uuid(), name: FIRST_ACCOUNT, plan: 'self_hosted' }, author, deadline);
  const created = await store.createKey(
    account.id,
    { id: uuid(), hash: hashApiKey(key), hint: hintOf(key), name: 'first key', scopes: SCOPES, userId: null, createdAt: at, expiresAt: null },
    author,
    deadline,
  );
  if (created === 'taken') throw new Error('BOOTSTRAP_API_KEY belongs to another account already; choose another key');
  return { newKey: options.givenKey ? null : key };
}

function savedKey(dataDir: string): string | null {
  const file = apiKeyFile(dataDir);
  const key = existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
  return isApiKey(key) ? key : null;
}
