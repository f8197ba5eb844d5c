import { v7 as uuid } from 'uuid';
import { loadConfig } from '../config.ts';
import { deadlineIn } from '../deadline.ts';
import type { Plans } from '../modules/usage/plans.ts';
import { byCommand, readArguments, requireAccount, runCommand, UsageError, withAccessStore } from './command-line.ts';

const NAMES: Readonly<Record<string, number>> = { create: 1, plan: 2 };

await runCommand(async () => {
  const { plans } = loadConfig();
  const usage = usageWith(plans);
  const { action, others, values } = readArguments({ plan: { type: 'string', default: 'self_hosted' } }, usage);
  const [name, plan = values.plan] = others;
  if (others.length !== (NAMES[action ?? ''] ?? 0)) throw new UsageError(usage);
  switch (action) {
    case 'create': {
      if (!/^[A-Za-z0-9._-]{1,64}$/.test(name!)) throw new UsageError(`'${name}' is not a name for an account\n\n${usage}`);
      requirePlan(plan);
      return withAccessStore('npm run accounts', async (store) => {
        const { account, created } = await store.createAccount({ id: uuid(), name: name!, plan }, byCommand(), deadlineIn(30_000));
        if (!created) throw new Error(`There is an account '${account.name}' already`);
        console.log(
          `Created the account '${account.name}' (id ${account.id}, plan ${account.plan}). Give it a key: npm run keys -- create --account ${account.name}`,
        );
      });
    }
    case 'plan':
      requirePlan(plan);
      return withAccessStore('npm run accounts', async (store) => {
        const account = await requireAccount(store, name!);
        await store.changePlan(account.id, plan, byCommand(), deadlineIn(30_000));
        console.log(
          account.plan === plan
            ? `The account '${account.name}' has the plan ${plan} already`
            : `The account '${account.name}' has the plan ${plan} now, in place of ${account.plan}; it counts within a second`,
        );
      });
    case 'list':
      return withAccessStore('npm run accounts', async (store) => {
        for (const { id, name, plan, createdAt, keys } of await store.listAccounts(Date.now(), deadlineIn(30_000)))
          console.log(
            [id, name, plan, `${keys} active ${keys === 1 ? 'key' : 'keys'}`, `created ${new Date(createdAt).toISOString().slice(0, 10)}`].join('  '),
          );
      });
    default:
      throw new UsageError(usage);
  }

  function requirePlan(plan: string): void {
    if (!plans.has(plan)) throw new UsageError(`There is no plan '${plan}'\n\n${usage}`);
  }
});

function usageWith({ names }: Plans): string {
  return `Usage: npm run accounts -- create NAME [--plan PLAN]
       npm run accounts -- plan NAME PLAN
       npm run accounts -- list

  NAME      1–64 letters, digits, '.', '_' or '-'
  PLAN      ${names.join(', ')} (default: self_hosted)`;
}
