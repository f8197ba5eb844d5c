import { statfsSync } from 'node:fs';

/** How much space there is where the managed Neo4j keeps its data. */
export interface DiskWatch {
  /** What to tell a writer while there is too little, else null. */
  shortage(): string | null;
  stop(): void;
}

const LOOK_EVERY = 1_000;

/** Looks at the disk of `folder` each second; `minimum` in bytes. Neo4j breaks when it finds no space, so nothing may be written long before that. */
export function watchDisk(folder: string, minimum: number, report: (line: string) => void): DiskWatch {
  let shortage: string | null = null;

  function look(): void {
    const { bavail, bsize } = statfsSync(folder);
    const free = bavail * bsize;
    const before = shortage;
    shortage =
      free >= minimum
        ? null
        : `The disk of the database is full: ${megabytes(free)} MB are free, and nothing is stored below ${megabytes(minimum)} MB (MIN_FREE_DISK)`;
    if (shortage && !before) report(`${shortage}. Reading goes on.`);
    if (!shortage && before) report(`The disk of the database has ${megabytes(free)} MB free; storing goes on.`);
  }

  look();
  const timer = setInterval(() => {
    try {
      look();
    } catch {
      // The folder was deleted while the service ran: then there is no disk to look at.
    }
  }, LOOK_EVERY);
  timer.unref();
  return { shortage: () => shortage, stop: () => clearInterval(timer) };
}

function megabytes(bytes: number): number {
  return Math.floor(bytes / 1_000_000);
}
