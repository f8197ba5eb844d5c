import { deadlineIn } from '../deadline.ts';
import type { Database } from './database.ts';

/** Marks a database into which a backup is being restored: the first node that is written and the last that goes. */
export const RESTORE_LABEL = 'Restore';

/** Whether a restore was broken off here, or is under way. */
export async function isHalfRestored(database: Database): Promise<boolean> {
  const [row] = await database.read(`MATCH (restore:${RESTORE_LABEL}) RETURN count(restore) AS count`, {}, deadlineIn(30_000));
  return row!['count'] !== 0;
}
