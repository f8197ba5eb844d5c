import { createHash } from 'node:crypto';
import { accessSync, createReadStream, createWriteStream, existsSync, constants as fsConstants, rmSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline as connect, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createGzip } from 'node:zlib';
import type { Stored } from './values.ts';

/** The first line of a backup. */
export interface Header {
  readonly format: typeof FORMAT;
  readonly formatVersion: number;
  /** The schema version of the database, and the version of the service that wrote the file. */
  readonly schemaVersion: number;
  readonly serviceVersion: string;
  /** The moment whose state this is. */
  readonly at: string;
}

/** Every other line but the last. Ids are the file's own; properties without those that are null. */
export type Entry =
  | { readonly schema: string }
  | { readonly node: number; readonly labels: readonly string[]; readonly properties: Readonly<Record<string, Stored>> }
  | { readonly relationship: string; readonly from: number; readonly to: number; readonly properties: Readonly<Record<string, Stored>> };

/** The last line: what must have come before it. The checksum is of every byte up to this line. */
interface Footer {
  readonly entries: number;
  readonly sha256: string;
}

const FORMAT = 'memory-service-backup';
const FORMAT_VERSION = 1;
/** Bytes that go to the compression at once. */
const CHUNK = 256 * 1024;

/** The file is not a whole backup, and why. */
export class BackupFileError extends Error {
  override readonly name = 'BackupFileError';
}

export function headerOf(values: Omit<Header, 'format' | 'formatVersion'>): Header {
  return { format: FORMAT, formatVersion: FORMAT_VERSION, ...values };
}

/** Throws when a backup can't be written there; a file that is there already is only replaced by `force`. */
export function requireWritable(path: string, { force }: { force: boolean }): void {
  if (existsSync(path) && !force) throw new Error(`There is a file ${path} already; choose another name, or replace it with --force`);
  accessSync(dirname(path), fsConstants.W_OK);
}

/**
 * Writes header, entries and footer to FILE.PID.partial, which takes the file's name when it is complete and on the disk; on any failure it is removed.
 * Entries are taken no faster than they can be written.
 */
export async function writeBackup(path: string, lines: AsyncIterable<Header | Entry>, signal: AbortSignal): Promise<void> {
  // Of this process alone: another one may be backing up to the same file.
  const partial = `${path}.${process.pid}.partial`;
  try {
    // The fastest level: writers wait meanwhile, and the vectors hardly get smaller by a slower one.
    const gzip = createGzip({ level: constants.Z_BEST_SPEED, chunkSize: CHUNK });
    await pipeline(Readable.from(chunksOf(lines)), gzip, createWriteStream(partial, { mode: 0o600, flush: true }), { signal });
    await rename(partial, path);
    await syncFolder(dirname(path));
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

/**
 * The header and then every entry of a backup, as lines of JSON. Throws a BackupFileError for what is not one, and at the end when it is not whole or
 * was altered: so a caller that has read it to its end once knows that it is what was written.
 */
export async function* readBackup(path: string): AsyncGenerator<string> {
  if (!existsSync(path)) throw new BackupFileError(`There is no file ${path}`);
  const hash = createHash('sha256');
  let entries = -1;
  let last: Buffer | undefined;
  try {
    for await (const line of linesOf(connect(createReadStream(path), createGunzip(), () => undefined))) {
      if (last) {
        hash.update(last).update('\n');
        entries++;
        yield last.toString();
      } else if (!isHeader(line)) throw new BackupFileError(`${path} is not a backup of this service`);
      last = line;
    }
  } catch (error) {
    if (error instanceof BackupFileError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (!code?.startsWith('Z_')) throw error;
    throw new BackupFileError(
      last ? `${path} is damaged or not complete (${message}); nothing was restored from it` : `${path} is not a backup of this service (${message})`,
    );
  }
  const footer = parseFooter(last);
  if (footer?.entries !== entries || footer.sha256 !== hash.digest('hex'))
    throw new BackupFileError(`${path} is damaged or not complete: its checksum does not fit; nothing was restored from it`);
}

/** The header's line; refuses a format that a newer service wrote. */
export function parseHeader(line: string): Header {
  const header = JSON.parse(line) as Header;
  if (header.formatVersion > FORMAT_VERSION)
    throw new BackupFileError(`The backup was written by the newer memory service ${header.serviceVersion}; restore it with that one`);
  return header;
}

async function* chunksOf(lines: AsyncIterable<Header | Entry>): AsyncGenerator<string> {
  const hash = createHash('sha256');
  let entries = -1;
  let chunk = '';
  for await (const line of lines) {
    chunk += `${JSON.stringify(line)}\n`;
    entries++;
    if (chunk.length < CHUNK) continue;
    hash.update(chunk);
    yield chunk;
    chunk = '';
  }
  hash.update(chunk);
  const footer: Footer = { entries, sha256: hash.digest('hex') };
  yield `${chunk}${JSON.stringify(footer)}\n`;
}

/** Not node:readline, for which U+2028 inside a text ends a line too. */
async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  for await (const chunk of stream) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      yield Buffer.concat([...parts, chunk.subarray(start, end)]);
      parts = [];
      start = end + 1;
    }
    parts.push(chunk.subarray(start));
  }
}

function isHeader(line: Buffer): boolean {
  return line.subarray(0, 100).toString().startsWith(`{"format":"${FORMAT}"`);
}

function parseFooter(line: Buffer | undefined): Partial<Footer> | undefined {
  try {
    return line && (JSON.parse(line.toString()) as Partial<Footer>);
  } catch {
    return undefined;
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  await folder.sync();
  await folder.close();
}
