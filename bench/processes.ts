import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';

/** The kernel counts CPU time in hundredths of a second, whatever the machine. */
const TICKS_PER_SECOND = 100;

/** CPU seconds of a process with all its threads. On Linux; elsewhere not a number. */
export function cpuSeconds(pid: number): number {
  const stat = readOrEmpty(`/proc/${pid}/stat`);
  // The program's name, in parentheses, may itself contain spaces and parentheses; the third field follows it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[14 - 3]) + Number(fields[15 - 3])) / TICKS_PER_SECOND;
}

/** CPU seconds of everything on the machine. */
export function machineSeconds(): number {
  return cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0) / 1_000;
}

export interface ProcessMemory {
  /** Megabytes in memory, with the pages of files that it has mapped. */
  readonly resident: number;
  /** Megabytes of it that no file stands behind, which can't be given up. */
  readonly anonymous: number;
}

/** On Linux; elsewhere not a number. */
export function memoryOf(pid: number): ProcessMemory {
  const status = readOrEmpty(`/proc/${pid}/status`);
  const megabytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;
  return { resident: megabytes('VmRSS'), anonymous: megabytes('RssAnon') };
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
