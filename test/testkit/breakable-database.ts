import { connectDatabase, type Database, type DatabaseOptions } from '../../src/graph/database.ts';

export interface BreakableDatabase extends Database {
  /** While true, searches run a statement that the server can't compute. */
  broken: boolean;
}

/** The real database, that can be made to fail in a way that nobody expects. */
export function connectBreakable(options: DatabaseOptions): BreakableDatabase {
  const database = connectDatabase(options);
  const breakable: BreakableDatabase = {
    ...database,
    broken: false,
    read: (statement, parameters, deadline) =>
      database.read(
        breakable.broken && statement.includes('VECTOR INDEX') ? 'UNWIND [0] AS secret RETURN 1 / secret' : statement,
        parameters,
        deadline,
      ),
  };
  return breakable;
}
