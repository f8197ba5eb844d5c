import { z } from 'zod';
import { pageSize, text, time, whole } from '../../validation.ts';
import { SCOPES } from './principal.ts';

/** What is checked of a key, over the API and by the commands alike. */
export const keyRules = {
  name: text(1, 100),
  scopes: z
    .array(z.enum(SCOPES))
    .min(1, { error: 'must name at least one scope' })
    .refine((scopes) => new Set(scopes).size === scopes.length, { error: 'must name each scope once' }),
  userId: text(1, 256),
  expiresAt: time,
} as const;

const MAXIMUM_GRACE_SECONDS = 30 * 86_400;

export const NewKeyInput = z.object({
  name: keyRules.name,
  scopes: keyRules.scopes,
  userId: keyRules.userId.optional(),
  expiresAt: keyRules.expiresAt.optional(),
});
export const RotationInput = z.object({ graceSeconds: whole(0, MAXIMUM_GRACE_SECONDS) });
export const PageInput = z.object({ first: pageSize(100, 20) });

/** Places in the lists, as their cursors hold them. */
export const KeyPlace = z.tuple([z.literal('keys'), z.int(), z.uuid()]);
export const AuditPlace = z.tuple([z.literal('audit'), z.int().positive()]);
