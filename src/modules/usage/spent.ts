import { rateLimitExceeded, type ServiceError } from '../../errors.ts';
import { periodOf } from './month.ts';
import type { Plan } from './plans.ts';

type Counted = 'stores' | 'retrievals';

/** How many of them are possible in a month before requests are refused; null: any number. */
export function hardLimitOf(plan: Plan, counted: Counted): number | null {
  if (plan.overage !== null) return null;
  return counted === 'stores' ? plan.storesPerMonth : plan.retrievalsPerMonth;
}

/** The 429 of an account that has used up its month. */
export function monthSpent(plan: Plan, counted: Counted, now: number): ServiceError {
  const { end } = periodOf(now);
  return rateLimitExceeded(
    `The ${hardLimitOf(plan, counted)} ${counted} of a month on the plan ${plan.name} are used up; it begins anew on ${new Date(end).toISOString().slice(0, 10)}`,
    Math.max(1, Math.ceil((end - now) / 1_000)),
  );
}
