import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { v7 as uuid } from 'uuid';
import { z } from 'zod';
import type { Caller } from '../../context.ts';
import type { PassageVector } from '../../embedding/embedder.ts';
import type { GuardedEmbedder } from '../../embedding/guarded.ts';
import { raceDeadline } from '../../deadline.ts';
import { conflict, forbidden, invalidParameter, notFound, preconditionFailed } from '../../errors.ts';
import { parseOrThrow, whole, withoutNulls } from '../../validation.ts';
import { recordOf } from '../access/audit.ts';
import { effectiveUserId } from '../access/principal.ts';
import { authorise } from '../access/scopes.ts';
import type { Plans } from '../usage/plans.ts';
import { hardLimitOf, monthSpent } from '../usage/spent.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import { facetsOf, type MemoryFilter } from './filter.ts';
import { type Idempotency, idempotencyOf } from './idempotency.ts';
import { CiEventInput, FilterInput, rules, StoreInput, UpdateInput } from './input.ts';
import type { MemoryKey, MemoryLoaders } from './loaders.ts';
import { type Memory, type MemoryVersion, NEVER } from './model.ts';
import { specificityOf } from './salience.ts';
import { scopeOf, userScope, type Visibility, visibilityOf } from './scope.ts';
import type { Change, LockedMemory, MemoryStore } from './store.ts';
import type { StoreRow, Stored } from './store-batch.ts';
import type { SerialQueue } from '../../serial-queue.ts';
import type { MemoryWriter } from './writer.ts';

export interface MemoryServiceDependencies {
  readonly store: MemoryStore;
  readonly writer: MemoryWriter;
  readonly embedder: GuardedEmbedder;
  readonly queue: SerialQueue;
  readonly plans: Plans;
  readonly now: () => number;
  /** Milliseconds until a tier 1 memory without an expiry of its own is gone. */
  readonly sessionTtl: number;
}

/** A page of a list; each part is read when it is asked for. */
export interface MemoryPage {
  readonly memories: () => Promise<Memory[]>;
  readonly cursorOf: (memory: Memory) => string;
  readonly hasNextPage: () => Promise<boolean>;
  readonly hasPreviousPage: boolean;
  /** Counts the whole list. */
  readonly totalCount: () => Promise<number>;
}

export interface StoreResult extends Stored {
  /** Answered as the first request under the same idempotency key was; nothing was done now. */
  readonly replayed: boolean;
}

export interface CiEventResult extends StoreResult {
  readonly eventType: string;
}

export interface UpdateResult {
  readonly id: string;
  readonly version: number;
  readonly updated: boolean;
}

const SESSION_TIER = 1;
const MAXIMUM_VERSION = 2 ** 31 - 1;
const UserArgument = z.object({ userId: rules.userId.nullish() });
/** The versions of which a memory has to be for a change; null: any. */
const VersionArguments = z.object({
  ifVersion: z
    .array(whole(1, MAXIMUM_VERSION))
    .max(100)
    .nullish()
    .transform((versions) => versions ?? null),
});
const KeyArgument = z.object({ idempotencyKey: rules.idempotencyKey.nullish() });
const RestoreArguments = VersionArguments.extend({ version: whole(1, MAXIMUM_VERSION) });
const OffsetArgument = z.object({ offset: rules.offset.nullable() });

/** The memories of one caller. Every method authorises, then validates, then acts. */
export function createMemoryService(
  { store, writer, embedder, queue, plans, now, sessionTtl }: MemoryServiceDependencies,
  { principal, deadline, tally, fingerprint }: Caller,
) {
  const accountId = principal.account.id;

  /** What a request may see, and, for a key that is bound to a user, only that user's own when it changes something. */
  function visible(userId: unknown, purpose: 'read' | 'change' = 'read'): Visibility {
    const user = effectiveUserId(principal, parseOrThrow(UserArgument, { userId }).userId);
    if (purpose === 'change' && principal.boundUserId !== null) return { accountId, scopes: [userScope(accountId, principal.boundUserId)] };
    return visibilityOf(accountId, user);
  }

  /** 404; but 403 for a memory that a bound key can read and not change. */
  async function refuseChange(id: string, userId: unknown): Promise<never> {
    if (principal.boundUserId !== null && (await store.findMany([id], visible(userId), now(), deadline)).length > 0)
      throw forbidden(`This key is bound to user_id '${principal.boundUserId}' and can't change shared memories`);
    throw notFound();
  }

  /** Changes a memory into what `wanted` says, one change of a memory after the other. Null when there is none; throws 412 for another version. */
  async function change(
    {
      id,
      visibility,
      versions,
      now,
      embedding,
    }: { id: string; visibility: Visibility; versions: readonly number[] | null; now: number; embedding: PassageVector | null },
    wanted: (locked: LockedMemory) => Wanted,
  ): Promise<UpdateResult | null> {
    const updating = queue.run(`${accountId} ${id}`, () =>
      store.update(
        { id, visibility, commitId: uuid(), now },
        (locked) => {
          if (versions && !versions.includes(locked.memory.version)) throw preconditionFailed();
          return changeTo(wanted(locked), locked, { accountId, embedding, model: embedder.model });
        },
        deadline,
      ),
    );
    const outcome = await raceDeadline(updating, deadline);
    return outcome && { id, ...outcome };
  }

  /** The caller's key for this request; null: there is none. */
  function idempotency(operation: string, input: object, given: unknown): Idempotency | null {
    const { idempotencyKey } = parseOrThrow(KeyArgument, { idempotencyKey: given });
    return idempotencyKey == null ? null : idempotencyOf(accountId, idempotencyKey, fingerprint ?? [operation, principal.boundUserId, input]);
  }

  /** What the first request under the key did; null: this is the first. Throws 409 when that was another request. */
  async function replay(key: Idempotency | null): Promise<StoreResult | null> {
    const earlier = key && (await store.findReplay({ accountId, idempotency: key, now: now() }, deadline));
    if (earlier === 'conflict') throw keyOfAnother();
    return earlier && { ...earlier, replayed: true };
  }

  /** Stores a memory, once its text is embedded. */
  async function put(given: StoreInput, idempotency: Idempotency | null, { dedupes }: { dedupes: boolean }): Promise<StoreResult> {
    const userId = effectiveUserId(principal, given.userId);
    const plan = plans.of(principal.account.plan);
    const storedAt = now();
    requireFuture(given.expiresAt, storedAt);
    const keyed = { accountId, userId, tier: given.tier, type: given.type, tags: given.tags, sessionId: given.sessionId ?? null, archived: false };
    const scope = scopeOf(keyed);
    const row = async (): Promise<StoreRow> => {
      const embedding = await embedder.embedPassage(given.content, { signal: deadline.signal });
      const id = uuid();
      return {
        properties: {
          ...keyed,
          id,
          scope,
          facets: facetsOf({ ...keyed, scope }),
          dedupeKey: dedupes ? dedupeKeyOf({ ...keyed, content: given.content }) : id,
          content: given.content,
          metadata: JSON.stringify(given.metadata),
          sourceIds: given.sourceIds,
          specificity: specificityOf(given.content),
          recalls: 0,
          occurredAt: given.occurredAt?.getTime() ?? storedAt,
          createdAt: storedAt,
          updatedAt: storedAt,
          expiresAt: given.expiresAt?.getTime() ?? (given.tier === SESSION_TIER ? storedAt + sessionTtl : NEVER),
          expiryDefaulted: given.expiresAt === undefined && given.tier === SESSION_TIER,
          version: 1,
          embeddingModel: embedding && embedder.model,
          embeddingCut: embedding?.cut ?? false,
        },
        vector: embedding?.vector ?? null,
        sourceIds: given.sourceIds,
        sourceScopes: visibilityOf(accountId, userId).scopes,
        idempotency,
        storeLimit: hardLimitOf(plan, 'stores'),
      };
    };
    const outcome = await writer.store(row(), deadline);
    if ('missingSources' in outcome)
      throw invalidParameter(
        outcome.missingSources.map((id) => ({
          path: ['sourceIds', given.sourceIds.indexOf(id)],
          message: `must name a memory that you can see; got ${id}`,
        })),
      );
    if ('refused' in outcome) throw outcome.refused === 'spent' ? monthSpent(plan, 'stores', now()) : keyOfAnother();
    return outcome;
  }

  return {
    /** Stores a memory, unless the same content is there already. */
    async store(input: object, idempotencyKey: unknown): Promise<StoreResult> {
      authorise(principal, 'storeMemory');
      const given = parseOrThrow(StoreInput, withoutNulls(input));
      const key = idempotency('storeMemory', input, idempotencyKey);
      return (await replay(key)) ?? put(given, key, { dedupes: true });
    },

    /** Stores what a pipeline reports. Two events that read the same are two memories. */
    async recordCiEvent(input: object, idempotencyKey: unknown): Promise<CiEventResult> {
      authorise(principal, 'recordCiEvent');
      const { content, eventType, tags, metadata } = parseOrThrow(CiEventInput, withoutNulls(input));
      const memory: StoreInput = { content, tier: 2, type: 'ci_event', tags: [...new Set([`ci:${eventType}`, ...tags])], metadata, sourceIds: [] };
      const key = idempotency('recordCiEvent', input, idempotencyKey);
      return { ...((await replay(key)) ?? (await put(memory, key, { dedupes: false }))), eventType };
    },

    async update(id: string, userId: unknown, input: unknown, ifVersion: unknown): Promise<UpdateResult> {
      authorise(principal, 'updateMemory');
      const visibility = visible(userId, 'change');
      const given = parseOrThrow(UpdateInput, input);
      const versions = parseOrThrow(VersionArguments, { ifVersion }).ifVersion;
      const changedAt = now();
      requireFuture(given.expiresAt, changedAt);
      const embedding = given.content === undefined ? null : await embedder.embedPassage(given.content, { signal: deadline.signal });
      const outcome = await change({ id, visibility, versions, now: changedAt, embedding }, (locked) =>
        patched(locked, given, changedAt, sessionTtl),
      );
      return outcome ?? refuseChange(id, userId);
    },

    /** Gives the memory back what it was in a version of its history. */
    async restore(id: string, userId: unknown, request: { version: number; ifVersion: unknown }): Promise<UpdateResult> {
      authorise(principal, 'restoreMemory');
      const visibility = visible(userId, 'change');
      const { version, ifVersion: versions } = parseOrThrow(RestoreArguments, request);
      const changedAt = now();
      const [memory] = await store.findMany([id], visibility, changedAt, deadline);
      if (!memory) return refuseChange(id, userId);
      const before = version === memory.version ? null : await store.findVersion({ id, visibility, version, now: changedAt }, deadline);
      if (!before && version !== memory.version) throw notFound(`Version ${version} of this memory is not kept; its history lists those that are`);
      const embedding = before && (await embedder.embedPassage(before.content, { signal: deadline.signal }));
      const outcome = await change({ id, visibility, versions, now: changedAt, embedding }, (locked) =>
        restored(locked, before, changedAt, sessionTtl),
      );
      return outcome ?? refuseChange(id, userId);
    },

    async delete(id: string, userId: unknown, ifVersion: unknown): Promise<{ id: string; deleted: true }> {
      authorise(principal, 'deleteMemory');
      const visibility = visible(userId, 'change');
      const versions = parseOrThrow(VersionArguments, { ifVersion }).ifVersion;
      const at = now();
      const record = recordOf(uuid(), accountId, { actor: principal.keyId, at }, { action: 'memory.deleted', target: id, details: {} });
      // One after the other, as the account's audit log would make them wait in the database, each with a connection of the pool.
      const erasing = queue.run(accountId, () => store.erase({ id, visibility, versions, record, now: at }, deadline));
      if (await raceDeadline(erasing, deadline)) return { id, deleted: true };
      if (versions && (await store.findMany([id], visibility, now(), deadline)).length > 0) throw preconditionFailed();
      return refuseChange(id, userId);
    },

    /** What the memories of these ids were before each of their last `limit` changes, the latest first. */
    findVersions(ids: readonly string[], limit: number): Promise<Map<string, MemoryVersion[]>> {
      authorise(principal, 'memory');
      return store.findVersions({ ids, visibility: visible(null), limit, now: now() }, deadline);
    },

    /** One memory; null when there is none that the caller can see. */
    get(key: MemoryKey, loader: MemoryLoaders['memory']): Promise<Memory | null> {
      authorise(principal, 'memory');
      return tally.one(deadline)(() => loader.load(key));
    },

    /** The memories of these ids that the caller, for that user, can see. */
    async findMany(ids: readonly string[], userId: string | null): Promise<Map<string, Memory>> {
      authorise(principal, 'memory');
      const found = await store.findMany(ids, visible(userId), now(), deadline);
      return new Map(found.map((memory) => [memory.id, memory]));
    },

    /** Reads a filter as a request gives it. */
    filter(input: object | null | undefined): MemoryFilter {
      const { userId, ...filter } = parseOrThrow(FilterInput, withoutNulls(input ?? {}));
      return { ...filter, visibility: visible(userId) };
    },

    list(request: {
      filter: object | null | undefined;
      newestFirst: boolean;
      first: number;
      after: string | null;
      offset: number | null;
    }): MemoryPage {
      authorise(principal, 'memories');
      const filter = this.filter(request.filter);
      const { newestFirst, first } = request;
      if (request.after !== null && request.offset !== null)
        throw invalidParameter([{ path: ['offset'], message: "can't be given together with a cursor" }]);
      const offset = parseOrThrow(OffsetArgument, { offset: request.offset }).offset ?? 0;
      const after = request.after === null ? null : decodeCursor(request.after, filter, newestFirst);
      const readAt = now();
      const retrieve = tally.one(deadline);
      let page: Promise<Memory[]> | undefined;
      // One more than asked for tells whether there is a next page. Read once, and only when something of the page is asked for.
      const read = () => (page ??= retrieve(() => store.findPage({ filter, newestFirst, limit: first + 1, offset, after, now: readAt }, deadline)));
      return {
        memories: async () => (await read()).slice(0, first),
        cursorOf: (memory) => encodeCursor(memory, filter, newestFirst),
        hasNextPage: async () => (await read()).length > first,
        hasPreviousPage: after !== null || offset > 0,
        totalCount: () => retrieve(() => store.count(filter, readAt, deadline)),
      };
    },
  };
}

export type MemoryService = ReturnType<typeof createMemoryService>;

/** The 409 of a key that was used for another request. */
function keyOfAnother(): Error {
  return conflict('This Idempotency-Key was used for another request; take a new key for each request, and the same one only to repeat it');
}

/** Throws 400 for an expiry that has passed; none is fine. */
function requireFuture(expiresAt: Date | null | undefined, now: number): void {
  if (expiresAt != null && expiresAt.getTime() <= now)
    throw invalidParameter([{ path: ['expiresAt'], message: `must be in the future; got ${expiresAt.toISOString()}` }]);
}

/** What a changed memory shall say. */
type Wanted = Omit<MemoryVersion, 'version' | 'updatedAt'>;

/** What a PATCH makes of the memory as it is now. */
function patched({ memory, expiryDefaulted }: LockedMemory, given: UpdateInput, now: number, sessionTtl: number): Wanted {
  return {
    content: given.content ?? memory.content,
    tier: given.tier ?? memory.tier,
    type: given.type ?? memory.type,
    tags: given.tags ?? memory.tags,
    metadata: given.metadata ? mergeMetadata(memory.metadata, given.metadata) : memory.metadata,
    archived: given.archived ?? memory.archived,
    ...expiryAfter(memory, expiryDefaulted, given, { now, sessionTtl }),
  };
}

/**
 * What going back to a version makes of the memory as it is now; null: it is that version. An expiry that has passed is not
 * brought back: then the tier decides, as in a PATCH of it.
 */
function restored({ memory, expiryDefaulted }: LockedMemory, before: MemoryVersion | null, now: number, sessionTtl: number): Wanted {
  const current = { ...memory, expiryDefaulted };
  if (!before) return current;
  const isPast = before.expiresAt !== null && before.expiresAt <= now;
  const tier = before.tier as 0 | 1 | 2 | 3;
  return { ...current, ...before, ...(isPast ? expiryAfter(memory, expiryDefaulted, { tier }, { now, sessionTtl }) : {}) };
}

/** What has to be written; null when nothing changes. */
function changeTo(
  wanted: Wanted,
  { memory, scope, dedupeKey }: LockedMemory,
  { accountId, embedding, model }: { accountId: string; embedding: PassageVector | null; model: string },
): Change | null {
  const { content, tier, type, tags, metadata, expiresAt, expiryDefaulted, archived } = wanted;
  const changed = (['content', 'tier', 'type', 'tags', 'metadata', 'expiresAt', 'archived'] as const).filter(
    (name) => !isDeepStrictEqual(wanted[name], memory[name]),
  );
  if (changed.length === 0) return null;
  const next = { accountId, userId: memory.userId, sessionId: memory.sessionId, content, tier, type, tags, archived };
  const nextScope = memory.userId === null ? scopeOf(next) : scope;
  const contentChanged = changed.includes('content');
  const keyChanged = contentChanged || changed.includes('tier') || changed.includes('archived');
  return {
    properties: {
      content,
      tier,
      type,
      tags,
      metadata: JSON.stringify(metadata),
      expiresAt: expiresAt ?? NEVER,
      expiryDefaulted,
      archived,
      scope: nextScope,
      facets: facetsOf({ ...next, scope: nextScope }),
      specificity: contentChanged ? specificityOf(content) : memory.specificity,
      ...(contentChanged ? { embeddingModel: embedding && model, embeddingCut: embedding?.cut ?? false } : {}),
    },
    vector: contentChanged ? (embedding?.vector ?? null) : 'kept',
    dedupeKey: archived ? null : keyChanged ? dedupeKeyOf(next) : dedupeKey,
  };
}

/** Leaving tier 1 clears a defaulted expiry, entering it sets one; a given expiry, also null, decides by itself. */
function expiryAfter(
  memory: Memory,
  defaulted: boolean,
  given: UpdateInput,
  { now, sessionTtl }: { now: number; sessionTtl: number },
): { expiresAt: number | null; expiryDefaulted: boolean } {
  if (given.expiresAt !== undefined) return { expiresAt: given.expiresAt?.getTime() ?? null, expiryDefaulted: false };
  const current = { expiresAt: memory.expiresAt, expiryDefaulted: defaulted };
  const tier = given.tier ?? memory.tier;
  if (tier === memory.tier) return current;
  if (tier === SESSION_TIER && memory.expiresAt === null) return { expiresAt: now + sessionTtl, expiryDefaulted: true };
  if (tier !== SESSION_TIER && defaulted) return { expiresAt: null, expiryDefaulted: false };
  return current;
}

/** Null in the patch deletes a key. Throws 400 when the whole is beyond what metadata may be, or that of an event, which may be larger from the start. */
function mergeMetadata(current: Record<string, unknown>, patch: Record<string, unknown>): Record<string, unknown> {
  const merged = Object.entries({ ...current, ...patch }).filter(([key]) => patch[key] !== null);
  const rule = rules.metadata.safeParse(current).success ? rules.metadata : rules.eventMetadata;
  const { metadata } = parseOrThrow(z.object({ metadata: rule }), { metadata: Object.fromEntries(merged) });
  // GraphQL's literals are objects without a prototype, which are not equal to what was stored.
  return JSON.parse(JSON.stringify(metadata)) as Record<string, unknown>;
}

/** One live memory of a content in an account, user, tier and session. */
function dedupeKeyOf(memory: { accountId: string; userId: string | null; tier: number; sessionId: string | null; content: string }): string {
  const { accountId, userId, tier, sessionId, content } = memory;
  return createHash('sha256')
    .update(JSON.stringify([accountId, userId, tier, sessionId, content.normalize('NFC')]))
    .digest('hex');
}
