import type { Database } from '../../src/graph/database.ts';
import { ADD_RETRIEVALS } from '../../src/modules/usage/store.ts';

export interface CountingDatabase extends Database {
  /** The statements since the last call of this, but for those that look up keys and those of the background. */
  takeStatements(): string[];
}

/** The given database, that remembers what it was asked. */
export function countStatements(database: Database): CountingDatabase {
  let statements: string[] = [];
  const remember = (statement: string) => {
    const apart = statement.includes('ApiKey') || statement.startsWith('MATCH (m:Unembedded)') || statement === ADD_RETRIEVALS;
    if (!apart) statements.push(statement);
  };
  return {
    ...database,
    read(statement, parameters, deadline) {
      remember(statement);
      return database.read(statement, parameters, deadline);
    },
    write(statement, parameters, deadline) {
      remember(statement);
      return database.write(statement, parameters, deadline);
    },
    transaction: (work, deadline) =>
      database.transaction(
        (run) =>
          work((statement, parameters) => {
            remember(statement);
            return run(statement, parameters);
          }),
        deadline,
      ),
    takeStatements() {
      const taken = statements;
      statements = [];
      return taken;
    },
  };
}
