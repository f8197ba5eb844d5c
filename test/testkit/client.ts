import { inParallel } from '../../bench/load.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: any;
  /** What to print when an expectation about it fails. */
  readonly story: string;
}

type Query = Readonly<Record<string, string | number | boolean>>;

/** A caller of the service with one API key, over REST and GraphQL. */
export class Client {
  readonly url: string;
  readonly key: string;
  readonly account: { id: string; name: string };
  readonly keyId: string;

  constructor(url: string, key: string, account: { id: string; name: string }, keyId: string) {
    this.url = url;
    this.key = key;
    this.account = account;
    this.keyId = keyId;
  }

  get = (path: string, query: Query = {}) => this.send('GET', withQuery(path, query));
  post = (path: string, body: unknown) => this.send('POST', path, body);
  patch = (path: string, body: unknown, query: Query = {}) => this.send('PATCH', withQuery(path, query), body);
  delete = (path: string, query: Query = {}) => this.send('DELETE', withQuery(path, query));

  /** Any request; a string as body goes as it is. */
  async send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Reply> {
    const response = await fetch(this.url + path, {
      method,
      redirect: 'manual',
      headers: { authorization: `Bearer ${this.key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const parsed: unknown = text !== '' && response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text;
    const story = `${method} ${path.slice(0, 300)} ${JSON.stringify(body)?.slice(0, 300)} → ${response.status} ${text.slice(0, 600)} (${response.headers.get('x-request-id')})`;
    return { status: response.status, headers: response.headers, body: parsed, story };
  }

  graphql(query: string, variables: Record<string, unknown> = {}): Promise<Reply> {
    return this.send('POST', '/graphql', { query, variables });
  }

  /** Stores a memory and returns its id. Throws when it is refused. */
  async store(memory: string | Record<string, unknown>): Promise<string> {
    const reply = await this.post('/memory', typeof memory === 'string' ? { content: memory } : memory);
    if (reply.status !== 200) throw new Error(reply.story);
    return reply.body.id;
  }

  /** Stores memories, a few at a time, so that the last is in time on a slow machine too; returns their ids in order. */
  async storeAll(memories: readonly (string | Record<string, unknown>)[]): Promise<string[]> {
    const ids: string[] = [];
    await inParallel(8, memories.entries(), async ([at, memory]) => {
      ids[at] = await this.store(memory);
    });
    return ids;
  }

  /** The contents of the hits of a search. */
  async found(q: string, query: Query = {}): Promise<string[]> {
    const reply = await this.get('/memory/search', { q, ...query });
    if (reply.status !== 200) throw new Error(reply.story);
    return reply.body.memories.map(({ content }: { content: string }) => content);
  }
}

function withQuery(path: string, query: Query): string {
  const text = new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)])).toString();
  return text ? `${path}?${text}` : path;
}
