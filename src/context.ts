import type { Deadline } from './deadline.ts';
import type { Principal } from './modules/access/principal.ts';
import type { AccessService } from './modules/access/service.ts';
import type { HealthService } from './modules/health/service.ts';
import type { MemoryLoaders } from './modules/memory/loaders.ts';
import type { MemoryService } from './modules/memory/service.ts';
import type { RecallService } from './modules/recall/service.ts';
import type { Tally } from './modules/usage/meter.ts';
import type { UsageService } from './modules/usage/service.ts';

/** Who asks, and until when. Services are made for one caller, so that none can forget to ask. */
export interface Caller {
  readonly principal: Principal;
  readonly deadline: Deadline;
  readonly requestId: string;
  /** What the request retrieves. */
  readonly tally: Tally;
  /** What tells the request from others under the same idempotency key; null: the arguments of the operation do. */
  readonly fingerprint: readonly unknown[] | null;
  /** Takes further requests from the caller's rate limit. Throws 429, and takes none, when not so many are left. */
  charge(requests: number): Promise<void>;
}

/** What a resolver gets. */
export interface Context extends Caller {
  /** The clock, in milliseconds since 1970. */
  readonly now: () => number;
  readonly memories: MemoryService;
  readonly recall: RecallService;
  readonly usage: UsageService;
  readonly access: AccessService;
  readonly health: HealthService;
  readonly loaders: MemoryLoaders;
}
