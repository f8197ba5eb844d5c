import { z } from 'zod';

/** What an account may use. Null: without limit. */
export interface Plan {
  readonly name: string;
  readonly storesPerMonth: number | null;
  readonly retrievalsPerMonth: number | null;
  /** For each key. */
  readonly requestsPerMinute: number;
  /** What each thousand beyond the monthly limits costs, in US dollars; null: at a limit requests are refused. */
  readonly overage: { readonly usdPerThousandStores: number; readonly usdPerThousandRetrievals: number } | null;
}

export interface Plans {
  readonly names: readonly string[];
  has(name: string): boolean;
  /** The plan of that name; of one that is not known (any more) the free one, so that nothing is unlimited by mistake. */
  of(name: string): Plan;
}

const OVERAGE = { usd_per_1000_stores: 2, usd_per_1000_retrievals: 1 };
const STANDARD: PlansFile = {
  free: { stores: 100, retrievals: 500, requests_per_minute: 30, overage: null },
  pro: { stores: 50_000, retrievals: 250_000, requests_per_minute: 300, overage: OVERAGE },
  power: { stores: 250_000, retrievals: 1_000_000, requests_per_minute: 1_000, overage: OVERAGE },
  teams: { stores: 500_000, retrievals: 2_500_000, requests_per_minute: 2_000, overage: OVERAGE },
  max: { stores: 1_000_000, retrievals: 5_000_000, requests_per_minute: 5_000, overage: OVERAGE },
  self_hosted: { stores: null, retrievals: null, requests_per_minute: 60_000, overage: null },
};

const amount = (minimum: number, error: string) => z.number({ error }).min(minimum, { error }).max(1_000_000_000, { error });
const monthly = z.int({ error: 'must be a whole number from 0, or null for no limit' }).min(0).max(1_000_000_000_000).nullable();
const price = amount(0, 'must be an amount in US dollars, 0 or more');
const PlansFile = z.record(
  z.string().regex(/^[a-z0-9_-]{1,32}$/, { error: "must be 1 to 32 of a-z, 0-9, '_' and '-'" }),
  z.strictObject({
    stores: monthly,
    retrievals: monthly,
    requests_per_minute: z.int({ error: 'must be a whole number from 1' }).min(1).max(1_000_000_000),
    overage: z.strictObject({ usd_per_1000_stores: price, usd_per_1000_retrievals: price }).nullable(),
  }),
  { error: 'must be a JSON object of plans by name' },
);
type PlansFile = z.output<typeof PlansFile>;

/** The plans as decided, with those of a plans file in their place or beside them. Throws a ZodError for a file that is not one. */
export function createPlans(file: unknown = {}): Plans {
  const plans = new Map(Object.entries({ ...STANDARD, ...PlansFile.parse(file) }).map(([name, given]) => [name, planOf(name, given)]));
  return { names: [...plans.keys()], has: (name) => plans.has(name), of: (name) => plans.get(name) ?? plans.get('free')! };
}

function planOf(name: string, { stores, retrievals, requests_per_minute, overage }: PlansFile[string]): Plan {
  return {
    name,
    storesPerMonth: stores,
    retrievalsPerMonth: retrievals,
    requestsPerMinute: requests_per_minute,
    overage: overage && { usdPerThousandStores: overage.usd_per_1000_stores, usdPerThousandRetrievals: overage.usd_per_1000_retrievals },
  };
}
