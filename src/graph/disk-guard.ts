import { ServiceError } from '../errors.ts';
import type { Database } from './database.ts';
import type { DiskWatch } from './local/disk.ts';

/** Seconds after which a client is to try again what found the disk full. */
const RETRY_AFTER = 5;

/** The same database, which refuses to write, with a 503, while its disk has too little space; reads go on. */
export function withDiskGuard(database: Database, disk: Pick<DiskWatch, 'shortage'>): Database {
  function requireSpace(): void {
    const shortage = disk.shortage();
    if (shortage) throw new ServiceError('unavailable', shortage, { retryAfterSeconds: RETRY_AFTER });
  }
  return {
    ...database,
    async write(...call) {
      requireSpace();
      return database.write(...call);
    },
    async transaction(...call) {
      requireSpace();
      return database.transaction(...call);
    },
  };
}
