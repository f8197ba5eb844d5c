import neo4j, { type Driver, type Session } from 'neo4j-driver';
import type { DatabaseOptions } from './database.ts';

/**
 * Connections for moving whole databases: an integer is a bigint and a number a float, both ways, and results are streamed.
 * Nothing is repeated and nothing has a deadline, unlike in `connectDatabase`.
 */
export interface ExactConnections {
  /** A session on the member of a cluster that writes, also for reading: there alone a lock holds. */
  session(): Session;
  close(): Promise<void>;
}

const FETCH_SIZE = 200;

export function connectExactly({ uri, username, password, database }: DatabaseOptions): ExactConnections {
  const driver: Driver = neo4j.driver(uri, neo4j.auth.basic(username, password), {
    useBigInt: true,
    notificationFilter: { minimumSeverityLevel: 'OFF' },
    telemetryDisabled: true,
  });
  return {
    session: () => driver.session({ database, defaultAccessMode: neo4j.session.WRITE, fetchSize: FETCH_SIZE }),
    close: () => driver.close(),
  };
}

/** A label, type, property or index name as it stands in a statement. */
export function quoteName(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}

/** The number in an element id, and what stands before it, which is the same for all nodes of a database. */
export function splitElementId(elementId: string): { prefix: string; number: number } {
  const end = elementId.lastIndexOf(':') + 1;
  return { prefix: elementId.slice(0, end), number: Number(elementId.slice(end)) };
}
