import type { Deadline } from './deadline.ts';
import type { Principal } from './modules/access/principal.ts';
import type { HealthService } from './modules/health/service.ts';
import type { MemoryLoaders } from './modules/memory/loaders.ts';
import type { MemoryService } from './modules/memory/service.ts';
import type { RecallService } from './modules/recall/service.ts';

/** Who asks, and until when. Services are made for one caller, so that none can forget to ask. */
export interface Caller {
  readonly principal: Principal;
  readonly deadline: Deadline;
  readonly requestId: string;
  /** Takes further requests from the caller's rate limit. Throws 429, and takes none, when not so many are left. */
  charge(requests: number): Promise<void>;
}

/** What a resolver gets. */
export interface Context extends Caller {
  /** The clock, in milliseconds since 1970. */
  readonly now: () => number;
  readonly memories: MemoryService;
  readonly recall: RecallService;
  readonly health: HealthService;
  readonly loaders: MemoryLoaders;
}
