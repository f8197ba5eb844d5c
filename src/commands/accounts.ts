import { v7 as uuid } from 'uuid';
import { loadConfig } from '../config.ts';
import { deadlineIn } from '../deadline.ts';
import { readArguments, runCommand, UsageError, withAccessStore } from './command-line.ts';

const { plans } = loadConfig();
const USAGE = `Usage: npm run accounts -- create NAME [--plan PLAN]
       npm run accounts -- list

  NAME      1–64 letters, digits, '.', '_' or '-'
  --plan    ${plans.names.join(', ')} (default: self_hosted)`;

await runCommand(async () => {
  const { action, others, values } = readArguments({ plan: { type: 'string', default: 'self_hosted' } }, USAGE);
  const [name] = others;
  if (others.length !== (action === 'create' ? 1 : 0)) throw new UsageError(USAGE);
  switch (action) {
    case 'create': {
      if (!/^[A-Za-z0-9._-]{1,64}$/.test(name!)) throw new UsageError(`'${name}' is not a name for an account\n\n${USAGE}`);
      if (!plans.has(values.plan)) throw new UsageError(`There is no plan '${values.plan}'\n\n${USAGE}`);
      return withAccessStore('npm run accounts', async (store) => {
        const { account, created } = await store.createAccount({ id: uuid(), name: name!, plan: values.plan }, Date.now(), deadlineIn(30_000));
        if (!created) throw new Error(`There is an account '${account.name}' already`);
        console.log(
          `Created the account '${account.name}' (id ${account.id}, plan ${account.plan}). Give it a key: npm run keys -- create --account ${account.name}`,
        );
      });
    }
    case 'list':
      return withAccessStore('npm run accounts', async (store) => {
        for (const { id, name, plan, createdAt, keys } of await store.listAccounts(deadlineIn(30_000)))
          console.log(
            [id, name, plan, `${keys} active ${keys === 1 ? 'key' : 'keys'}`, `created ${new Date(createdAt).toISOString().slice(0, 10)}`].join('  '),
          );
      });
    default:
      throw new UsageError(USAGE);
  }
});
