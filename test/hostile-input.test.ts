import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectNoFault, forEach, naughty, useUnharmed } from './testkit/naughty.ts';
import { useService } from './testkit/service.ts';

const service = useService();
const agent = useUnharmed(service);

const isUnicode = (text: string) => text.isWellFormed() && !text.includes('\0');
const fits = (text: string, maximum: number) => isUnicode(text) && text !== '' && [...text].length <= maximum;
/** Names that the JSON parser refuses because they could change objects. */
const isPoison = (text: string) => text === '__proto__';

/** What is wrong with a memory that has the text in every field. */
function wrongFields(text: string): string[] {
  return Object.entries({
    content: fits(text.trim(), 50_000),
    user_id: fits(text, 256),
    type: fits(text, 64),
    'tags.0': fits(text, 100),
    metadata: isUnicode(text) && Buffer.byteLength(JSON.stringify(memoryOf(text).metadata)) <= 16 * 1024,
    session_id: fits(text, 256),
  }).flatMap(([field, right]) => (right ? [] : [field]));
}

const memoryOf = (text: string) => ({
  content: text,
  user_id: text,
  type: text,
  tags: [text],
  metadata: { [text]: text, list: [text, { [text]: [text] }] },
  session_id: text,
});

describe('a text in every field of a memory', () => {
  it('is kept as it is and found again, or refused with the names of the fields that it does not fit', async () => {
    await forEach(
      [...new Set(naughty)].filter((text) => !isPoison(text)),
      async (text) => {
        const stored = await agent.post('/memory', memoryOf(text));
        expectNoFault(stored);
        const wrong = wrongFields(text);
        if (wrong.length > 0) {
          expect(stored.status, stored.story).toBe(400);
          const fields = stored.body.details.map(({ field }: { field: string }) => field);
          return expect(fields.sort(), stored.story).toEqual(wrong.sort());
        }
        expect(stored.body, stored.story).toEqual({ id: expect.any(String), stored: true });
        const expected = { ...memoryOf(text), content: text.trim(), id: stored.body.id };

        const got = await agent.get(`/memory/${stored.body.id}`, { user_id: text });
        expect(got.body, got.story).toMatchObject(expected);
        const filter = { user_id: text, type: text, session_id: text };
        const listed = await agent.get('/memory/list', filter);
        expect(listed.body.memories, listed.story).toEqual([expect.objectContaining(expected)]);
        const searched = await agent.get('/memory/search', { ...filter, q: text, explain: true });
        expect(searched.status, searched.story).toBe(200);
        expect(searched.body.memories, searched.story).toEqual([expect.objectContaining(expected)]);
        expect(searched.body.memories[0].score, searched.story).toBeGreaterThan(0.5);
      },
    );
  });

  it('so over GraphQL', async () => {
    await forEach(
      [...new Set(naughty)].filter((text, index) => !isPoison(text) && (index % 4 === 0 || !isUnicode(text))),
      async (text) => {
        const { user_id: userId, session_id: sessionId, ...rest } = memoryOf(`G${text}`);
        const input = { ...rest, userId, sessionId };
        const stored = await agent.graphql(
          'mutation ($input: StoreMemoryInput!) { storeMemory(input: $input) { stored memory { id content tags metadata } } }',
          {
            input,
          },
        );
        expectNoFault(stored);
        if (wrongFields(`G${text}`).length > 0) return expect(stored.body.errors?.[0].extensions.code, stored.story).toBe('INVALID_PARAMETER');
        const { tags, metadata } = input;
        expect(stored.body.data?.storeMemory, stored.story).toMatchObject({
          stored: true,
          memory: { content: input.content.trim(), tags, metadata },
        });
        const filter = { userId, type: input.type, tags, sessionId };
        const found = await agent.graphql(
          `query ($filter: MemoryFilter, $query: String!) {
           memories(filter: $filter) { nodes { id } }
           searchMemories(query: $query, filter: $filter) { hits { memory { id } } }
         }`,
          { filter, query: input.content },
        );
        const { id } = stored.body.data.storeMemory.memory;
        expect(found.body.data, found.story).toEqual({ memories: { nodes: [{ id }] }, searchMemories: { hits: [{ memory: { id } }] } });
      },
    );
  });

  it('so by PATCH', async () => {
    const id = await agent.store('A memory that is changed into anything');
    for (const text of [...new Set(naughty)].filter((entry, index) => !isPoison(entry) && (index % 5 === 0 || !isUnicode(entry)))) {
      const { content, type, tags, metadata } = memoryOf(`P${text}`);
      const change = { content, type, tags, metadata };
      const patched = await agent.patch(`/memory/${id}`, change);
      expectNoFault(patched);
      const wrong = wrongFields(`P${text}`).filter((field) => field !== 'user_id' && field !== 'session_id');
      expect(patched.status, patched.story).toBe(wrong.length > 0 ? 400 : 200);
      if (wrong.length > 0) continue;
      const got = await agent.get(`/memory/${id}`);
      expect(got.body, got.story).toMatchObject({ ...change, content: change.content.trim() });
      await agent.patch(`/memory/${id}`, { metadata: { [`P${text}`]: null } });
    }
  });

  it('of any kind (generated)', async () => {
    const seed = 20_261_117;
    console.log(`fast-check seed ${seed}`);
    const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 60 }), fc.string({ unit: 'grapheme', maxLength: 40 }), fc.string({ maxLength: 60 }));
    await fc.assert(
      fc.asyncProperty(text, fc.dictionary(text, fc.jsonValue({ maxDepth: 4 }), { maxKeys: 4 }), async (content, metadata) => {
        // JSON has no negative zero, and the service's parser refuses __proto__.
        const sent = JSON.parse(JSON.stringify(metadata)) as object;
        fc.pre(!JSON.stringify(sent).includes('__proto__') && !JSON.stringify(sent).includes('constructor'));
        const stored = await agent.post('/memory', { content, metadata: sent, user_id: 'generated' });
        expectNoFault(stored);
        const right = fits(content.trim(), 50_000) && isUnicode(JSON.stringify(sent)) && !/\\u0000|\\ud[89a-f]/i.test(JSON.stringify(sent));
        expect(stored.status, stored.story).toBe(right ? 200 : 400);
        if (stored.body.stored !== true) return;
        const got = await agent.get(`/memory/${stored.body.id}`);
        expect(got.body, got.story).toMatchObject({ content: content.trim() });
        expect(JSON.stringify(got.body.metadata), got.story).toBe(JSON.stringify(sent));
        const searched = await agent.get('/memory/search', { q: content, user_id: 'generated' });
        expectNoFault(searched);
      }),
      { seed, numRuns: 40 },
    );
  });
});

describe('a text where something else is expected', () => {
  it('as an id in the path is not found, or is another path', async () => {
    await forEach(
      [...new Set(naughty)].filter((text) => text.isWellFormed() && !/^\.{0,2}$/.test(text)),
      async (text, index) => {
        const method = (['GET', 'PATCH', 'DELETE'] as const)[index % 3]!;
        const reply = await agent.send(method, `/memory/${encodeURIComponent(text)}`, method === 'PATCH' ? { type: 'x' } : undefined);
        expectNoFault(reply);
        expect(reply.status, reply.story).toBe(404);
      },
    );
  });

  it('as an id of any length is not found', async () => {
    for (const length of [100, 1_000, 8_192, 8_193, 16_000, 60_000])
      for (const method of ['GET', 'DELETE']) {
        const reply = await agent.send(method, `/memory/${'a'.repeat(length)}`);
        expect(reply.status, `${method}, ${length}: ${reply.story}`).toBe(404);
      }
    const reply = await agent.graphql('query ($id: ID!) { memory(id: $id) { id } }', { id: 'a'.repeat(500_000) });
    expect(reply.body, reply.story).toEqual({ data: { memory: null } });
    for (const mutation of ['updateMemory(id: $id, input: { type: "x" }) { id }', 'deleteMemory(id: $id) { id }']) {
      const refused = await agent.graphql(`mutation ($id: ID!) { ${mutation} }`, { id: 'a'.repeat(500_000) });
      expect(refused.body.errors?.[0].extensions.code, refused.story).toBe('NOT_FOUND');
    }
  });

  it('as a source id is refused by its name, and as it was given', async () => {
    await forEach(
      [...new Set(naughty)].filter((text) => fits(text, 64)),
      async (text) => {
        const reply = await agent.post('/memory', { content: 'Derived from nothing', source_ids: [text] });
        expectNoFault(reply);
        expect(reply.status, reply.story).toBe(400);
        expect(reply.body.details, reply.story).toEqual([{ field: 'source_ids.0', message: `must name a memory that you can see; got ${text}` }]);
      },
    );
  });

  it('as a cursor, time, number or flag is a 400 that names it, or fits', async () => {
    const parameters = ['cursor', 'after', 'before', 'limit', 'offset', 'tier', 'tiers', 'archived', 'sort', 'count_only'];
    const ofSearch = ['min_score', 'explain', 'limit', 'tiers', 'before'];
    await forEach(
      [...new Set(naughty)].filter((text) => text.isWellFormed()),
      async (text, index) => {
        const name = parameters[index % parameters.length]!;
        const listed = await agent.get('/memory/list', { [name]: text, user_id: 'nobody' });
        expectNoFault(listed);
        if (listed.status !== 200) expect(listed.body.details?.[0].field.split('.')[0], listed.story).toBe(name);
        const other = ofSearch[index % ofSearch.length]!;
        const searched = await agent.get('/memory/search', { q: 'x', [other]: text, user_id: 'nobody' });
        expectNoFault(searched);
        if (searched.status !== 200) expect(searched.body.details?.[0].field.split('.')[0], searched.story).toBe(other);
      },
    );
    for (const place of ['null', '[]', '[1,2,3]', '["",-1,""]', '["x",1e400,"y"]', '{"length":3}', '"x"'])
      expect((await agent.get('/memory/list', { cursor: Buffer.from(place).toString('base64url') })).status).toBe(400);
  });

  it('as a GraphQL document, its variables or its operation name is no fault', async () => {
    await forEach([...new Set(naughty)], async (text, index) => {
      const bodies = [
        { query: text },
        { query: '{ health { status } }', operationName: text },
        { query: '{ health { status } }', variables: text },
        { query: `{ memory(id: ${JSON.stringify(text)}) { id } }` },
        { query: `{ ${text} }` },
        { query: 'query ($after: String) { memories(after: $after) { nodes { id } } }', variables: { after: text } },
        {
          query: 'query ($f: MemoryFilter) { memories(filter: $f) { nodes { id } } }',
          variables: { f: { createdAfter: text, tiers: [text], [text]: text } },
        },
      ];
      expectNoFault(await agent.post('/graphql', bodies[index % bodies.length]));
      expectNoFault(await agent.post('/graphql', bodies[(index + 3) % bodies.length]));
    });
  });
});

describe('a value of a wrong type', () => {
  const values: readonly unknown[] = [
    null, true, false, 0, -1, 1.5, 7, 1e21, 1e308, -1e308, 2 ** 53, '', ' ', '1', 'x', [], {}, [[]], [{}], [null], [1], [true], ['a', 1], [['a']],
    { a: 1 }, { length: 1 }, { toString: 1 }, { toJSON: 'x' }, Array.from({ length: 200 }, (_, index) => `t${index}`), { deep: { deep: { deep: [[[]]] } } },
  ]; // prettier-ignore

  it('in any field of a store or a change is a 400 that names the field, or fits', async () => {
    const id = await agent.store('A memory for wrong values');
    const fields = ['content', 'user_id', 'tier', 'type', 'tags', 'metadata', 'session_id', 'occurred_at', 'expires_at', 'source_ids', 'archived'];
    const pairs = fields.flatMap((field) => values.map((value) => ({ field, value })));
    await forEach(pairs, async ({ field, value }, index) => {
      const stored = await agent.post('/memory', { content: `Wrong ${field} ${index}`, [field]: value });
      expectNoFault(stored);
      if (stored.status !== 200) expect(stored.body.details?.[0].field.split('.')[0], stored.story).toBe(field);
      const patched = await agent.patch(`/memory/${id}`, { metadata: { index }, [field]: value });
      expectNoFault(patched);
      if (patched.status === 400) expect(patched.body.details?.[0].field.split('.')[0], patched.story).toBe(field);
    });
  });

  it('in any variable of GraphQL is an error of the caller, or fits', async () => {
    const id = await agent.store('Another memory for wrong values');
    const fields = ['content', 'userId', 'tier', 'type', 'tags', 'metadata', 'sessionId', 'occurredAt', 'expiresAt', 'sourceIds'];
    const operations = [
      (field: string, value: unknown) =>
        ['mutation ($i: StoreMemoryInput!) { storeMemory(input: $i) { id } }', { i: { content: 'x', [field]: value } }] as const,
      (field: string, value: unknown) =>
        ['mutation ($id: ID!, $i: UpdateMemoryInput!) { updateMemory(id: $id, input: $i) { id } }', { id, i: { [field]: value } }] as const,
      (field: string, value: unknown) => ['query ($f: MemoryFilter) { memories(filter: $f) { totalCount } }', { f: { [field]: value } }] as const,
      (_: string, value: unknown) =>
        [
          'query ($q: String!, $n: Int!, $m: Float) { searchMemories(query: $q, first: $n, minScore: $m) { count } }',
          { q: value, n: value, m: value },
        ] as const,
      (_: string, value: unknown) =>
        [
          'query ($n: Int!, $o: Int, $a: String) { memories(first: $n, offset: $o, after: $a) { totalCount nodes { id } } }',
          { n: value, o: value, a: value },
        ] as const,
      (_: string, value: unknown) => ['query ($id: ID!, $u: String) { memory(id: $id, userId: $u) { id } }', { id: value, u: value }] as const,
    ];
    const pairs = fields.flatMap((field) => values.map((value) => ({ field, value })));
    await forEach(pairs, async ({ field, value }, index) => {
      const [query, variables] = operations[index % operations.length]!(field, value);
      const reply = await agent.graphql(query, variables);
      expectNoFault(reply);
      for (const { extensions } of reply.body.errors ?? []) expect(extensions.status, reply.story).toBeLessThan(500);
    });
    for (const time of [
      0,
      -1,
      8.64e15,
      8.64e15 + 1,
      1e300,
      '+275760-09-13T00:00:00Z',
      '9999-12-31T23:59:59.999Z',
      '0000-01-01T00:00:00Z',
      '2026-02-30T00:00:00Z',
    ]) {
      const reply = await agent.graphql('mutation ($i: StoreMemoryInput!) { storeMemory(input: $i) { memory { occurredAt expiresAt } } }', {
        i: { content: `At ${time}`, occurredAt: time, expiresAt: time },
      });
      expectNoFault(reply);
      for (const { extensions } of reply.body.errors ?? []) expect(extensions.status, reply.story).toBe(400);
    }
  });

  it('as the whole body is a 400', async () => {
    const bodies = [
      'null', 'true', '1', '"x"', '[]', '[{"content":"x"}]', ' ', '{', '}', '{"content"', '{"content":}', '{"content":"x"}x', '{"content":"x",}', "{'content':'x'}",
      '{content:"x"}', '{"content":NaN}', '{"content":undefined}', '/**/{"content":"x"}', '{"content":"x"/**/}', '{"content":"\n"}', '{"content":"\\x"}', '{"content":"\\u12"}',
      '{"__proto__":{"content":"x"}}', '{"content":"x","__proto__":{"admin":true}}', '{"content":"x","metadata":{"__proto__":{"a":1}}}',
      '{"content":"x","constructor":{"prototype":{"a":1}}}', '\u0000{"content":"x"}', '{"content":"x"}\u0000', '{"content":"x","tier":1e400}', '{"content":"x","metadata":{"n":1e400}}',
    ]; // prettier-ignore
    for (const body of bodies) {
      const reply = await agent.send('POST', '/memory', body);
      expectNoFault(reply);
      expect(reply.status, reply.story).toBe(400);
      expectNoFault(await agent.send('POST', '/graphql', body));
    }
    expect(({} as Record<string, unknown>)['admin'], 'no prototype was changed').toBeUndefined();
  });

  it('for two fields of one name the last one counts', async () => {
    const reply = await agent.send('POST', '/memory', '{"content":"the first","content":"the last"}');
    expect(reply.status, reply.story).toBe(200);
    expect((await agent.get(`/memory/${reply.body.id}`)).body.content).toBe('the last');
  });

  it('nested 100,000 levels deep is a 400 at once, wherever it is', async () => {
    const arrays = '['.repeat(100_000) + ']'.repeat(100_000);
    const objects = '{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000);
    const started = performance.now();
    for (const deep of [arrays, objects, '['.repeat(500_000)]) {
      for (const body of [
        deep,
        `{"content":${deep}}`,
        `{"content":"x","tags":${deep}}`,
        `{"content":"x","metadata":{"a":${deep}}}`,
        `{"content":"x","source_ids":[${deep}]}`,
      ]) {
        const reply = await agent.send('POST', '/memory', body);
        expectNoFault(reply);
        expect(reply.status, reply.story.slice(0, 1_000)).toBe(400);
      }
      expectNoFault(await agent.send('POST', '/memory', `{"content":"with something unknown","unknown":${deep}}`));
      for (const variables of [
        deep,
        `{"i":${deep}}`,
        `{"i":{"content":${deep}}}`,
        `{"i":{"content":"x","metadata":{"a":${deep}}}}`,
        `{"i":{"content":"x","tags":${deep}}}`,
      ]) {
        const query = 'mutation ($i: StoreMemoryInput!) { storeMemory(input: $i) { id } }';
        expectNoFault(await agent.send('POST', '/graphql', `{"query":"${query}","variables":${variables}}`));
      }
    }
    for (const document of [
      '{a'.repeat(3_900),
      `{memory(id:${'['.repeat(3_900)}`,
      `mutation{storeMemory(input:{content:"x",metadata:${'{a:'.repeat(1_200)}1${'}'.repeat(1_200)}}){id}}`,
      `query($a:${'['.repeat(1_900)}Int${']'.repeat(1_900)}){health{status}}`,
    ])
      expectNoFault(await agent.post('/graphql', { query: document }));
    expect(performance.now() - started).toBeLessThan(15_000);
  });

  it('in a document of thirty parts and a text of many windows leaks no listener', async () => {
    const warnings: string[] = [];
    const note = (warning: Error) => warnings.push(warning.name);
    process.on('warning', note);
    const parts = Array.from({ length: 30 }, (_, index) => `m${index}: memory(id: "x${index}") { id } `);
    expectNoFault(await agent.graphql(`{ ${parts.join('')} }`));
    await agent.store({ content: 'several different words here '.repeat(1_500), user_id: 'windows' });
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });

  it('of 50,000 characters in one word is stored, found and no burden', async () => {
    for (const text of ['x'.repeat(50_000), '語'.repeat(50_000)]) {
      const started = performance.now();
      const reply = await agent.post('/memory', { content: text, user_id: 'long' });
      expect(reply.status, reply.story).toBe(200);
      expect((await agent.get(`/memory/${reply.body.id}`)).body.content).toBe(text);
      const searched = await agent.get('/memory/search', { q: text.slice(0, 2_00), user_id: 'long' });
      expect(searched.status, searched.story).toBe(200);
      expect(performance.now() - started, JSON.stringify(text.slice(0, 2))).toBeLessThan(20_000);
    }
  });
});
