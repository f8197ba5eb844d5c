import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export class MavenError extends Error {
  override name = 'MavenError';
}

export type MavenRun = {
  maven: string;
  javaHome: string;
  args: string[];
  /** What is fetched, for the progress lines. */
  subject: string;
  report: (line: string) => void;
  signal: AbortSignal;
};

const bytesOf: Record<string, number> = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9 };
const secondsBetweenReports = 3;
const addresses = /\s*\(?\b\w+:\/\/[^\s)]+\)?|(?<=Connect) to \S+( \[[^\]]*\])?|(?<=[Uu]nknown host) [^\s:]+/g;

/**
 * Runs Maven to its end and reports its downloads now and then.
 * @throws MavenError with Maven's own last errors; the signal's reason when it was aborted, after Maven has ended
 */
export async function runMaven({ maven, javaHome, args, subject, report, signal }: MavenRun): Promise<void> {
  signal.throwIfAborted();
  const child = spawn(maven, ['-B', ...args], {
    env: { ...process.env, JAVA_HOME: javaHome },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own: Ctrl-C reaches it only through the signal, and ending it ends whatever it started.
    detached: true,
  });
  const end = (): void => {
    endGroup(child.pid, 'SIGTERM');
    setTimeout(() => endGroup(child.pid, 'SIGKILL'), 5000).unref();
  };
  signal.addEventListener('abort', end, { once: true });

  const errors: string[] = [];
  const progress = downloadProgress(subject, report);
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      if (line.startsWith('[ERROR]')) errors.push(line.slice('[ERROR]'.length).trim());
      else progress(line);
    });
  }

  try {
    const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
    signal.throwIfAborted();
    if (code !== 0) throw new MavenError(`Maven could not fetch ${subject}: ${usefulErrors(errors) || `it ended with ${code}`}`);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

function downloadProgress(subject: string, report: (line: string) => void): (line: string) => void {
  let files = 0;
  let bytes = 0;
  let reportedAt = 0;
  return (line) => {
    const [, amount, unit] = /Downloaded from .*\((\d+(?:\.\d+)?) (B|kB|MB|GB)(?: at .*)?\)\s*$/.exec(line) ?? [];
    if (!amount || !unit) return;
    files++;
    bytes += Number(amount) * (bytesOf[unit] ?? 0);
    if (Date.now() - reportedAt < secondsBetweenReports * 1000) return;
    reportedAt = Date.now();
    report(`Fetching ${subject} through Maven: ${files} ${files === 1 ? 'file' : 'files'}, ${Math.round(bytes / 1e6)} MB …`);
  };
}

/** Without the advice about Maven's own options, and without addresses, which may carry credentials. */
function usefulErrors(lines: string[]): string {
  return lines
    .filter((line) => line !== '' && !/^(To see the full|Re-run Maven|For more information|After correcting|\[Help)/.test(line))
    .slice(0, 3)
    .map((line) => line.replace(/ -> \[Help \d+\]$/, '').replace(addresses, ''))
    .join('; ');
}

function endGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
