import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A disk of its own size, mounted at a new folder. */
export interface SmallDisk {
  /** Fills it but for these megabytes. */
  fill(leaving: number): void;
  empty(): void;
  unmount(): void;
}

/** Null where nothing may be mounted. */
export function mountSmallDisk(folder: string, size: string): SmallDisk | null {
  mkdirSync(folder, { recursive: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    return null;
  }
  const filler = join(folder, 'filler');
  return {
    fill(leaving) {
      const { bavail, bsize } = statfsSync(folder);
      writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - leaving * 1_000_000)));
    },
    empty: () => rmSync(filler, { force: true }),
    // Lazily, because a process that is about to end may still be in it.
    unmount: () => void execFileSync('umount', ['-l', folder]),
  };
}
