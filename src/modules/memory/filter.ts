import type { FilterInput } from './input.ts';
import { accountToken, archivedToken, sessionToken, tagToken, tierToken, typeToken, type Visibility } from './scope.ts';

/** Which memories a read speaks of: what the caller may see, narrowed by what was asked for. */
export interface MemoryFilter extends Omit<FilterInput, 'userId'> {
  readonly visibility: Visibility;
}

/**
 * The filter as conditions on `m`, joined by AND: constant text only, the values go in as parameters.
 * `indexed` are those that the vector index can check inside (no lists), `rest` the others.
 */
export function conditionsOf(filter: MemoryFilter): { indexed: string[]; rest: string[]; parameters: Record<string, unknown> } {
  const { visibility, sessionId, tiers, type, tags, createdAfter, createdBefore, archived } = filter;
  const indexed = [visibility.scopes ? 'm.scope IN $scopes' : 'm.accountId = $accountId', 'm.archived = $archived', 'm.expiresAt > $now'];
  if (tiers) indexed.push('m.tier IN $tiers');
  if (type !== undefined) indexed.push('m.type = $type');
  if (sessionId !== undefined) indexed.push('m.sessionId = $sessionId');
  if (createdAfter !== undefined) indexed.push('m.createdAt > $createdAfter');
  if (createdBefore !== undefined) indexed.push('m.createdAt < $createdBefore');
  const rest = visibility.scopes ? ['m.accountId = $accountId'] : [];
  if (tags?.length) rest.push('all(tag IN $tags WHERE tag IN m.tags)');
  return {
    indexed,
    rest,
    parameters: {
      accountId: visibility.accountId,
      scopes: visibility.scopes,
      archived,
      tiers: tiers ?? null,
      type: type ?? null,
      sessionId: sessionId ?? null,
      createdAfter: createdAfter?.getTime() ?? null,
      createdBefore: createdBefore?.getTime() ?? null,
      tags: tags ?? [],
    },
  };
}

/** The words under which a memory's full-text entry is found by filters; see `lucenePrefixOf`. */
export function facetsOf(memory: {
  accountId: string;
  scope: string;
  tier: number;
  type: string;
  tags: readonly string[];
  sessionId: string | null;
  archived: boolean;
}): string[] {
  const { accountId, scope, tier, type, tags, sessionId, archived } = memory;
  return [
    accountToken(accountId),
    scope,
    tierToken(tier),
    typeToken(accountId, type),
    archivedToken(archived),
    ...(sessionId === null ? [] : [sessionToken(accountId, sessionId)]),
    ...tags.map((tag) => tagToken(accountId, tag)),
  ];
}

/** The filter in Lucene syntax, made of hashed tokens alone; `^0` keeps their rarity out of the score. Times can't be in it. */
export function lucenePrefixOf({ visibility, tiers, type, tags, sessionId, archived }: MemoryFilter): string {
  const { accountId } = visibility;
  const any = (tokens: readonly string[]) => `+facets:(${tokens.join(' ')})^0`;
  return [
    any(visibility.scopes ?? [accountToken(accountId)]),
    any([archivedToken(archived)]),
    ...(tiers ? [any(tiers.map(tierToken))] : []),
    ...(type === undefined ? [] : [any([typeToken(accountId, type)])]),
    ...(sessionId === undefined ? [] : [any([sessionToken(accountId, sessionId)])]),
    ...(tags ?? []).map((tag) => any([tagToken(accountId, tag)])),
  ].join(' ');
}
