import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** One run of one process. A pid alone would not name it: the system gives it again to others. */
export type ProcessRun = { pid: number; started: string };

const linux = process.platform === 'linux';

/** The run that has this pid now, or null when there is none (a zombie counts as none, once all of its threads have ended). */
export function processRun(pid: number): ProcessRun | null {
  const started = linux ? startOnLinux(pid) : startByPs(pid);
  return started === null ? null : { pid, started };
}

export function isAlive(run: ProcessRun): boolean {
  return processRun(run.pid)?.started === run.started;
}

/** Running programs of this name that have exactly this argument. */
export function findProcesses(program: string, argument: string): ProcessRun[] {
  const pids = linux ? pidsOnLinux(program, argument) : pidsByPs(program, argument);
  return pids.flatMap((pid) => processRun(pid) ?? []);
}

/** Waits at most `timeout` milliseconds; true when the process has ended. */
export async function hasEnded(run: ProcessRun, timeout: number): Promise<boolean> {
  for (const deadline = Date.now() + timeout; isAlive(run); await delay(50)) if (Date.now() >= deadline) return false;
  return true;
}

/** SIGTERM, and SIGKILL when the process is still there after `grace` milliseconds. */
export async function endProcess(run: ProcessRun, grace: number): Promise<void> {
  sendSignal(run, 'SIGTERM');
  if (await hasEnded(run, grace)) return;
  sendSignal(run, 'SIGKILL');
  await hasEnded(run, 10_000);
}

function sendSignal(run: ProcessRun, signal: NodeJS.Signals): void {
  if (!isAlive(run)) return;
  try {
    process.kill(run.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function startOnLinux(pid: number): string | null {
  const stat = readOrNull(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The program's name, in parentheses, may itself contain spaces and parentheses; the third field follows it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [threads, ticksSinceBoot] = [fields[20 - 3], fields[22 - 3]];
  // A process that was killed is a zombie at once, while its other threads still hold its port and its files.
  const hasEnded = fields[0] === 'X' || (fields[0] === 'Z' && Number(threads) <= 1);
  return hasEnded ? null : `${bootId()}-${ticksSinceBoot}`;
}

function bootId(): string {
  return readOrNull('/proc/sys/kernel/random/boot_id')?.slice(0, 8) ?? '';
}

function startByPs(pid: number): string | null {
  const [state = '', ...started] = ps('-o', 'stat=', '-o', 'lstart=', '-p', String(pid)).trim().split(/\s+/);
  return state === '' || state.startsWith('Z') ? null : started.join('-').replaceAll(':', '');
}

function pidsOnLinux(program: string, argument: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      const [executable = '', ...args] = readOrNull(`/proc/${pid}/cmdline`)?.split('\0') ?? [];
      return executable.endsWith(program) && args.includes(argument);
    })
    .map(Number);
}

function pidsByPs(program: string, argument: string): number[] {
  return ps('-axww', '-o', 'pid=', '-o', 'command=')
    .split('\n')
    .filter((line) => `${line} `.includes(` ${argument} `) && line.slice(0, line.indexOf(argument)).includes(`${program} `))
    .map((line) => parseInt(line, 10));
}

/** `lstart` is written in the time zone and language of the one who asks, so both are fixed. */
function ps(...args: string[]): string {
  try {
    return execFileSync('ps', args, { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' }, maxBuffer: 64 * 1024 * 1024 });
  } catch (error) {
    if ((error as { status?: number }).status === 1) return '';
    throw error;
  }
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
