import neo4j, { type Neo4jError } from 'neo4j-driver';

export type LoginAnswer = 'accepted' | 'rejected' | 'none';

export const username = 'neo4j' as const;

export function boltUri(port: number): string {
  return `bolt://127.0.0.1:${port}`;
}

/** Logs in and asks the user database for a number; 'none' when nothing, or nothing that is ready, answers within about three seconds. */
export async function tryLogin(uri: string, password: string): Promise<LoginAnswer> {
  const driver = neo4j.driver(uri, neo4j.auth.basic(username, password), {
    connectionTimeout: 2000,
    connectionAcquisitionTimeout: 3000,
    maxConnectionPoolSize: 1,
    telemetryDisabled: true,
  });
  const session = driver.session({ database: 'neo4j' });
  try {
    await session.run('RETURN 1', {}, { timeout: 3000 });
    return 'accepted';
  } catch (error) {
    return (error as Neo4jError).code?.startsWith('Neo.ClientError.Security.') ? 'rejected' : 'none';
  } finally {
    await session.close();
    await driver.close();
  }
}
