import { beforeAll, describe, expect, it } from 'vitest';
import type { Mutation, Query } from '../src/generated/resolvers.ts';
import { createSchema } from '../src/graphql/schema.ts';
import { type Scope, SCOPES } from '../src/modules/access/principal.ts';
import { type Operation, requireScopes, SCOPE_OF } from '../src/modules/access/scopes.ts';
import { routes } from '../src/rest/routes.ts';
import type { Client, Reply } from './testkit/client.ts';
import { useService } from './testkit/service.ts';

const service = useService();

type RootField = Exclude<keyof Query | keyof Mutation, '__typename'>;

/** What a key may do over the API, written down once more: the table is what is tested. */
const EXPECTED: Record<RootField, Scope | null> = {
  searchMemories: 'memory:read',
  memory: 'memory:read',
  memories: 'memory:read',
  usage: 'memory:read',
  storeMemory: 'memory:write',
  updateMemory: 'memory:write',
  restoreMemory: 'memory:write',
  recordCiEvent: 'memory:write',
  deleteMemory: 'memory:delete',
  account: 'admin',
  apiKeys: 'admin',
  auditLog: 'admin',
  createApiKey: 'admin',
  rotateApiKey: 'admin',
  revokeApiKey: 'admin',
  health: null,
};

interface Target {
  /** A memory, or a key, that is there for this call alone. */
  readonly id: string;
}

/** How each operation is called so that it succeeds when the scope allows it. */
const GRAPHQL: Record<RootField, string> = {
  searchMemories: '{ searchMemories(query: "scopes") { count } }',
  memory: 'query ($id: ID!) { memory(id: $id) { id history { version } } }',
  memories: '{ memories { nodes { id } } }',
  usage: '{ usage { plan } }',
  storeMemory: 'mutation { storeMemory(input: { content: "Stored over GraphQL" }) { id } }',
  updateMemory: 'mutation ($id: ID!) { updateMemory(id: $id, input: { tier: 3 }) { version } }',
  restoreMemory: 'mutation ($id: ID!) { restoreMemory(id: $id, version: 1) { version } }',
  recordCiEvent: 'mutation { recordCiEvent(input: { content: "Deployed" }) { id } }',
  deleteMemory: 'mutation ($id: ID!) { deleteMemory(id: $id) { deleted } }',
  account: '{ account { name } }',
  apiKeys: '{ apiKeys { nodes { id } } }',
  auditLog: '{ auditLog { nodes { id } } }',
  createApiKey: 'mutation { createApiKey(input: { name: "new" }) { apiKey { id } } }',
  rotateApiKey: 'mutation ($id: ID!) { rotateApiKey(id: $id, graceSeconds: 0) { apiKey { id } } }',
  revokeApiKey: 'mutation ($id: ID!) { revokeApiKey(id: $id) { apiKey { id } } }',
  health: '{ health { status } }',
};

const REST: Record<string, (client: Client, target: Target) => Promise<Reply>> = {
  'POST /memory': (client) => client.post('/memory', { content: 'Stored over REST' }),
  'GET /memory/search': (client) => client.get('/memory/search', { q: 'scopes' }),
  'GET /memory/list': (client) => client.get('/memory/list'),
  'GET /memory/{id}': (client, { id }) => client.get(`/memory/${id}`),
  'PATCH /memory/{id}': (client, { id }) => client.patch(`/memory/${id}`, { tier: 3 }),
  'GET /memory/{id}/history': (client, { id }) => client.get(`/memory/${id}/history`),
  'POST /memory/{id}/restore': (client, { id }) => client.post(`/memory/${id}/restore`, { version: 1 }),
  'DELETE /memory/{id}': (client, { id }) => client.delete(`/memory/${id}`),
  'POST /webhook/ci': (client) => client.post('/webhook/ci', { content: 'Deployed' }),
  'GET /usage': (client) => client.get('/usage'),
  'GET /health': (client) => client.get('/health'),
};

/** Every set of scopes, the empty one included. */
const SUBSETS = Array.from({ length: 2 ** SCOPES.length }, (_, bits) => SCOPES.filter((_, index) => bits & (1 << index)));
const CONSUMED: readonly Operation[] = ['deleteMemory', 'rotateApiKey', 'revokeApiKey'];

let admin: Client;
let kept: string;
/** A client for each of SUBSETS. */
let clients: readonly Client[];
beforeAll(async () => {
  admin = await service.newAccount();
  kept = await admin.store('A memory that is asked for with many keys');
  clients = await Promise.all(SUBSETS.map((scopes) => service.newKey(admin, { scopes })));
});

async function targetOf(operation: Operation): Promise<Target> {
  if (!CONSUMED.includes(operation)) return { id: kept };
  if (operation === 'deleteMemory') return { id: await admin.store(`To be deleted: ${Math.random()}`) };
  return { id: (await service.newKey(admin, { scopes: [] })).keyId };
}

const isAllowed = (scopes: readonly Scope[], needed: Scope | null) => needed === null || scopes.includes(needed) || scopes.includes('admin');
const refusal = (scopes: readonly Scope[], needed: Scope | null) => `This key lacks the scope ${needed}; it has ${scopes.join(', ') || 'none'}`;

describe('the table of scopes', () => {
  it('is the one that is documented', () => {
    expect(SCOPE_OF).toEqual(EXPECTED);
  });

  it('has to name every operation, or the service does not start', () => {
    const schema = createSchema();
    expect(() => requireScopes(schema)).not.toThrow();
    const fields = schema.getMutationType()!.getFields();
    fields['forgetEverything'] = fields['deleteMemory']!;
    expect(() => requireScopes(schema)).toThrow('No scope is decided for forgetEverything');
  });

  it('is what OpenAPI says of each route', async () => {
    const { paths } = (await admin.get('/openapi.json')).body;
    for (const { method, path, operation } of routes) {
      const scope = EXPECTED[operation];
      expect(paths[path][method.toLowerCase()].security, `${method} ${path}`).toEqual([{ apiKey: scope === null ? [] : [scope] }]);
    }
  });
});

describe.concurrent('over GraphQL', () => {
  it.each(Object.keys(GRAPHQL) as RootField[])('%s is for the keys that have its scope, and for no others', async (operation) => {
    for (const [index, scopes] of SUBSETS.entries()) {
      const reply = await clients[index]!.graphql(GRAPHQL[operation], { ...(await targetOf(operation)) });
      expect(reply.status, reply.story).toBe(200);
      if (isAllowed(scopes, EXPECTED[operation])) {
        expect(reply.body.errors, reply.story).toBeUndefined();
        expect(reply.body.data[operation], reply.story).toBeTruthy();
      } else
        expect(reply.body.errors, reply.story).toMatchObject([
          { message: refusal(scopes, EXPECTED[operation]), extensions: { code: 'FORBIDDEN', status: 403 } },
        ]);
    }
    const anonymous = await fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: GRAPHQL[operation], variables: { id: kept } }),
    });
    expect(anonymous.status).toBe(401);
    expect(await anonymous.json()).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED', status: 401 } }] });
  });
});

describe.concurrent('over REST', () => {
  it('every route is asked', () => {
    expect(Object.keys(REST).sort()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).sort());
  });

  it.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    '%s is for the keys that have its scope, and for no others',
    async (name, { method, path, operation }) => {
      const needed = EXPECTED[operation];
      for (const [index, scopes] of SUBSETS.entries()) {
        const reply = await REST[name]!(clients[index]!, await targetOf(operation));
        if (isAllowed(scopes, needed)) expect(reply.status, reply.story).toBe(200);
        else {
          expect(reply.status, reply.story).toBe(403);
          expect(reply.body, reply.story).toMatchObject({ error: refusal(scopes, needed), code: 'forbidden' });
        }
      }
      const body = method === 'GET' || method === 'DELETE' ? {} : { headers: { 'content-type': 'application/json' }, body: '{}' };
      const anonymous = await fetch(service.url + path.replace('{id}', kept), { method, ...body });
      expect(anonymous.status).toBe(401);
      expect(await anonymous.json()).toMatchObject({ code: 'unauthenticated' });
    },
  );
});
