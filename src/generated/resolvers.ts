import type { GraphQLResolveInfo, GraphQLScalarType, GraphQLScalarTypeConfig } from 'graphql';
import type { Memory as MemoryModel, MemoryVersion as MemoryVersionModel } from '../modules/memory/model.ts';
import type { MemoryPage, StoreResult, CiEventResult, UpdateResult } from '../modules/memory/service.ts';
import type { Hits, Hit } from '../modules/recall/service.ts';
import type { Scope } from '../modules/access/principal.ts';
import type { AccountView } from '../modules/access/service.ts';
import type { ApiKey as ApiKeyModel } from '../modules/access/store.ts';
import type { AuditEntry as AuditEntryModel } from '../modules/access/audit.ts';
import type { Context } from '../context.ts';
export type Maybe<T> = T | null;
export type InputMaybe<T> = Maybe<T>;
export type Omit<T, K extends keyof T> = Pick<T, Exclude<keyof T, K>>;
export type EnumResolverSignature<T, AllowedValues = any> = { [key in keyof T]?: AllowedValues };
export type RequireFields<T, K extends keyof T> = Omit<T, K> & { [P in K]-?: NonNullable<T[P]> };
/** All built-in and custom scalars, mapped to their actual values */
export type Scalars = {
  ID: { input: string; output: string; }
  String: { input: string; output: string; }
  Boolean: { input: boolean; output: boolean; }
  Int: { input: number; output: number; }
  Float: { input: number; output: number; }
  /** A time: ISO 8601 with an offset; given back in UTC with milliseconds. */
  DateTime: { input: Date | string; output: Date; }
  /** Any JSON object. */
  JSONObject: { input: Record<string, unknown>; output: Record<string, unknown>; }
  /** A whole number of up to 16 digits, which Int would not hold. */
  SafeInt: { input: number; output: number; }
};

/** Whose keys and memories these are. */
export type Account = {
  __typename?: 'Account';
  /** When it was created. */
  createdAt: Scalars['DateTime']['output'];
  /** UUID, version 7. */
  id: Scalars['ID']['output'];
  /** What the plan allows. */
  limits: PlanLimits;
  /** Its name, as the commands of the service know it. */
  name: Scalars['String']['output'];
  /** The plan that it has. */
  plan: Scalars['String']['output'];
};

/** A key of the account, without its text, which is shown once when it is made. */
export type ApiKey = {
  __typename?: 'ApiKey';
  /** When it was made. */
  createdAt: Scalars['DateTime']['output'];
  /** Until when it is let in; null for no end. */
  expiresAt?: Maybe<Scalars['DateTime']['output']>;
  /** The first characters of its text, to tell it from others. */
  hint: Scalars['String']['output'];
  /** UUID, version 7. */
  id: Scalars['ID']['output'];
  /** When it was last used, to the minute, some seconds late; null when it never was. */
  lastUsedAt?: Maybe<Scalars['DateTime']['output']>;
  /** What it is called; null when it was made by a command without a name. */
  name?: Maybe<Scalars['String']['output']>;
  /** The id of the key that it was rotated to; null when it was not. */
  replacedBy?: Maybe<Scalars['ID']['output']>;
  /** When it was revoked; null when it was not. */
  revokedAt?: Maybe<Scalars['DateTime']['output']>;
  /** What it may do. */
  scopes: Array<ApiKeyScope>;
  /** Whether it is let in now. */
  state: ApiKeyState;
  /** The user that it is bound to; null when it is the whole account's. */
  userId?: Maybe<Scalars['String']['output']>;
};

/** A page of keys. */
export type ApiKeyConnection = {
  __typename?: 'ApiKeyConnection';
  /** The keys with their cursors. */
  edges: Array<ApiKeyEdge>;
  /** The keys alone. */
  nodes: Array<ApiKey>;
  /** Where the page lies. */
  pageInfo: PageInfo;
};

/** One key of a list. */
export type ApiKeyEdge = {
  __typename?: 'ApiKeyEdge';
  /** Names this place in the list, for `after`. */
  cursor: Scalars['String']['output'];
  /** The key. */
  node: ApiKey;
};

/** What a key may do. */
export type ApiKeyScope =
  /** admin: keys, plan and audit log, and everything else. */
  | 'ADMIN'
  /** memory:delete: delete. */
  | 'MEMORY_DELETE'
  /** memory:read: search, get, list, history. */
  | 'MEMORY_READ'
  /** memory:write: store, update, restore. */
  | 'MEMORY_WRITE';

/** Whether a key is let in. */
export type ApiKeyState =
  /** It is. */
  | 'ACTIVE'
  /** Its time is over. */
  | 'EXPIRED'
  /** It was revoked. */
  | 'REVOKED';

/** An entry of the audit log. Each holds the hash of the one before it, so that none can be changed, taken out or put in unseen. */
export type AuditEntry = {
  __typename?: 'AuditEntry';
  /** account.created, account.plan_changed, key.created, key.rotated, key.revoked or memory.deleted. */
  action: Scalars['String']['output'];
  /** The id of the key that did it; `command` for the commands of the service, `start` for what its first start sets up. */
  actor: Scalars['String']['output'];
  /** When it happened. */
  at: Scalars['DateTime']['output'];
  /** What was changed; never a key or a content. */
  details: Scalars['JSONObject']['output'];
  /** SHA-256, in hex, of the JSON array [account id, sequence, id, at in milliseconds, actor, action, target, details as JSON text with sorted names, previousHash]. */
  hash: Scalars['String']['output'];
  /** UUID. */
  id: Scalars['ID']['output'];
  /** The hash of the entry before it; 64 zeros for the first. */
  previousHash: Scalars['String']['output'];
  /** Its place in the account's log: 1, 2, 3 … */
  sequence: Scalars['SafeInt']['output'];
  /** The id of the account, key or memory that was changed. */
  target: Scalars['ID']['output'];
};

/** One entry of the audit log. */
export type AuditEntryEdge = {
  __typename?: 'AuditEntryEdge';
  /** Names this place in the log, for `after`. */
  cursor: Scalars['String']['output'];
  /** The entry. */
  node: AuditEntry;
};

/** A page of the audit log. */
export type AuditLogConnection = {
  __typename?: 'AuditLogConnection';
  /** The entries with their cursors. */
  edges: Array<AuditEntryEdge>;
  /** The entries alone. */
  nodes: Array<AuditEntry>;
  /** Where the page lies. */
  pageInfo: PageInfo;
};

/** The state of one part. */
export type CheckState =
  /** It does not answer. */
  | 'DOWN'
  /** It is not configured, and not needed. */
  | 'OFF'
  /** It answers. */
  | 'OK';

/** A key to be made. */
export type CreateApiKeyInput = {
  /** Until when it is let in, in the future; without end by default. */
  expiresAt?: InputMaybe<Scalars['DateTime']['input']>;
  /** What it is called, 1–100 characters. */
  name: Scalars['String']['input'];
  /** What it may do, each scope once. */
  scopes?: Array<ApiKeyScope>;
  /** Binds it to this user, 1–256 characters: every request with it is that user's. */
  userId?: InputMaybe<Scalars['String']['input']>;
};

/** A key that was made. */
export type CreateApiKeyPayload = {
  __typename?: 'CreateApiKeyPayload';
  /** What is kept of it. */
  apiKey: ApiKey;
  /** The text of the key. It is shown this once. */
  key: Scalars['String']['output'];
};

/** What became of a delete. */
export type DeleteMemoryPayload = {
  __typename?: 'DeleteMemoryPayload';
  /** Always true; a memory that is not there is an error. */
  deleted: Scalars['Boolean']['output'];
  /** The id that the memory had. */
  id: Scalars['ID']['output'];
};

/** How the service is. */
export type Health = {
  __typename?: 'Health';
  /** The state of each part. */
  checks: HealthChecks;
  /** Whether all is well or something is missing. */
  status: HealthStatus;
  /** Whole seconds since it started. */
  uptimeSeconds: Scalars['Int']['output'];
  /** The service's version. */
  version: Scalars['String']['output'];
};

/** The state of each part. */
export type HealthChecks = {
  __typename?: 'HealthChecks';
  /** Redis. */
  cache: CheckState;
  /** Neo4j. */
  database: CheckState;
  /** The disk of the Neo4j that the service runs; down while it is full and nothing is stored. */
  disk: CheckState;
  /** The embedding model. */
  embedding: CheckState;
};

/** Whether all is well or something is missing. */
export type HealthStatus =
  /** Something is away; see the checks. */
  | 'DEGRADED'
  /** Everything works. */
  | 'OK';

/** A text that an agent remembers, with what is needed to find and judge it again. */
export type Memory = {
  __typename?: 'Memory';
  /** Hidden from search, lists, graph and profile. */
  archived: Scalars['Boolean']['output'];
  /** The text. */
  content: Scalars['String']['output'];
  /** When it was stored. */
  createdAt: Scalars['DateTime']['output'];
  /** When it is forgotten; null for never. */
  expiresAt?: Maybe<Scalars['DateTime']['output']>;
  /** What it was before each change, the latest first. The last 100 versions are kept. */
  history: Array<MemoryVersion>;
  /** UUID, version 7. */
  id: Scalars['ID']['output'];
  /** Arbitrary data; an empty object when none was given. */
  metadata: Scalars['JSONObject']['output'];
  /** When it was said or happened. */
  occurredAt: Scalars['DateTime']['output'];
  /** How much the memory matters by itself, 0–1: 0.4 tier + 0.25 specificity + 0.2 how often recalled + 0.15 recency. */
  salience: Scalars['Float']['output'];
  /** What was said together has the same session. */
  sessionId?: Maybe<Scalars['String']['output']>;
  /** The memories that this one was derived from. */
  sourceIds: Array<Scalars['ID']['output']>;
  /** Words to filter by, in the order in which they were given. */
  tags: Array<Scalars['String']['output']>;
  /** 0 pinned, 1 session, 2 semantic, 3 organization. */
  tier: Scalars['Int']['output'];
  /** fact, preference, context or a word of your own. */
  type: Scalars['String']['output'];
  /** When it was last changed. */
  updatedAt: Scalars['DateTime']['output'];
  /** The user it belongs to; null when it belongs to the account as a whole. */
  userId?: Maybe<Scalars['String']['output']>;
  /** 1 when stored, raised by every change. */
  version: Scalars['Int']['output'];
};


/** A text that an agent remembers, with what is needed to find and judge it again. */
export type MemoryHistoryArgs = {
  first?: Scalars['Int']['input'];
};

/** A page of memories. */
export type MemoryConnection = {
  __typename?: 'MemoryConnection';
  /** The memories with their cursors. */
  edges: Array<MemoryEdge>;
  /** The memories alone. */
  nodes: Array<Memory>;
  /** Where the page lies. */
  pageInfo: PageInfo;
  /** How many memories the whole list has; counted only when asked for. */
  totalCount: Scalars['Int']['output'];
};

/** One memory of a list. */
export type MemoryEdge = {
  __typename?: 'MemoryEdge';
  /** Names this place in the list, for `after`. */
  cursor: Scalars['String']['output'];
  /** The memory. */
  node: Memory;
};

/** Which memories a list or a search speaks of; all that is given must fit. */
export type MemoryFilter = {
  /** True: only archived memories. Default: only those that are not. */
  archived?: InputMaybe<Scalars['Boolean']['input']>;
  /** Stored after this time. */
  createdAfter?: InputMaybe<Scalars['DateTime']['input']>;
  /** Stored before this time. */
  createdBefore?: InputMaybe<Scalars['DateTime']['input']>;
  /** What was said in this session. */
  sessionId?: InputMaybe<Scalars['String']['input']>;
  /** All of these tags. */
  tags?: InputMaybe<Array<Scalars['String']['input']>>;
  /** Any of these tiers, 0–3. */
  tiers?: InputMaybe<Array<Scalars['Int']['input']>>;
  /** This type. */
  type?: InputMaybe<Scalars['String']['input']>;
  /** That user's memories and the account's shared ones (no user, tier 3). Without it: the whole account. */
  userId?: InputMaybe<Scalars['String']['input']>;
};

/** The order of a list, by time of storing. */
export type MemorySort =
  /** Oldest first. */
  | 'OLDEST'
  /** Newest first. */
  | 'RECENT';

/** What a memory was before one of its changes. */
export type MemoryVersion = {
  __typename?: 'MemoryVersion';
  /** Whether it was hidden. */
  archived: Scalars['Boolean']['output'];
  /** The text. */
  content: Scalars['String']['output'];
  /** When it would have been forgotten; null for never. */
  expiresAt?: Maybe<Scalars['DateTime']['output']>;
  /** Arbitrary data. */
  metadata: Scalars['JSONObject']['output'];
  /** Words to filter by. */
  tags: Array<Scalars['String']['output']>;
  /** 0 pinned, 1 session, 2 semantic, 3 organization. */
  tier: Scalars['Int']['output'];
  /** fact, preference, context or a word of your own. */
  type: Scalars['String']['output'];
  /** When it became this version. */
  updatedAt: Scalars['DateTime']['output'];
  /** The version that it was. */
  version: Scalars['Int']['output'];
};

/** What was used in a month. */
export type MonthUsage = {
  __typename?: 'MonthUsage';
  /** Year and month in UTC, such as 2026-03. */
  month: Scalars['String']['output'];
  /** Retrievals. */
  retrievals: Scalars['SafeInt']['output'];
  /** Memories stored. */
  stores: Scalars['SafeInt']['output'];
};

/** What can be changed. Each mutation is committed when its answer arrives. */
export type Mutation = {
  __typename?: 'Mutation';
  /** Makes a key. An account can have 1,000 active ones. Needs the scope admin. */
  createApiKey: CreateApiKeyPayload;
  /** Erases a memory and everything kept of it. */
  deleteMemory: DeleteMemoryPayload;
  /** Stores an event of a CI pipeline as a memory of type `ci_event`. Events are never taken for duplicates. */
  recordCiEvent: RecordCiEventPayload;
  /** Gives a memory back the content, tier, type, tags, metadata, expiry and archived state of a version of its history. An expiry that has passed is not brought back: then it keeps the one it has. */
  restoreMemory: UpdateMemoryPayload;
  /** Ends a key: it is refused within a second. Revoking it again changes nothing. Needs the scope admin. */
  revokeApiKey: RevokeApiKeyPayload;
  /** Makes a key with the name, scopes, user and expiry of another, which is valid for a while longer. Needs the scope admin. */
  rotateApiKey: RotateApiKeyPayload;
  /** Stores a memory. It can be found the moment this answers. */
  storeMemory: StoreMemoryPayload;
  /** Changes a memory. Concurrent updates are merged one after the other; none is lost. */
  updateMemory: UpdateMemoryPayload;
};


/** What can be changed. Each mutation is committed when its answer arrives. */
export type MutationCreateApiKeyArgs = {
  input: CreateApiKeyInput;
};


/** What can be changed. Each mutation is committed when its answer arrives. */
export type MutationDeleteMemoryArgs = {
  id: Scalars['ID']['input'];
  ifVersion?: InputMaybe<Array<Scalars['Int']['input']>>;
  userId?: InputMaybe<Scalars['String']['input']>;
};


/** What can be changed. Each mutation is committed when its answer arrives. */
export type MutationRecordCiEventArgs = {
  idempotencyKey?: InputMaybe<Scalars['String']['input']>;
  input: RecordCiEventInput;
};


/** What can be changed. Each mutation is committed when its answer arrives. */
export type MutationRestoreMemoryArgs = {
  id: Scalars['ID']['input'];
  ifVersion?: InputMaybe<Array<Scalars['Int']['input']>>;
  userId?: InputMaybe<Scalars['String']['input']>;
  version: Scalars['Int']['input'];
};


/** What can be changed. Each mutation is committed when its answer arrives. */
export type MutationRevokeApiKeyArgs = {
  id: Scalars['ID']['input'];
};


/** What can be changed. Each mutation is committed when its answer arrives. */
export type MutationRotateApiKeyArgs = {
  graceSeconds?: Scalars['Int']['input'];
  id: Scalars['ID']['input'];
};


/** What can be changed. Each mutation is committed when its answer arrives. */
export type MutationStoreMemoryArgs = {
  idempotencyKey?: InputMaybe<Scalars['String']['input']>;
  input: StoreMemoryInput;
};


/** What can be changed. Each mutation is committed when its answer arrives. */
export type MutationUpdateMemoryArgs = {
  id: Scalars['ID']['input'];
  ifVersion?: InputMaybe<Array<Scalars['Int']['input']>>;
  input: UpdateMemoryInput;
  userId?: InputMaybe<Scalars['String']['input']>;
};

/** What is paid for more than a month's limits, in US dollars. */
export type OveragePrices = {
  __typename?: 'OveragePrices';
  /** For each 1,000 retrievals. */
  usdPerThousandRetrievals: Scalars['Float']['output'];
  /** For each 1,000 memories stored. */
  usdPerThousandStores: Scalars['Float']['output'];
};

/** Where a page of a list lies. */
export type PageInfo = {
  __typename?: 'PageInfo';
  /** Cursor of the last item, for `after`; null on an empty page. */
  endCursor?: Maybe<Scalars['String']['output']>;
  /** Whether the list goes on after this page. */
  hasNextPage: Scalars['Boolean']['output'];
  /** Whether there is something before this page; lists are read forward, so this is true after a cursor or an offset. */
  hasPreviousPage: Scalars['Boolean']['output'];
  /** Cursor of the first item; null on an empty page. */
  startCursor?: Maybe<Scalars['String']['output']>;
};

/** What a plan allows. */
export type PlanLimits = {
  __typename?: 'PlanLimits';
  /** What is paid for more than a month's limits; null when requests are refused then. */
  overage?: Maybe<OveragePrices>;
  /** Requests a minute, for each key. */
  requestsPerMinute: Scalars['Int']['output'];
  /** Searches and other reads of memories in a calendar month (UTC); null for no limit. */
  retrievalsPerMonth?: Maybe<Scalars['SafeInt']['output']>;
  /** Memories that can be stored in a calendar month (UTC); null for no limit. */
  storesPerMonth?: Maybe<Scalars['SafeInt']['output']>;
};

/** What can be asked. Every operation needs a key, and sees only that key's account. */
export type Query = {
  __typename?: 'Query';
  /** The account of the key that asks. Needs the scope admin. */
  account: Account;
  /** All keys of the account, those that were revoked or have expired too, the latest first. Needs the scope admin. */
  apiKeys: ApiKeyConnection;
  /** What was changed in the account, the latest first: each change of its plan and keys, and each memory that was deleted. Needs the scope admin. */
  auditLog: AuditLogConnection;
  /** How the service is; any key may ask. */
  health: Health;
  /** Memories by time of storing, a page at a time. */
  memories: MemoryConnection;
  /** One memory, archived or not; null when there is none that you can see. */
  memory?: Maybe<Memory>;
  /** Finds memories by meaning and by words. */
  searchMemories: SearchMemoriesPayload;
  /** What the account uses of its plan in the current month, and used in the months before. */
  usage: Usage;
};


/** What can be asked. Every operation needs a key, and sees only that key's account. */
export type QueryApiKeysArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  first?: Scalars['Int']['input'];
};


/** What can be asked. Every operation needs a key, and sees only that key's account. */
export type QueryAuditLogArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  first?: Scalars['Int']['input'];
};


/** What can be asked. Every operation needs a key, and sees only that key's account. */
export type QueryMemoriesArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<MemoryFilter>;
  first?: Scalars['Int']['input'];
  offset?: InputMaybe<Scalars['Int']['input']>;
  sort?: MemorySort;
};


/** What can be asked. Every operation needs a key, and sees only that key's account. */
export type QueryMemoryArgs = {
  id: Scalars['ID']['input'];
  userId?: InputMaybe<Scalars['String']['input']>;
};


/** What can be asked. Every operation needs a key, and sees only that key's account. */
export type QuerySearchMemoriesArgs = {
  filter?: InputMaybe<MemoryFilter>;
  first?: Scalars['Int']['input'];
  minScore?: InputMaybe<Scalars['Float']['input']>;
  query: Scalars['String']['input'];
};

/** How many requests are possible. */
export type RateLimit = {
  __typename?: 'RateLimit';
  /** Requests a minute with one key. */
  perMinute: Scalars['Int']['output'];
};

/** What a CI pipeline reports. */
export type RecordCiEventInput = {
  /** What happened, 1–50,000 characters. */
  content: Scalars['String']['input'];
  /** Becomes the tag `ci:{eventType}`, 1–97 characters; such as deployment, pr_merge or decision. Default: ci_event. */
  eventType?: InputMaybe<Scalars['String']['input']>;
  /** Whatever else there is to say, up to 256 KiB and 32 levels. */
  metadata?: InputMaybe<Scalars['JSONObject']['input']>;
  /** At most 50 further tags, 1–100 characters each. */
  tags?: InputMaybe<Array<Scalars['String']['input']>>;
};

/** What became of a CI event. */
export type RecordCiEventPayload = {
  __typename?: 'RecordCiEventPayload';
  /** The kind of event, without `ci:`. */
  eventType: Scalars['String']['output'];
  /** The memory's id. */
  id: Scalars['ID']['output'];
  /** The memory. */
  memory?: Maybe<Memory>;
  /** True when the first request under the same idempotency key is answered once more; nothing was done now. */
  replayed: Scalars['Boolean']['output'];
  /** Always true: events are never taken for duplicates. */
  stored: Scalars['Boolean']['output'];
};

/** A key that was revoked. */
export type RevokeApiKeyPayload = {
  __typename?: 'RevokeApiKeyPayload';
  /** The key. */
  apiKey: ApiKey;
};

/** A key that took the place of another. */
export type RotateApiKeyPayload = {
  __typename?: 'RotateApiKeyPayload';
  /** What is kept of the new key. */
  apiKey: ApiKey;
  /** The text of the new key. It is shown this once. */
  key: Scalars['String']['output'];
  /** The old key, with the time until which it is valid. */
  previous: ApiKey;
};

/** The parts of a score: score = r + 0.5·(w − 1)·r·(1 − r) with r the relevance and w the tier's weight. */
export type ScoreExplanation = {
  __typename?: 'ScoreExplanation';
  /** The cosine between query and memory that `semantic` stands on, −1 to 1. */
  cosine?: Maybe<Scalars['Float']['output']>;
  /** How much of the query's words the memory has, weighted by their rarity, 0–1. */
  lexical: Scalars['Float']['output'];
  /** r: the fusion of the parts below, 0–1. */
  relevance: Scalars['Float']['output'];
  /** Nearness of meaning, 0–1, calibrated for the embedding model; null when the memory has no embedding. */
  semantic?: Maybe<Scalars['Float']['output']>;
  /** The memory's text was longer than what is embedded, so its end does not count for `semantic`. */
  textCut: Scalars['Boolean']['output'];
  /** w: 1.5, 1.2, 1.0 and 1.1 for tiers 0 to 3. */
  tierWeight: Scalars['Float']['output'];
};

/** A memory that was found, and how well it fits. */
export type SearchHit = {
  __typename?: 'SearchHit';
  /** How the score came about. */
  explanation: ScoreExplanation;
  /** The memory. */
  memory: Memory;
  /** How much the memory matters by itself, 0–1. */
  salience: Scalars['Float']['output'];
  /** How well it fits the query, 0–1: about 1 for the same text, 0.8 and more for a paraphrase, around 0.5 for the same topic, below 0.3 for something unrelated. */
  score: Scalars['Float']['output'];
};

/** What a search found. */
export type SearchMemoriesPayload = {
  __typename?: 'SearchMemoriesPayload';
  /** How many hits there are. */
  count: Scalars['Int']['output'];
  /** The hits, best first. */
  hits: Array<SearchHit>;
};

/** A memory to store. */
export type StoreMemoryInput = {
  /** The text, 1–50,000 characters; white space around it is dropped. */
  content: Scalars['String']['input'];
  /** When it is forgotten; tier 1 gets the time of storing plus 24 hours (SESSION_TTL) by default. */
  expiresAt?: InputMaybe<Scalars['DateTime']['input']>;
  /** Any JSON object up to 16 KiB and 8 levels. */
  metadata?: InputMaybe<Scalars['JSONObject']['input']>;
  /** When it was said or happened; default the time of storing. */
  occurredAt?: InputMaybe<Scalars['DateTime']['input']>;
  /** Groups and orders what was said together, 1–256 characters. */
  sessionId?: InputMaybe<Scalars['String']['input']>;
  /** At most 100 ids of memories that this one was derived from; each must be visible to the caller. */
  sourceIds?: InputMaybe<Array<Scalars['ID']['input']>>;
  /** At most 50 words to filter by, 1–100 characters each; duplicates are dropped. */
  tags?: InputMaybe<Array<Scalars['String']['input']>>;
  /** 0 pinned, 1 session, 2 semantic (default), 3 organization. */
  tier?: InputMaybe<Scalars['Int']['input']>;
  /** fact (default), preference, context or a word of your own, 1–64 characters. */
  type?: InputMaybe<Scalars['String']['input']>;
  /** The user it belongs to, 1–256 characters; without one it belongs to the account as a whole. */
  userId?: InputMaybe<Scalars['String']['input']>;
};

/** What became of a store. */
export type StoreMemoryPayload = {
  __typename?: 'StoreMemoryPayload';
  /** The opposite of stored. */
  duplicate: Scalars['Boolean']['output'];
  /** The memory's id; of the existing one when it was a duplicate. */
  id: Scalars['ID']['output'];
  /** The memory. */
  memory?: Maybe<Memory>;
  /** True when the first request under the same idempotency key is answered once more; nothing was done now. */
  replayed: Scalars['Boolean']['output'];
  /** True when it was stored now; false when the same content was there already in the same account, user, tier and session. */
  stored: Scalars['Boolean']['output'];
};

/** What to change of a memory; at least one field. */
export type UpdateMemoryInput = {
  /** True hides it from search, lists, graph and profile until false. */
  archived?: InputMaybe<Scalars['Boolean']['input']>;
  /** A new text, embedded anew. */
  content?: InputMaybe<Scalars['String']['input']>;
  /** When it is forgotten; null clears it. */
  expiresAt?: InputMaybe<Scalars['DateTime']['input']>;
  /** Merged into the metadata; a null deletes its key. */
  metadata?: InputMaybe<Scalars['JSONObject']['input']>;
  /** Replaces all tags. */
  tags?: InputMaybe<Array<Scalars['String']['input']>>;
  /** 0–3. Leaving tier 1 clears a defaulted expiry, entering it sets one. */
  tier?: InputMaybe<Scalars['Int']['input']>;
  /** A new type. */
  type?: InputMaybe<Scalars['String']['input']>;
};

/** What became of an update. */
export type UpdateMemoryPayload = {
  __typename?: 'UpdateMemoryPayload';
  /** The memory's id. */
  id: Scalars['ID']['output'];
  /** The memory as it is now. */
  memory?: Maybe<Memory>;
  /** False when the update changes nothing; then the version stays. */
  updated: Scalars['Boolean']['output'];
  /** The version that the memory has now. */
  version: Scalars['Int']['output'];
};

/** What the account uses of its plan. */
export type Usage = {
  __typename?: 'Usage';
  /** The current month and the eleven before it, the latest first. */
  months: Array<MonthUsage>;
  /** What the use beyond the limits costs so far, in US dollars. */
  overageCostUsd: Scalars['Float']['output'];
  /** The month that is counted, in UTC. */
  period: UsagePeriod;
  /** The plan's name. */
  plan: Scalars['String']['output'];
  /** How many requests are possible. */
  rateLimit: RateLimit;
  /** Searches, gets, pages of lists and other reads that were answered with 200. */
  retrievals: UsageCount;
  /** Memories stored: committed ones, not duplicates, replays or updates. */
  stores: UsageCount;
};

/** What was used of a limit in a month. */
export type UsageCount = {
  __typename?: 'UsageCount';
  /** The plan's limit; null for none. */
  limit?: Maybe<Scalars['SafeInt']['output']>;
  /** How many beyond the limit. */
  overage: Scalars['SafeInt']['output'];
  /** How many are left; null without a limit. */
  remaining?: Maybe<Scalars['SafeInt']['output']>;
  /** How many. */
  used: Scalars['SafeInt']['output'];
};

/** A month in UTC. */
export type UsagePeriod = {
  __typename?: 'UsagePeriod';
  /** The 1st of the next month, 00:00: then the counting begins anew. */
  end: Scalars['DateTime']['output'];
  /** The 1st of the month, 00:00. */
  start: Scalars['DateTime']['output'];
};



export type ResolverTypeWrapper<T> = Promise<T> | T;


export type ResolverWithResolve<TResult, TParent, TContext, TArgs> = {
  resolve: ResolverFn<TResult, TParent, TContext, TArgs>;
};
export type Resolver<TResult, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> = ResolverFn<TResult, TParent, TContext, TArgs> | ResolverWithResolve<TResult, TParent, TContext, TArgs>;

export type ResolverFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => Promise<TResult> | TResult;

export type SubscriptionSubscribeFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => AsyncIterable<TResult> | Promise<AsyncIterable<TResult>>;

export type SubscriptionResolveFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => TResult | Promise<TResult>;

export interface SubscriptionSubscriberObject<TResult, TKey extends string, TParent, TContext, TArgs> {
  subscribe: SubscriptionSubscribeFn<{ [key in TKey]: TResult }, TParent, TContext, TArgs>;
  resolve?: SubscriptionResolveFn<TResult, { [key in TKey]: TResult }, TContext, TArgs>;
}

export interface SubscriptionResolverObject<TResult, TParent, TContext, TArgs> {
  subscribe: SubscriptionSubscribeFn<any, TParent, TContext, TArgs>;
  resolve: SubscriptionResolveFn<TResult, any, TContext, TArgs>;
}

export type SubscriptionObject<TResult, TKey extends string, TParent, TContext, TArgs> =
  | SubscriptionSubscriberObject<TResult, TKey, TParent, TContext, TArgs>
  | SubscriptionResolverObject<TResult, TParent, TContext, TArgs>;

export type SubscriptionResolver<TResult, TKey extends string, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> =
  | ((...args: any[]) => SubscriptionObject<TResult, TKey, TParent, TContext, TArgs>)
  | SubscriptionObject<TResult, TKey, TParent, TContext, TArgs>;

export type TypeResolveFn<TTypes, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>> = (
  parent: TParent,
  context: TContext,
  info: GraphQLResolveInfo
) => Maybe<TTypes> | Promise<Maybe<TTypes>>;

export type IsTypeOfResolverFn<T = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>> = (obj: T, context: TContext, info: GraphQLResolveInfo) => boolean | Promise<boolean>;

export type NextResolverFn<T> = () => Promise<T>;

export type DirectiveResolverFn<TResult = Record<PropertyKey, never>, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> = (
  next: NextResolverFn<TResult>,
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => TResult | Promise<TResult>;





/** Mapping between all available schema types and the resolvers types */
export type ResolversTypes = {
  Account: ResolverTypeWrapper<AccountView>;
  ApiKey: ResolverTypeWrapper<ApiKeyModel>;
  ApiKeyConnection: ResolverTypeWrapper<Omit<ApiKeyConnection, 'edges' | 'nodes'> & { edges: Array<ResolversTypes['ApiKeyEdge']>, nodes: Array<ResolversTypes['ApiKey']> }>;
  ApiKeyEdge: ResolverTypeWrapper<Omit<ApiKeyEdge, 'node'> & { node: ResolversTypes['ApiKey'] }>;
  ApiKeyScope: ResolverTypeWrapper<Scope>;
  ApiKeyState: ApiKeyState;
  AuditEntry: ResolverTypeWrapper<AuditEntryModel>;
  AuditEntryEdge: ResolverTypeWrapper<Omit<AuditEntryEdge, 'node'> & { node: ResolversTypes['AuditEntry'] }>;
  AuditLogConnection: ResolverTypeWrapper<Omit<AuditLogConnection, 'edges' | 'nodes'> & { edges: Array<ResolversTypes['AuditEntryEdge']>, nodes: Array<ResolversTypes['AuditEntry']> }>;
  Boolean: ResolverTypeWrapper<Scalars['Boolean']['output']>;
  CheckState: CheckState;
  CreateApiKeyInput: CreateApiKeyInput;
  CreateApiKeyPayload: ResolverTypeWrapper<Omit<CreateApiKeyPayload, 'apiKey'> & { apiKey: ResolversTypes['ApiKey'] }>;
  DateTime: ResolverTypeWrapper<Scalars['DateTime']['output']>;
  DeleteMemoryPayload: ResolverTypeWrapper<DeleteMemoryPayload>;
  Float: ResolverTypeWrapper<Scalars['Float']['output']>;
  Health: ResolverTypeWrapper<Health>;
  HealthChecks: ResolverTypeWrapper<HealthChecks>;
  HealthStatus: HealthStatus;
  ID: ResolverTypeWrapper<Scalars['ID']['output']>;
  Int: ResolverTypeWrapper<Scalars['Int']['output']>;
  JSONObject: ResolverTypeWrapper<Scalars['JSONObject']['output']>;
  Memory: ResolverTypeWrapper<MemoryModel>;
  MemoryConnection: ResolverTypeWrapper<MemoryPage>;
  MemoryEdge: ResolverTypeWrapper<Omit<MemoryEdge, 'node'> & { node: ResolversTypes['Memory'] }>;
  MemoryFilter: MemoryFilter;
  MemorySort: MemorySort;
  MemoryVersion: ResolverTypeWrapper<MemoryVersionModel>;
  MonthUsage: ResolverTypeWrapper<MonthUsage>;
  Mutation: ResolverTypeWrapper<Record<PropertyKey, never>>;
  OveragePrices: ResolverTypeWrapper<OveragePrices>;
  PageInfo: ResolverTypeWrapper<PageInfo>;
  PlanLimits: ResolverTypeWrapper<PlanLimits>;
  Query: ResolverTypeWrapper<Record<PropertyKey, never>>;
  RateLimit: ResolverTypeWrapper<RateLimit>;
  RecordCiEventInput: RecordCiEventInput;
  RecordCiEventPayload: ResolverTypeWrapper<CiEventResult>;
  RevokeApiKeyPayload: ResolverTypeWrapper<Omit<RevokeApiKeyPayload, 'apiKey'> & { apiKey: ResolversTypes['ApiKey'] }>;
  RotateApiKeyPayload: ResolverTypeWrapper<Omit<RotateApiKeyPayload, 'apiKey' | 'previous'> & { apiKey: ResolversTypes['ApiKey'], previous: ResolversTypes['ApiKey'] }>;
  SafeInt: ResolverTypeWrapper<Scalars['SafeInt']['output']>;
  ScoreExplanation: ResolverTypeWrapper<ScoreExplanation>;
  SearchHit: ResolverTypeWrapper<Hit>;
  SearchMemoriesPayload: ResolverTypeWrapper<Hits>;
  StoreMemoryInput: StoreMemoryInput;
  StoreMemoryPayload: ResolverTypeWrapper<StoreResult>;
  String: ResolverTypeWrapper<Scalars['String']['output']>;
  UpdateMemoryInput: UpdateMemoryInput;
  UpdateMemoryPayload: ResolverTypeWrapper<UpdateResult>;
  Usage: ResolverTypeWrapper<Usage>;
  UsageCount: ResolverTypeWrapper<UsageCount>;
  UsagePeriod: ResolverTypeWrapper<UsagePeriod>;
};

/** Mapping between all available schema types and the resolvers parents */
export type ResolversParentTypes = {
  Account: AccountView;
  ApiKey: ApiKeyModel;
  ApiKeyConnection: Omit<ApiKeyConnection, 'edges' | 'nodes'> & { edges: Array<ResolversParentTypes['ApiKeyEdge']>, nodes: Array<ResolversParentTypes['ApiKey']> };
  ApiKeyEdge: Omit<ApiKeyEdge, 'node'> & { node: ResolversParentTypes['ApiKey'] };
  AuditEntry: AuditEntryModel;
  AuditEntryEdge: Omit<AuditEntryEdge, 'node'> & { node: ResolversParentTypes['AuditEntry'] };
  AuditLogConnection: Omit<AuditLogConnection, 'edges' | 'nodes'> & { edges: Array<ResolversParentTypes['AuditEntryEdge']>, nodes: Array<ResolversParentTypes['AuditEntry']> };
  Boolean: Scalars['Boolean']['output'];
  CreateApiKeyInput: CreateApiKeyInput;
  CreateApiKeyPayload: Omit<CreateApiKeyPayload, 'apiKey'> & { apiKey: ResolversParentTypes['ApiKey'] };
  DateTime: Scalars['DateTime']['output'];
  DeleteMemoryPayload: DeleteMemoryPayload;
  Float: Scalars['Float']['output'];
  Health: Health;
  HealthChecks: HealthChecks;
  ID: Scalars['ID']['output'];
  Int: Scalars['Int']['output'];
  JSONObject: Scalars['JSONObject']['output'];
  Memory: MemoryModel;
  MemoryConnection: MemoryPage;
  MemoryEdge: Omit<MemoryEdge, 'node'> & { node: ResolversParentTypes['Memory'] };
  MemoryFilter: MemoryFilter;
  MemoryVersion: MemoryVersionModel;
  MonthUsage: MonthUsage;
  Mutation: Record<PropertyKey, never>;
  OveragePrices: OveragePrices;
  PageInfo: PageInfo;
  PlanLimits: PlanLimits;
  Query: Record<PropertyKey, never>;
  RateLimit: RateLimit;
  RecordCiEventInput: RecordCiEventInput;
  RecordCiEventPayload: CiEventResult;
  RevokeApiKeyPayload: Omit<RevokeApiKeyPayload, 'apiKey'> & { apiKey: ResolversParentTypes['ApiKey'] };
  RotateApiKeyPayload: Omit<RotateApiKeyPayload, 'apiKey' | 'previous'> & { apiKey: ResolversParentTypes['ApiKey'], previous: ResolversParentTypes['ApiKey'] };
  SafeInt: Scalars['SafeInt']['output'];
  ScoreExplanation: ScoreExplanation;
  SearchHit: Hit;
  SearchMemoriesPayload: Hits;
  StoreMemoryInput: StoreMemoryInput;
  StoreMemoryPayload: StoreResult;
  String: Scalars['String']['output'];
  UpdateMemoryInput: UpdateMemoryInput;
  UpdateMemoryPayload: UpdateResult;
  Usage: Usage;
  UsageCount: UsageCount;
  UsagePeriod: UsagePeriod;
};

export type AccountResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Account'] = ResolversParentTypes['Account']> = {
  createdAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  limits?: Resolver<ResolversTypes['PlanLimits'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  plan?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type ApiKeyResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ApiKey'] = ResolversParentTypes['ApiKey']> = {
  createdAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  expiresAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  hint?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  lastUsedAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  name?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  replacedBy?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  revokedAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  scopes?: Resolver<Array<ResolversTypes['ApiKeyScope']>, ParentType, ContextType>;
  state?: Resolver<ResolversTypes['ApiKeyState'], ParentType, ContextType>;
  userId?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type ApiKeyConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ApiKeyConnection'] = ResolversParentTypes['ApiKeyConnection']> = {
  edges?: Resolver<Array<ResolversTypes['ApiKeyEdge']>, ParentType, ContextType>;
  nodes?: Resolver<Array<ResolversTypes['ApiKey']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
};

export type ApiKeyEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ApiKeyEdge'] = ResolversParentTypes['ApiKeyEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['ApiKey'], ParentType, ContextType>;
};

export type ApiKeyScopeResolvers = EnumResolverSignature<{ ADMIN?: any, MEMORY_DELETE?: any, MEMORY_READ?: any, MEMORY_WRITE?: any }, ResolversTypes['ApiKeyScope']>;

export type AuditEntryResolvers<ContextType = Context, ParentType extends ResolversParentTypes['AuditEntry'] = ResolversParentTypes['AuditEntry']> = {
  action?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  actor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  at?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  details?: Resolver<ResolversTypes['JSONObject'], ParentType, ContextType>;
  hash?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  previousHash?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  sequence?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  target?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
};

export type AuditEntryEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['AuditEntryEdge'] = ResolversParentTypes['AuditEntryEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['AuditEntry'], ParentType, ContextType>;
};

export type AuditLogConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['AuditLogConnection'] = ResolversParentTypes['AuditLogConnection']> = {
  edges?: Resolver<Array<ResolversTypes['AuditEntryEdge']>, ParentType, ContextType>;
  nodes?: Resolver<Array<ResolversTypes['AuditEntry']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
};

export type CreateApiKeyPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['CreateApiKeyPayload'] = ResolversParentTypes['CreateApiKeyPayload']> = {
  apiKey?: Resolver<ResolversTypes['ApiKey'], ParentType, ContextType>;
  key?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export interface DateTimeScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['DateTime'], any> {
  name: 'DateTime';
}

export type DeleteMemoryPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['DeleteMemoryPayload'] = ResolversParentTypes['DeleteMemoryPayload']> = {
  deleted?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
};

export type HealthResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Health'] = ResolversParentTypes['Health']> = {
  checks?: Resolver<ResolversTypes['HealthChecks'], ParentType, ContextType>;
  status?: Resolver<ResolversTypes['HealthStatus'], ParentType, ContextType>;
  uptimeSeconds?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  version?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type HealthChecksResolvers<ContextType = Context, ParentType extends ResolversParentTypes['HealthChecks'] = ResolversParentTypes['HealthChecks']> = {
  cache?: Resolver<ResolversTypes['CheckState'], ParentType, ContextType>;
  database?: Resolver<ResolversTypes['CheckState'], ParentType, ContextType>;
  disk?: Resolver<ResolversTypes['CheckState'], ParentType, ContextType>;
  embedding?: Resolver<ResolversTypes['CheckState'], ParentType, ContextType>;
};

export interface JsonObjectScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['JSONObject'], any> {
  name: 'JSONObject';
}

export type MemoryResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Memory'] = ResolversParentTypes['Memory']> = {
  archived?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  content?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  expiresAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  history?: Resolver<Array<ResolversTypes['MemoryVersion']>, ParentType, ContextType, RequireFields<MemoryHistoryArgs, 'first'>>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  metadata?: Resolver<ResolversTypes['JSONObject'], ParentType, ContextType>;
  occurredAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  salience?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  sessionId?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  sourceIds?: Resolver<Array<ResolversTypes['ID']>, ParentType, ContextType>;
  tags?: Resolver<Array<ResolversTypes['String']>, ParentType, ContextType>;
  tier?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  type?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  userId?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  version?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type MemoryConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['MemoryConnection'] = ResolversParentTypes['MemoryConnection']> = {
  edges?: Resolver<Array<ResolversTypes['MemoryEdge']>, ParentType, ContextType>;
  nodes?: Resolver<Array<ResolversTypes['Memory']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type MemoryEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['MemoryEdge'] = ResolversParentTypes['MemoryEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Memory'], ParentType, ContextType>;
};

export type MemoryVersionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['MemoryVersion'] = ResolversParentTypes['MemoryVersion']> = {
  archived?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  content?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  expiresAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  metadata?: Resolver<ResolversTypes['JSONObject'], ParentType, ContextType>;
  tags?: Resolver<Array<ResolversTypes['String']>, ParentType, ContextType>;
  tier?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  type?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  version?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type MonthUsageResolvers<ContextType = Context, ParentType extends ResolversParentTypes['MonthUsage'] = ResolversParentTypes['MonthUsage']> = {
  month?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  retrievals?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  stores?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type MutationResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Mutation'] = ResolversParentTypes['Mutation']> = {
  createApiKey?: Resolver<ResolversTypes['CreateApiKeyPayload'], ParentType, ContextType, RequireFields<MutationCreateApiKeyArgs, 'input'>>;
  deleteMemory?: Resolver<ResolversTypes['DeleteMemoryPayload'], ParentType, ContextType, RequireFields<MutationDeleteMemoryArgs, 'id'>>;
  recordCiEvent?: Resolver<ResolversTypes['RecordCiEventPayload'], ParentType, ContextType, RequireFields<MutationRecordCiEventArgs, 'input'>>;
  restoreMemory?: Resolver<ResolversTypes['UpdateMemoryPayload'], ParentType, ContextType, RequireFields<MutationRestoreMemoryArgs, 'id' | 'version'>>;
  revokeApiKey?: Resolver<ResolversTypes['RevokeApiKeyPayload'], ParentType, ContextType, RequireFields<MutationRevokeApiKeyArgs, 'id'>>;
  rotateApiKey?: Resolver<ResolversTypes['RotateApiKeyPayload'], ParentType, ContextType, RequireFields<MutationRotateApiKeyArgs, 'graceSeconds' | 'id'>>;
  storeMemory?: Resolver<ResolversTypes['StoreMemoryPayload'], ParentType, ContextType, RequireFields<MutationStoreMemoryArgs, 'input'>>;
  updateMemory?: Resolver<ResolversTypes['UpdateMemoryPayload'], ParentType, ContextType, RequireFields<MutationUpdateMemoryArgs, 'id' | 'input'>>;
};

export type OveragePricesResolvers<ContextType = Context, ParentType extends ResolversParentTypes['OveragePrices'] = ResolversParentTypes['OveragePrices']> = {
  usdPerThousandRetrievals?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  usdPerThousandStores?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type PageInfoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PageInfo'] = ResolversParentTypes['PageInfo']> = {
  endCursor?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  hasNextPage?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  hasPreviousPage?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  startCursor?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type PlanLimitsResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PlanLimits'] = ResolversParentTypes['PlanLimits']> = {
  overage?: Resolver<Maybe<ResolversTypes['OveragePrices']>, ParentType, ContextType>;
  requestsPerMinute?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  retrievalsPerMonth?: Resolver<Maybe<ResolversTypes['SafeInt']>, ParentType, ContextType>;
  storesPerMonth?: Resolver<Maybe<ResolversTypes['SafeInt']>, ParentType, ContextType>;
};

export type QueryResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Query'] = ResolversParentTypes['Query']> = {
  account?: Resolver<ResolversTypes['Account'], ParentType, ContextType>;
  apiKeys?: Resolver<ResolversTypes['ApiKeyConnection'], ParentType, ContextType, RequireFields<QueryApiKeysArgs, 'first'>>;
  auditLog?: Resolver<ResolversTypes['AuditLogConnection'], ParentType, ContextType, RequireFields<QueryAuditLogArgs, 'first'>>;
  health?: Resolver<ResolversTypes['Health'], ParentType, ContextType>;
  memories?: Resolver<ResolversTypes['MemoryConnection'], ParentType, ContextType, RequireFields<QueryMemoriesArgs, 'first' | 'sort'>>;
  memory?: Resolver<Maybe<ResolversTypes['Memory']>, ParentType, ContextType, RequireFields<QueryMemoryArgs, 'id'>>;
  searchMemories?: Resolver<ResolversTypes['SearchMemoriesPayload'], ParentType, ContextType, RequireFields<QuerySearchMemoriesArgs, 'first' | 'query'>>;
  usage?: Resolver<ResolversTypes['Usage'], ParentType, ContextType>;
};

export type RateLimitResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RateLimit'] = ResolversParentTypes['RateLimit']> = {
  perMinute?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type RecordCiEventPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RecordCiEventPayload'] = ResolversParentTypes['RecordCiEventPayload']> = {
  eventType?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  memory?: Resolver<Maybe<ResolversTypes['Memory']>, ParentType, ContextType>;
  replayed?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  stored?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
};

export type RevokeApiKeyPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RevokeApiKeyPayload'] = ResolversParentTypes['RevokeApiKeyPayload']> = {
  apiKey?: Resolver<ResolversTypes['ApiKey'], ParentType, ContextType>;
};

export type RotateApiKeyPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RotateApiKeyPayload'] = ResolversParentTypes['RotateApiKeyPayload']> = {
  apiKey?: Resolver<ResolversTypes['ApiKey'], ParentType, ContextType>;
  key?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  previous?: Resolver<ResolversTypes['ApiKey'], ParentType, ContextType>;
};

export interface SafeIntScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['SafeInt'], any> {
  name: 'SafeInt';
}

export type ScoreExplanationResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ScoreExplanation'] = ResolversParentTypes['ScoreExplanation']> = {
  cosine?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  lexical?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  relevance?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  semantic?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  textCut?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  tierWeight?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type SearchHitResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SearchHit'] = ResolversParentTypes['SearchHit']> = {
  explanation?: Resolver<ResolversTypes['ScoreExplanation'], ParentType, ContextType>;
  memory?: Resolver<ResolversTypes['Memory'], ParentType, ContextType>;
  salience?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  score?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type SearchMemoriesPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SearchMemoriesPayload'] = ResolversParentTypes['SearchMemoriesPayload']> = {
  count?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  hits?: Resolver<Array<ResolversTypes['SearchHit']>, ParentType, ContextType>;
};

export type StoreMemoryPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['StoreMemoryPayload'] = ResolversParentTypes['StoreMemoryPayload']> = {
  duplicate?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  memory?: Resolver<Maybe<ResolversTypes['Memory']>, ParentType, ContextType>;
  replayed?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  stored?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
};

export type UpdateMemoryPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['UpdateMemoryPayload'] = ResolversParentTypes['UpdateMemoryPayload']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  memory?: Resolver<Maybe<ResolversTypes['Memory']>, ParentType, ContextType>;
  updated?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  version?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type UsageResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Usage'] = ResolversParentTypes['Usage']> = {
  months?: Resolver<Array<ResolversTypes['MonthUsage']>, ParentType, ContextType>;
  overageCostUsd?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  period?: Resolver<ResolversTypes['UsagePeriod'], ParentType, ContextType>;
  plan?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  rateLimit?: Resolver<ResolversTypes['RateLimit'], ParentType, ContextType>;
  retrievals?: Resolver<ResolversTypes['UsageCount'], ParentType, ContextType>;
  stores?: Resolver<ResolversTypes['UsageCount'], ParentType, ContextType>;
};

export type UsageCountResolvers<ContextType = Context, ParentType extends ResolversParentTypes['UsageCount'] = ResolversParentTypes['UsageCount']> = {
  limit?: Resolver<Maybe<ResolversTypes['SafeInt']>, ParentType, ContextType>;
  overage?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  remaining?: Resolver<Maybe<ResolversTypes['SafeInt']>, ParentType, ContextType>;
  used?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type UsagePeriodResolvers<ContextType = Context, ParentType extends ResolversParentTypes['UsagePeriod'] = ResolversParentTypes['UsagePeriod']> = {
  end?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  start?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type Resolvers<ContextType = Context> = {
  Account?: AccountResolvers<ContextType>;
  ApiKey?: ApiKeyResolvers<ContextType>;
  ApiKeyConnection?: ApiKeyConnectionResolvers<ContextType>;
  ApiKeyEdge?: ApiKeyEdgeResolvers<ContextType>;
  ApiKeyScope?: ApiKeyScopeResolvers;
  AuditEntry?: AuditEntryResolvers<ContextType>;
  AuditEntryEdge?: AuditEntryEdgeResolvers<ContextType>;
  AuditLogConnection?: AuditLogConnectionResolvers<ContextType>;
  CreateApiKeyPayload?: CreateApiKeyPayloadResolvers<ContextType>;
  DateTime?: GraphQLScalarType;
  DeleteMemoryPayload?: DeleteMemoryPayloadResolvers<ContextType>;
  Health?: HealthResolvers<ContextType>;
  HealthChecks?: HealthChecksResolvers<ContextType>;
  JSONObject?: GraphQLScalarType;
  Memory?: MemoryResolvers<ContextType>;
  MemoryConnection?: MemoryConnectionResolvers<ContextType>;
  MemoryEdge?: MemoryEdgeResolvers<ContextType>;
  MemoryVersion?: MemoryVersionResolvers<ContextType>;
  MonthUsage?: MonthUsageResolvers<ContextType>;
  Mutation?: MutationResolvers<ContextType>;
  OveragePrices?: OveragePricesResolvers<ContextType>;
  PageInfo?: PageInfoResolvers<ContextType>;
  PlanLimits?: PlanLimitsResolvers<ContextType>;
  Query?: QueryResolvers<ContextType>;
  RateLimit?: RateLimitResolvers<ContextType>;
  RecordCiEventPayload?: RecordCiEventPayloadResolvers<ContextType>;
  RevokeApiKeyPayload?: RevokeApiKeyPayloadResolvers<ContextType>;
  RotateApiKeyPayload?: RotateApiKeyPayloadResolvers<ContextType>;
  SafeInt?: GraphQLScalarType;
  ScoreExplanation?: ScoreExplanationResolvers<ContextType>;
  SearchHit?: SearchHitResolvers<ContextType>;
  SearchMemoriesPayload?: SearchMemoriesPayloadResolvers<ContextType>;
  StoreMemoryPayload?: StoreMemoryPayloadResolvers<ContextType>;
  UpdateMemoryPayload?: UpdateMemoryPayloadResolvers<ContextType>;
  Usage?: UsageResolvers<ContextType>;
  UsageCount?: UsageCountResolvers<ContextType>;
  UsagePeriod?: UsagePeriodResolvers<ContextType>;
};

