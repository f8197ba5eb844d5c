import { timingSafeEqual } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { type Deadline, deadlineIn, raceDeadline } from '../../deadline.ts';
import { unauthenticated, unavailable } from '../../errors.ts';
import { hashApiKey, isApiKey } from './key.ts';
import type { Principal } from './principal.ts';
import type { KeyUses } from './key-uses.ts';
import type { AccessStore, ApiKey } from './store.ts';

/** A key is looked up again after this many milliseconds, so that revoking one counts within a second. */
const CACHE_MILLISECONDS = 800;
const CACHE_ENTRIES = 10_000;
/** Look-ups under way at once: keys that nobody was given are looked up before any limit counts, and must leave the database to the others. */
const LOOK_UPS = 64;
/** Milliseconds within which a key must be found, and after which a look-up that got no answer is made once more beside it. */
const LOOK_UP_TIME = 5_000;
const LOOK_UP_AGAIN = 1_000;
/** Milliseconds after which who is let in by what was seen last waits no longer for a look-up. */
const STALE_AFTER = 1_000;

export interface Authenticator {
  /**
   * The caller behind an Authorization header. Throws 401, or 503 when the key can't be looked up by the deadline; with
   * `acceptStale` a key that was valid when it was last seen here is then still let in.
   */
  authenticate(authorization: string | undefined, options: { deadline: Deadline; acceptStale: boolean }): Promise<Principal>;
}

/** What is known of a key's hash; null: nobody was given that key. */
interface Known {
  readonly found: { readonly principal: Principal; readonly key: ApiKey } | null;
}

/** Looks keys up by their hash, compares in constant time, and keeps what it found for less than a second. */
export function createAuthenticator(store: AccessStore, uses: KeyUses): Authenticator {
  let lookUps = 0;
  const cache = new LRUCache<string, Known>({
    max: CACHE_ENTRIES,
    ttl: CACHE_MILLISECONDS,
    noDeleteOnFetchRejection: true,
    // What is looked up while its place is given to another key is answered all the same.
    ignoreFetchAbort: true,
    fetchMethod: async (hash, _stale, { options }) => {
      if (lookUps >= LOOK_UPS) throw unavailable('Too many API keys are being looked up; try again');
      lookUps++;
      const askedAt = performance.now();
      try {
        const found = await insist((time) => store.findKey(hash, deadlineIn(time)));
        if (!found || !timingSafeEqual(Buffer.from(found.hash), Buffer.from(hash))) return { found: null };
        const { key, account } = found;
        return { found: { key, principal: { account, keyId: key.id, keyHint: key.hint, scopes: key.scopes, boundUserId: key.userId } } };
      } finally {
        lookUps--;
        // It is as old as the question, not as the answer.
        options.ttl = Math.max(1, CACHE_MILLISECONDS - (performance.now() - askedAt));
      }
    },
  });

  return {
    async authenticate(authorization, { deadline, acceptStale }) {
      if (!authorization) throw unauthenticated();
      const token = /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
      if (!token) throw unauthenticated('The Authorization header must read: Bearer <API_KEY>');
      if (!isApiKey(token)) throw unauthenticated('This is not a valid API key (its form or checksum is wrong)');
      const hash = hashApiKey(token);
      const seen = acceptStale ? cache.peek(hash, { allowStale: true }) : undefined;
      const fetched = raceDeadline(cache.fetch(hash, { allowStaleOnFetchRejection: acceptStale }), deadline);
      const found = (await (seen ? Promise.race([fetched, delay(STALE_AFTER, seen, { ref: false })]) : fetched))?.found;
      if (!found) throw unauthenticated('This API key is not known');
      if (found.key.revokedAt !== null) throw unauthenticated('This API key was revoked');
      if (found.key.expiresAt !== null && found.key.expiresAt <= Date.now()) throw unauthenticated('This API key has expired');
      uses.note(found.principal.account.id, found.key.id);
      return found.principal;
    },
  };
}

/** Everyone with the key waits for the same look-up, and the connection that it is made over may have fallen silent. */
async function insist<T>(lookUp: (time: number) => Promise<T>): Promise<T> {
  const answered = new AbortController();
  const { signal } = answered;
  const later = Array.from({ length: LOOK_UP_TIME / LOOK_UP_AGAIN - 1 }, (_, at) => LOOK_UP_AGAIN * (at + 1));
  try {
    return await Promise.race([
      lookUp(LOOK_UP_TIME),
      ...later.map((wait) => delay(wait, undefined, { signal }).then(() => lookUp(LOOK_UP_TIME - wait))),
    ]);
  } finally {
    answered.abort();
  }
}
