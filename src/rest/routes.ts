import { z } from 'zod';
import { invalidParameter, notFound } from '../errors.ts';
import {
  CountMemoriesDocument,
  type CountMemoriesQuery,
  DeleteMemoryDocument,
  GetHealthDocument,
  GetMemoryDocument,
  GetMemoryHistoryDocument,
  ListMemoriesDocument,
  type ListMemoriesQuery,
  type MemoryFieldsFragment,
  GetUsageDocument,
  RecordCiEventDocument,
  RestoreMemoryDocument,
  SearchMemoriesDocument,
  StoreMemoryDocument,
  UpdateMemoryDocument,
} from '../generated/operations.ts';
import { ciEventShape, rules, storeShape, updateShape } from '../modules/memory/input.ts';
import { whole } from '../validation.ts';
import { camelCaseKeys, snakeCase, snakeCaseKeys } from './names.ts';
import * as parameters from './parameters.ts';
import * as responses from './responses.ts';
import { type Call, call, type Route, route } from './route.ts';

const userId = { user_id: rules.userId.optional().describe("Restricts to that user's memories and the account's shared ones.") };

const filterQuery = {
  ...userId,
  session_id: rules.sessionId.optional().describe('What was said in this session.'),
  tier: parameters.tier.optional().describe('This tier.'),
  tiers: parameters.tiers.optional().describe('Any of these tiers, comma-separated.'),
  type: rules.type.optional().describe('This type.'),
  tags: parameters.tags.optional().describe('All of these tags, comma-separated.'),
  after: rules.time.optional().describe('Stored after this time.'),
  before: rules.time.optional().describe('Stored before this time.'),
  archived: parameters.flag.optional().describe('true: only archived memories. Default: only those that are not.'),
};

type FilterQuery = { [Name in keyof typeof filterQuery]: z.output<(typeof filterQuery)[Name]> };

/** The endpoints of the published API. Literal paths come before `{id}`. */
export const routes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/memory',
    summary: 'Store a memory',
    description: 'The memory can be found the moment this answers. The same content again in the same user, tier and session is not stored twice.',
    operation: 'storeMemory',
    body: snakeCaseKeys(storeShape),
    idempotent: true,
    call: ({ body, idempotencyKey }) => call(StoreMemoryDocument, { input: camelCaseKeys(body) as never, idempotencyKey }),
    answer: ({ storeMemory: { id, stored, duplicate, replayed } }) => ({
      body: { id, stored, ...(duplicate ? { duplicate } : {}) },
      headers: { location: `/memory/${id}`, ...replayedHeader(replayed) },
    }),
    response: responses.stored,
    errors: ['invalid_parameter', 'forbidden', 'conflict', 'payload_too_large', 'unsupported_media_type'],
  }),
  route({
    method: 'GET',
    path: '/memory/search',
    summary: 'Find memories by meaning and by words',
    operation: 'searchMemories',
    query: {
      q: rules.query.describe('What to look for; every character is text, there is no query syntax.'),
      limit: parameters.limit(100, 10),
      min_score: parameters
        .number(rules.minScore, { type: 'number', minimum: 0, maximum: 1 })
        .optional()
        .describe('Only hits with at least this score.'),
      explain: parameters.flag.default(false).describe('true adds `explanation` to each hit.'),
      reassemble: parameters.flag.optional().describe('Accepted, without effect: memories are never split.'),
      ...filterQuery,
    },
    call: ({ query }) =>
      call(SearchMemoriesDocument, {
        query: query.q,
        first: query.limit,
        minScore: query.min_score,
        explain: query.explain,
        filter: filterOf(query),
      }),
    answer: ({ searchMemories: { hits, count } }) => ({
      body: {
        memories: hits.map(({ memory, score, salience, explanation }) => ({
          ...memoryBody(memory),
          score,
          salience,
          ...(explanation ? { explanation: snakeCaseKeys(explanation) } : {}),
        })),
        count,
      },
    }),
    response: responses.searched,
    errors: ['invalid_parameter', 'forbidden'],
  }),
  route({
    method: 'GET',
    path: '/memory/list',
    summary: 'List memories, a page at a time',
    operation: 'memories',
    query: {
      limit: parameters.limit(100, 20),
      sort: z.enum(['recent', 'oldest'], { error: 'must be recent or oldest' }).default('recent').describe('By time of storing.'),
      offset: parameters
        .number(rules.offset, { type: 'integer', minimum: 0, maximum: 10_000 })
        .optional()
        .describe('How many to pass over; not together with cursor.'),
      cursor: z.string().min(1, { error: 'must not be empty' }).optional().describe('The cursor of the page before, with the same filters.'),
      count_only: parameters.flag.default(false).describe('true answers only the count.'),
      ...filterQuery,
    },
    call: ({ query }): Call<ListMemoriesQuery | CountMemoriesQuery> =>
      query.count_only
        ? call(CountMemoriesDocument, { filter: filterOf(query) })
        : call(ListMemoriesDocument, {
            filter: filterOf(query),
            sort: query.sort === 'recent' ? 'RECENT' : 'OLDEST',
            first: query.limit,
            after: query.cursor,
            offset: query.offset,
          }),
    answer: ({ memories }, { query }) =>
      'nodes' in memories
        ? {
            body: {
              memories: memories.nodes.map(memoryBody),
              count: memories.nodes.length,
              total: memories.totalCount,
              offset: query.offset ?? 0,
              limit: query.limit,
              cursor: memories.pageInfo.hasNextPage ? memories.pageInfo.endCursor : null,
            },
          }
        : { body: { count_only: true, count: memories.totalCount } },
    response: responses.listed,
    errors: ['invalid_parameter', 'forbidden'],
  }),
  route({
    method: 'GET',
    path: '/memory/{id}',
    summary: 'Get one memory',
    operation: 'memory',
    query: userId,
    conditional: 'If-None-Match',
    call: ({ id, query }) => call(GetMemoryDocument, { id, userId: query.user_id }),
    answer: ({ memory }) => {
      if (!memory) throw notFound();
      return { body: { ...memoryBody(memory), memory: memoryBody(memory) }, version: memory.version };
    },
    response: responses.gotten,
    errors: ['invalid_parameter', 'forbidden', 'not_found'],
  }),
  route({
    method: 'PATCH',
    path: '/memory/{id}',
    summary: 'Change a memory',
    description: 'At least one field besides user_id. Concurrent changes are merged one after the other; none is lost.',
    operation: 'updateMemory',
    query: userId,
    body: { ...snakeCaseKeys(updateShape), ...userId },
    atLeastOneOf: Object.keys(updateShape).map(snakeCase),
    nulls: 'kept',
    conditional: 'If-Match',
    call: ({ id, query, body, ifVersion }) => {
      const { user_id: userIdOfBody, ...changes } = body;
      return call(UpdateMemoryDocument, { id, userId: oneOf(query.user_id, userIdOfBody), input: camelCaseKeys(changes), ifVersion });
    },
    answer: ({ updateMemory: { id, updated, version } }) => ({ body: { id, updated, version }, version }),
    response: responses.updated,
    errors: ['invalid_parameter', 'forbidden', 'not_found', 'precondition_failed', 'payload_too_large', 'unsupported_media_type'],
  }),
  route({
    method: 'GET',
    path: '/memory/{id}/history',
    summary: 'What a memory was before each change',
    description: 'The latest first; the last 100 versions are kept.',
    operation: 'memory',
    query: userId,
    call: ({ id, query }) => call(GetMemoryHistoryDocument, { id, userId: query.user_id }),
    answer: ({ memory }) => {
      if (!memory) throw notFound();
      const { id, version, history } = memory;
      return { body: { id, version, versions: history.map(snakeCaseKeys), count: history.length } };
    },
    response: responses.history,
    errors: ['invalid_parameter', 'forbidden', 'not_found'],
  }),
  route({
    method: 'POST',
    path: '/memory/{id}/restore',
    summary: 'Go back to a version of the history',
    description:
      'Gives the memory back the content, tier, type, tags, metadata, expires_at and archived of that version, as a new version. An expiry that has passed is not brought back.',
    operation: 'restoreMemory',
    query: userId,
    body: { version: whole(1, 2 ** 31 - 1).describe('The version to go back to.'), ...userId },
    conditional: 'If-Match',
    call: ({ id, query, body, ifVersion }) =>
      call(RestoreMemoryDocument, { id, userId: oneOf(query.user_id, body.user_id), version: body.version, ifVersion }),
    answer: ({ restoreMemory: { id, updated, version } }) => ({ body: { id, updated, version }, version }),
    response: responses.updated,
    errors: ['invalid_parameter', 'forbidden', 'not_found', 'precondition_failed', 'payload_too_large', 'unsupported_media_type'],
  }),
  route({
    method: 'DELETE',
    path: '/memory/{id}',
    summary: 'Erase a memory',
    operation: 'deleteMemory',
    query: userId,
    conditional: 'If-Match',
    call: ({ id, query, ifVersion }) => call(DeleteMemoryDocument, { id, userId: query.user_id, ifVersion }),
    answer: ({ deleteMemory: { id, deleted } }) => ({ body: { id, deleted } }),
    response: responses.deleted,
    errors: ['invalid_parameter', 'forbidden', 'not_found', 'precondition_failed'],
  }),
  route({
    method: 'POST',
    path: '/webhook/ci',
    summary: 'Store an event of a CI pipeline',
    description:
      'The memory has the type ci_event and the tag ci:{event_type}; every field that is not listed is kept in its metadata (256 KiB, 32 levels). Events are never taken for duplicates.',
    operation: 'recordCiEvent',
    body: { content: ciEventShape.content, event_type: ciEventShape.eventType, tags: ciEventShape.tags },
    otherFields: 'kept',
    idempotent: true,
    call: ({ body: { content, event_type, tags, ...metadata }, idempotencyKey }) =>
      call(RecordCiEventDocument, { input: { content, eventType: event_type, tags, metadata }, idempotencyKey }),
    answer: ({ recordCiEvent: { id, stored, eventType, replayed } }) => ({
      body: { stored, id, event_type: eventType },
      headers: { location: `/memory/${id}`, ...replayedHeader(replayed) },
    }),
    response: responses.recorded,
    errors: ['invalid_parameter', 'forbidden', 'conflict', 'payload_too_large', 'unsupported_media_type'],
  }),
  route({
    method: 'GET',
    path: '/usage',
    summary: 'What the account uses of its plan',
    description: 'The current month in UTC; a limit of null means that there is none.',
    operation: 'usage',
    call: () => call(GetUsageDocument, {}),
    answer: ({ usage: { plan, period, stores, retrievals, overageCostUsd, rateLimit } }) => ({
      body: { plan, period, stores, retrievals, overage_cost_usd: overageCostUsd, rate_limit: { per_minute: rateLimit.perMinute } },
    }),
    response: responses.usage,
    errors: ['invalid_parameter', 'forbidden'],
  }),
  route({
    method: 'GET',
    path: '/health',
    summary: 'How the service is',
    description: '503 with the same body when the database is away.',
    operation: 'health',
    call: () => call(GetHealthDocument, {}),
    answer: ({ health: { status, version, uptimeSeconds, checks } }) => ({
      status: checks.database === 'OK' ? 200 : 503,
      ...(checks.database === 'OK' ? {} : { headers: { 'retry-after': '1' } }),
      body: {
        status: status.toLowerCase(),
        version,
        uptime_seconds: uptimeSeconds,
        checks: {
          database: checks.database.toLowerCase(),
          embedding: checks.embedding.toLowerCase(),
          cache: checks.cache.toLowerCase(),
          ...(checks.disk === 'DOWN' ? { disk: 'down' } : {}),
        },
      },
    }),
    response: responses.health,
    errors: ['invalid_parameter'],
  }),
];

function replayedHeader(replayed: boolean): Record<string, string> {
  return replayed ? { 'idempotency-replayed': 'true' } : {};
}

/** The user that a change names in its query, its body, or both. */
function oneOf(userIdOfQuery: string | undefined, userIdOfBody: string | undefined): string | undefined {
  if (userIdOfQuery !== undefined && userIdOfBody !== undefined && userIdOfQuery !== userIdOfBody)
    throw invalidParameter([{ path: ['user_id'], message: 'must be the same in the query and in the body' }]);
  return userIdOfQuery ?? userIdOfBody;
}

function filterOf({ user_id, session_id, tier, tiers, type, tags, after, before, archived }: FilterQuery) {
  if (tier !== undefined && tiers) throw invalidParameter([{ path: ['tiers'], message: "can't be given together with tier" }]);
  return {
    userId: user_id,
    sessionId: session_id,
    tiers: tiers ?? (tier === undefined ? undefined : [tier]),
    type,
    tags,
    createdAfter: after,
    createdBefore: before,
    archived,
  };
}

function memoryBody(memory: MemoryFieldsFragment): Record<string, unknown> {
  return snakeCaseKeys(memory);
}
