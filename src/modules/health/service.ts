import { deadlineIn } from '../../deadline.ts';
import type { Embedder } from '../../embedding/embedder.ts';
import type { Database } from '../../graph/database.ts';

export interface Health {
  readonly status: 'OK' | 'DEGRADED';
  readonly version: string;
  readonly uptimeSeconds: number;
  readonly checks: { readonly database: CheckState; readonly embedding: CheckState; readonly cache: CheckState };
}
type CheckState = 'OK' | 'DOWN' | 'OFF';

export interface HealthService {
  check(): Promise<Health>;
}

/** The state of the service, looked up at each call within two seconds. */
export function createHealthService({ database, embedder, version }: { database: Database; embedder: Embedder; version: string }): HealthService {
  const startedAt = performance.now();
  return {
    async check() {
      const answers = await database.read('RETURN 1', {}, deadlineIn(2_000)).then(
        () => true,
        () => false,
      );
      const checks = { database: answers ? 'OK' : 'DOWN', embedding: embedder.status() === 'ok' ? 'OK' : 'DOWN', cache: 'OFF' } as const;
      return {
        status: checks.database === 'OK' && checks.embedding === 'OK' ? 'OK' : 'DEGRADED',
        version,
        uptimeSeconds: Math.floor((performance.now() - startedAt) / 1000),
        checks,
      };
    },
  };
}
