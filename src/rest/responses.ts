import { z } from 'zod';

const time = z.string().meta({ format: 'date-time' });

export const memory = z
  .object({
    id: z.string().meta({ format: 'uuid' }),
    content: z.string(),
    user_id: z.string().nullable(),
    tier: z.int().min(0).max(3),
    type: z.string(),
    tags: z.array(z.string()),
    metadata: z.record(z.string(), z.unknown()),
    session_id: z.string().nullable(),
    source_ids: z.array(z.string()),
    occurred_at: time,
    created_at: time,
    updated_at: time,
    expires_at: time.nullable(),
    archived: z.boolean(),
    version: z.int().min(1),
  })
  .meta({ id: 'Memory' });

const share = z.number().min(0).max(1);

const hit = memory
  .extend({
    score: share.describe(
      'How well it fits: about 1 for the same text, 0.8 and more for a paraphrase, around 0.5 for the same topic, below 0.3 for something unrelated.',
    ),
    salience: share.describe('How much the memory matters by itself.'),
    explanation: z
      .object({
        relevance: share,
        semantic: share.nullable(),
        cosine: z.number().nullable(),
        lexical: share,
        tier_weight: z.number(),
        text_cut: z.boolean(),
      })
      .optional(),
  })
  .meta({ id: 'SearchHit' });

const warnings = z.array(z.string()).optional().describe('Fields that were ignored.');

export const stored = z.object({ id: z.string(), stored: z.boolean(), duplicate: z.boolean().optional(), warnings });
export const recorded = z.object({ stored: z.boolean(), id: z.string(), event_type: z.string() });
export const searched = z.object({ memories: z.array(hit), count: z.int() });
export const listed = z.union([
  z.object({ memories: z.array(memory), count: z.int(), total: z.int(), offset: z.int(), limit: z.int(), cursor: z.string().nullable() }),
  z.object({ count_only: z.literal(true), count: z.int() }),
]);
export const gotten = memory.extend({ memory });
export const updated = z.object({ id: z.string(), updated: z.boolean(), version: z.int(), warnings });
export const history = z.object({
  id: z.string(),
  version: z.int().min(1).describe('The version that the memory has now.'),
  versions: z.array(
    memory
      .pick({ version: true, content: true, tier: true, type: true, tags: true, metadata: true, expires_at: true, archived: true, updated_at: true })
      .meta({ id: 'MemoryVersion' }),
  ),
  count: z.int(),
});
export const deleted = z.object({ id: z.string(), deleted: z.literal(true) });

const usageCount = z
  .object({ used: z.int().min(0), limit: z.int().nullable(), remaining: z.int().nullable(), overage: z.int().min(0) })
  .meta({ id: 'UsageCount' });
export const usage = z.object({
  plan: z.string(),
  period: z.object({ start: time, end: time }),
  stores: usageCount,
  retrievals: usageCount,
  overage_cost_usd: z.number().min(0),
  rate_limit: z.object({ per_minute: z.int() }),
});

const check = z.enum(['ok', 'down', 'off']);
export const health = z.object({
  status: z.enum(['ok', 'degraded']),
  version: z.string(),
  uptime_seconds: z.int(),
  checks: z.object({
    database: check,
    embedding: check,
    cache: check,
    disk: z.literal('down').optional().describe('While the disk of the database is full and nothing is stored.'),
  }),
});

export const rateLimitError = z
  .object({
    error: z.literal('rate_limit_exceeded'),
    message: z.string(),
    retry_after: z.int().min(1).describe('Seconds until the limit begins anew; the same as Retry-After.'),
  })
  .meta({ id: 'RateLimitError' });

export const error = z
  .object({
    error: z.string(),
    status: z.int(),
    code: z.string(),
    request_id: z.string(),
    details: z.array(z.object({ field: z.string(), message: z.string() })).optional(),
  })
  .meta({ id: 'Error' });
