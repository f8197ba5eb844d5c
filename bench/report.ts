import { readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, loadavg, platform, totalmem } from 'node:os';
import { deadlineIn } from '../src/deadline.ts';
import { LOCAL_MODEL } from '../src/embedding/local.ts';
import type { BenchGraph } from './graph.ts';

export type Cell = string | number;

/** Prints rows under their names, numbers to the right. */
export function printTable(title: string, rows: readonly Record<string, Cell>[]): void {
  const names = Object.keys(rows[0] ?? {});
  const texts = rows.map((row) => names.map((name) => String(row[name])));
  const widths = names.map((name, column) => Math.max(name.length, ...texts.map((cells) => cells[column]!.length)));
  const isFigure = names.map((_, column) => column > 0 && texts.every((cells) => /^[\d–−-]/.test(cells[column]!)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => (isFigure[column] ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)))
      .join('  ')
      .trimEnd();
  console.log(`\n${title}\n`);
  console.log(line(names));
  console.log(widths.map((width) => '─'.repeat(width)).join('  '));
  for (const cells of texts) console.log(line(cells));
}

/** A whole number with separators, or with this many decimals. */
export function figure(value: number, decimals = 0): string {
  return Number.isFinite(value) ? value.toLocaleString('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals }) : '–';
}

/** What the figures were measured on and with. */
export async function conditions({ database, runtime, heap }: BenchGraph): Promise<Record<string, Cell>> {
  const [row] = await database.read(
    "CALL dbms.components() YIELD name, versions, edition WHERE name = 'Neo4j Kernel' RETURN versions[0] + ' ' + edition AS version",
    {},
    deadlineIn(30_000),
  );
  return {
    machine: `${availableParallelism()} × ${cpus()[0]?.model.trim()}, ${figure(totalmem() / 2 ** 30)} GiB, ${platform()} ${arch()}`,
    'load at start': loadavg()[0]!.toFixed(2),
    node: process.version,
    neo4j: `${String(row?.['version'])} on Java ${runtime.javaVersion}, heap ${heap}`,
    packages: ['neo4j-driver', 'fastify', 'graphql', 'onnxruntime-node'].map((name) => `${name} ${versionOf(name)}`).join(', '),
    model: `${LOCAL_MODEL.model}, ${LOCAL_MODEL.dimensions} dimensions`,
  };
}

export function printConditions(values: Record<string, Cell>): void {
  const width = Math.max(...Object.keys(values).map((name) => name.length));
  console.log();
  for (const [name, value] of Object.entries(values)) console.log(`${name.padEnd(width)}  ${value}`);
}

function versionOf(dependency: string): string {
  const file = new URL(`../node_modules/${dependency}/package.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

export interface Aim {
  readonly aim: string;
  readonly value: number;
  readonly least?: number;
  readonly most?: number;
  readonly unit: '%' | '×' | '/s' | 'ms' | 'MB';
}

/** Prints what was to be reached and what was. */
export function printAims(aims: readonly Aim[]): void {
  const show = (value: number, unit: Aim['unit']) => {
    if (unit === '%') return `${figure(100 * value, 1)} %`;
    return `${figure(value, unit === '×' || unit === 'ms' ? 1 : 0)}${unit === '/s' ? '' : ' '}${unit}`;
  };
  printTable(
    'Aims',
    aims.map(({ aim, value, least = -Infinity, most = Infinity, unit }) => ({
      aim,
      measured: show(value, unit),
      aimed: least === -Infinity ? `≤ ${show(most, unit)}` : `≥ ${show(least, unit)}`,
      reached: value >= least && value <= most ? 'yes' : 'no',
    })),
  );
}
