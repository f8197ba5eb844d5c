import { startTcpProxy } from './tcp-proxy.ts';

/** When a connection is cut, seen from the transaction that runs the statement that is waited for. */
export type Moment =
  /** The server has the statement, and its answer is never passed on. */
  | 'while running'
  /** The client asked to commit, or for the result of a statement that commits by itself, and the server never hears of it. */
  | 'before commit'
  /** The server has committed and said so, and its answer is never passed on. */
  | 'after commit';

/** Stands between a service and Neo4j and cuts connections at moments that a network cut would hit only by chance. */
export interface BoltProxy {
  readonly uri: string;
  /** Cuts the next connection that gets to this moment with all of these texts in its statements and their parameters; settles when it is cut. */
  cut(moment: Moment, ...texts: readonly string[]): Promise<void>;
  /** Cuts every connection that there is now. */
  cutAll(): void;
  close(): Promise<void>;
}

interface Trap {
  readonly moment: Moment;
  readonly texts: readonly string[];
  readonly sprung: () => void;
}

const TAG = { goodbye: 0x02, reset: 0x0f, run: 0x10, begin: 0x11, commit: 0x12, rollback: 0x13, pull: 0x3f, record: 0x71 } as const;
/** Magic number and four versions, and later the version that was chosen with its capabilities. */
const HANDSHAKE = { proposal: 20, choice: 5 } as const;
/** The client's first proposal when it lets the server list its versions and chooses itself. */
const MANIFEST = 0x000001ff;

export async function startBoltProxy(target: string): Promise<BoltProxy> {
  const { hostname, port } = new URL(target);
  const traps: Trap[] = [];

  const proxy = await startTcpProxy({ hostname, port: Number(port) }, (link) => {
    const { client, server } = link;
    for (const side of [client, server]) side.on('end', () => link.cut());
    function spring(trap: Trap): void {
      link.cut();
      trap.sprung();
      // The others that were set on this connection wait for another.
      traps.push(...waiting.filter((other) => other !== null));
    }
    function take(moment: Moment): Trap | undefined {
      const found = traps.findIndex((trap) => trap.moment === moment && trap.texts.every((text) => statements.includes(text)));
      return found < 0 ? undefined : traps.splice(found, 1)[0];
    }

    /** Requests that the server has not answered yet, in order; the trap that springs on the answer. */
    const waiting: (Trap | null)[] = [];
    /** What the transaction has run so far; outside of one, the statement that commits when its result is pulled. */
    let statements = '';
    let inTransaction = false;
    let handshake: number | null = null;
    const requests = createMessageReader((tag, payload, bytes) => {
      if (tag === TAG.begin) statements = '';
      if (tag === TAG.run) statements = (inTransaction ? statements : '') + payload.toString('latin1');
      const commits = tag === (inTransaction ? TAG.commit : TAG.pull);
      if (tag === TAG.begin) inTransaction = true;
      if (tag === TAG.commit || tag === TAG.rollback || tag === TAG.reset) inTransaction = false;
      const early = commits ? take('before commit') : undefined;
      if (early) return spring(early);
      const late = commits ? take('after commit') : tag === TAG.run ? take('while running') : undefined;
      if (tag !== TAG.goodbye) waiting.push(late ?? null);
      server.write(bytes);
    });
    const answers = createMessageReader((tag, _, bytes) => {
      const trap = tag === TAG.record ? null : waiting.shift();
      if (trap) return spring(trap);
      client.write(bytes);
    });

    client.on('data', (data) => {
      if (handshake === null) handshake = HANDSHAKE.proposal + (data.readUInt32BE(4) === MANIFEST ? HANDSHAKE.choice : 0);
      const head = data.subarray(0, handshake);
      handshake -= head.length;
      if (head.length > 0) server.write(head);
      requests(data.subarray(head.length));
    });
    // Until the client has chosen a version the server says nothing but its versions.
    server.on('data', (data) => (handshake === 0 && waiting.length > 0 ? answers(data) : client.write(data)));
  });

  return {
    uri: `bolt://127.0.0.1:${proxy.port}`,
    cut: (moment, ...texts) => new Promise((sprung) => traps.push({ moment, texts, sprung })),
    cutAll: () => proxy.links.forEach((link) => link.cut()),
    close: () => proxy.close(),
  };
}

/** Puts together Bolt's messages: chunks with two bytes of length each, ended by an empty one. Passes on the bytes as they came. */
function createMessageReader(onMessage: (tag: number, payload: Buffer, bytes: Buffer) => void): (data: Buffer) => void {
  let received = Buffer.alloc(0);
  return (data) => {
    received = Buffer.concat([received, data]);
    for (let end = endOfMessage(received); end !== null; end = endOfMessage(received)) {
      const bytes = received.subarray(0, end.at);
      received = received.subarray(end.at);
      onMessage(end.payload[1] ?? TAG.record, end.payload, bytes);
    }
  };
}

function endOfMessage(bytes: Buffer): { at: number; payload: Buffer } | null {
  const chunks: Buffer[] = [];
  for (let at = 0; at + 2 <= bytes.length;) {
    const length = bytes.readUInt16BE(at);
    at += 2;
    if (length === 0) return { at, payload: Buffer.concat(chunks) };
    if (at + length > bytes.length) return null;
    chunks.push(bytes.subarray(at, at + length));
    at += length;
  }
  return null;
}
