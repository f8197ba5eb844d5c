import { parseArgs } from 'node:util';

/** The command line's whole numbers, `--name N`, over their defaults. Says how it is used and ends when it can't be read. */
export function readOptions<Name extends string>(command: string, options: Record<Name, { byDefault: number; what: string }>): Record<Name, number> {
  const names = Object.keys(options) as Name[];
  try {
    const { values } = parseArgs({ options: Object.fromEntries(names.map((name) => [name, { type: 'string' as const }])) });
    return Object.fromEntries(
      names.map((name) => {
        const value = Number(values[name] ?? options[name].byDefault);
        if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number from 1 on`);
        return [name, value];
      }),
    ) as Record<Name, number>;
  } catch (error) {
    console.error((error as Error).message);
    console.error(`\nUsage: npm run ${command} -- ${names.map((name) => `[--${name} N]`).join(' ')}\n`);
    for (const name of names) console.error(`  --${name.padEnd(10)} ${options[name].what} (${options[name].byDefault.toLocaleString('en')})`);
    process.exit(2);
  }
}
