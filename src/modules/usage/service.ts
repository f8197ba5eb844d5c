import { raceDeadline } from '../../deadline.ts';
import type { Caller } from '../../context.ts';
import { authorise } from '../access/scopes.ts';
import type { RetrievalMeter } from './meter.ts';
import { monthsUpTo, periodOf } from './month.ts';
import type { Plan, Plans } from './plans.ts';
import type { MonthUsage, UsageStore } from './store.ts';

export interface UsageDependencies {
  readonly store: UsageStore;
  readonly meter: RetrievalMeter;
  readonly plans: Plans;
  readonly now: () => number;
}

export interface UsageCount {
  readonly used: number;
  /** Null: without limit. */
  readonly limit: number | null;
  readonly remaining: number | null;
  /** How many beyond the limit. */
  readonly overage: number;
}

export interface Usage {
  readonly plan: string;
  readonly period: { readonly start: Date; readonly end: Date };
  readonly stores: UsageCount;
  readonly retrievals: UsageCount;
  readonly overageCostUsd: number;
  readonly rateLimit: { readonly perMinute: number };
  /** The current month and the eleven before it, the latest first. */
  readonly months: MonthUsage[];
}

const MONTHS = 12;

/** What an account uses of its plan, for one caller. */
export function createUsageService({ store, meter, plans, now }: UsageDependencies, { principal, deadline }: Caller) {
  return {
    async usage(): Promise<Usage> {
      authorise(principal, 'usage');
      // With the caller's own requests of a moment ago; only when nothing can be written, as on a full disk, they are missing.
      await raceDeadline(meter.flush(), deadline).catch(() => undefined);
      const time = now();
      const months = await store.read(principal.account.id, monthsUpTo(time, MONTHS), deadline);
      const plan = plans.of(principal.account.plan);
      const stores = countOf(months[0]!.stores, plan.storesPerMonth);
      const retrievals = countOf(months[0]!.retrievals, plan.retrievalsPerMonth);
      const { start, end } = periodOf(time);
      return {
        plan: plan.name,
        period: { start: new Date(start), end: new Date(end) },
        stores,
        retrievals,
        overageCostUsd: overageCost(plan, stores.overage, retrievals.overage),
        rateLimit: { perMinute: plan.requestsPerMinute },
        months,
      };
    },
  };
}

export type UsageService = ReturnType<typeof createUsageService>;

function countOf(used: number, limit: number | null): UsageCount {
  return { used, limit, remaining: limit === null ? null : Math.max(0, limit - used), overage: limit === null ? 0 : Math.max(0, used - limit) };
}

/** US dollars, to a thousandth: each one beyond the limit costs its share of a thousand. */
function overageCost({ overage }: Plan, stores: number, retrievals: number): number {
  if (overage === null) return 0;
  return Math.round(stores * overage.usdPerThousandStores + retrievals * overage.usdPerThousandRetrievals) / 1_000;
}
