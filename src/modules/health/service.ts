import { deadlineIn } from '../../deadline.ts';
import type { Embedder } from '../../embedding/embedder.ts';
import type { Database } from '../../graph/database.ts';
import type { DiskWatch } from '../../graph/local/disk.ts';

export interface Health {
  readonly status: 'OK' | 'DEGRADED';
  readonly version: string;
  readonly uptimeSeconds: number;
  readonly checks: { readonly database: CheckState; readonly embedding: CheckState; readonly cache: CheckState; readonly disk: CheckState };
}
type CheckState = 'OK' | 'DOWN' | 'OFF';

export interface HealthService {
  check(): Promise<Health>;
}

interface HealthDependencies {
  readonly database: Database;
  readonly disk: Pick<DiskWatch, 'shortage'> | null;
  readonly embedder: Embedder;
  readonly redis: () => CheckState;
  readonly version: string;
}

/** Milliseconds for which a look at the database counts. */
const SHARED_FOR = 500;

/** The state of the service, at most half a second old; an answer takes two seconds at most. */
export function createHealthService({ database, disk, embedder, redis, version }: HealthDependencies): HealthService {
  const startedAt = performance.now();
  let asked: { readonly at: number; readonly answers: Promise<boolean> } | undefined;

  /** Probes need no key and are never refused, so all who ask within a moment share one look. */
  function databaseAnswers(): Promise<boolean> {
    if (!asked || performance.now() - asked.at > SHARED_FOR) {
      const answers = database.read('RETURN 1', {}, deadlineIn(2_000)).then(
        () => true,
        () => false,
      );
      asked = { at: performance.now(), answers };
    }
    return asked.answers;
  }

  return {
    async check() {
      const answers = await databaseAnswers();
      const checks = {
        database: answers ? 'OK' : 'DOWN',
        embedding: embedder.status() === 'ok' ? 'OK' : 'DOWN',
        cache: redis(),
        disk: disk === null ? 'OFF' : disk.shortage() === null ? 'OK' : 'DOWN',
      } as const;
      return {
        status: Object.values(checks).includes('DOWN') ? 'DEGRADED' : 'OK',
        version,
        uptimeSeconds: Math.floor((performance.now() - startedAt) / 1000),
        checks,
      };
    },
  };
}
