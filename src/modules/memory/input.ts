import { z } from 'zod';
import { jsonObject, text, time, trimmedText, whole } from '../../validation.ts';

const EXPECTED_KEY = 'must be 1 to 255 visible ASCII characters';

/** The rules of each field of a memory: what GraphQL's services and the REST routes check alike. */
export const rules = {
  content: trimmedText(1, 50_000),
  userId: text(1, 256),
  tier: z.literal([0, 1, 2, 3], { error: ({ input }) => (input === undefined ? 'is required' : 'must be 0, 1, 2 or 3') }),
  type: text(1, 64),
  tags: z.array(text(1, 100), { error: 'must be a list of at most 50 strings' }).max(50, { error: 'must be a list of at most 50 strings' }),
  metadata: jsonObject(16 * 1024, 8),
  sessionId: text(1, 256),
  sourceIds: z
    .array(text(1, 64), { error: 'must be a list of at most 100 memory ids' })
    .max(100, { error: 'must be a list of at most 100 memory ids' }),
  time,
  query: trimmedText(1, 2_000),
  minScore: z
    .number({ error: 'must be a number from 0 to 1' })
    .min(0, { error: 'must be a number from 0 to 1' })
    .max(1, { error: 'must be a number from 0 to 1' }),
  offset: whole(0, 10_000),
  idempotencyKey: z.string({ error: EXPECTED_KEY }).regex(/^[\x21-\x7e]{1,255}$/, { error: EXPECTED_KEY }),
  eventType: text(1, 97),
  eventMetadata: jsonObject(256 * 1024, 32),
} as const;

export const storeShape = {
  content: rules.content.describe('The text to remember; white space around it is dropped.'),
  userId: rules.userId.optional().describe('The user it belongs to; without one it belongs to the account as a whole.'),
  tier: rules.tier.default(2).describe('0 pinned, 1 session, 2 semantic, 3 organization.'),
  type: rules.type.default('fact').describe('fact, preference, context or a word of your own.'),
  tags: rules.tags.default([]).transform(distinct).describe('For filtering; duplicates are dropped.'),
  metadata: rules.metadata.default({}).describe('Any JSON object up to 16 KiB and 8 levels.'),
  sessionId: rules.sessionId.optional().describe('Groups and orders what was said together.'),
  occurredAt: rules.time.optional().describe('When it was said or happened; default the time of storing.'),
  expiresAt: rules.time.optional().describe('When it is forgotten; tier 1 gets the time of storing plus 24 hours (SESSION_TTL) by default.'),
  sourceIds: rules.sourceIds.default([]).transform(distinct).describe('Memories that this one was derived from.'),
};
export const StoreInput = z.object(storeShape);
export type StoreInput = z.output<typeof StoreInput>;

/** What a pipeline reports; whatever else it says is metadata. */
export const ciEventShape = {
  content: rules.content.describe('What happened.'),
  eventType: rules.eventType.default('ci_event').describe('Becomes the tag ci:{event_type}; such as deployment, pr_merge or decision.'),
  tags: rules.tags.default([]).describe('Further tags.'),
};
export const CiEventInput = z.object({ ...ciEventShape, metadata: rules.eventMetadata.default({}) });

export const updateShape = {
  content: rules.content.optional().describe('A new text; it is embedded anew.'),
  tier: rules.tier.optional().describe('0 pinned, 1 session, 2 semantic, 3 organization.'),
  type: rules.type.optional().describe('fact, preference, context or a word of your own.'),
  tags: rules.tags.transform(distinct).optional().describe('Replaces the tags.'),
  metadata: rules.metadata.optional().describe('Merged into the metadata; null deletes a key.'),
  expiresAt: rules.time.nullable().optional().describe('When it is forgotten; null clears it.'),
  archived: z.boolean({ error: 'must be true or false' }).optional().describe('True hides it from search, list, graph and profile until false.'),
};
export const UpdateInput = z.object(updateShape).refine((input) => Object.values(input).some((value) => value !== undefined), {
  error: 'must have at least one field to change',
});
export type UpdateInput = z.output<typeof UpdateInput>;

/** Which memories a list or a search speaks of. */
export const FilterInput = z.object({
  userId: rules.userId.optional(),
  sessionId: rules.sessionId.optional(),
  tiers: z.array(rules.tier, { error: 'must be a list of tiers' }).min(1, { error: 'must name at least one tier' }).optional(),
  type: rules.type.optional(),
  tags: rules.tags.min(1, { error: 'must name at least one tag' }).transform(distinct).optional(),
  createdAfter: rules.time.optional(),
  createdBefore: rules.time.optional(),
  archived: z.boolean().default(false),
});
export type FilterInput = z.output<typeof FilterInput>;

function distinct<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}
