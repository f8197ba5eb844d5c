import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Link, startTcpProxy } from './tcp-proxy.ts';

/** What a network does to connections. */
export type Fault =
  /** Every byte comes later. */
  | 'latency'
  /** Few bytes a second pass. */
  | 'narrow'
  /** Connections are closed, and new ones with their first byte. */
  | 'cut'
  /** The same with a reset instead of a close. */
  | 'reset'
  /** Bytes vanish. The connection that lost some stays, and says nothing ever after. */
  | 'half-open'
  /** Bytes vanish, and the connection that lost some is closed after a while. */
  | 'slow close'
  /** Half of an answer comes, and then the connection is closed. */
  | 'truncation'
  /** Connections are closed, and nobody listens. */
  | 'refusal';

export const FAULTS: readonly Fault[] = ['latency', 'narrow', 'cut', 'reset', 'half-open', 'slow close', 'truncation', 'refusal'];

/** Milliseconds that latency adds in each direction. */
const LATENCY = 200;
/** Bytes a second of a narrow line, and how many go at once. */
const BANDWIDTH = 4_000;
const PACKET = 200;
/** Milliseconds until a slow close. */
const SLOWLY = 1_000;

/** Stands between a client and a server of this machine, and does to their connections what networks do. */
export interface FaultyProxy {
  readonly port: number;
  /** How many connections clients have open. */
  connections(): number;
  begin(fault: Fault): void;
  /** From now on all is well, but for connections that have lost bytes. */
  end(): Promise<void>;
  close(): Promise<void>;
}

export async function startFaultyProxy(target: { hostname: string; port: number }): Promise<FaultyProxy> {
  let fault: Fault | null = null;

  const proxy = await startTcpProxy(target, (link) => {
    const lost = { bytes: false };
    pass(link, link.client, link.server, lost);
    pass(link, link.server, link.client, lost);
  });

  /** Passes on what comes from one side to the other, in its order. */
  function pass(link: Link, from: Socket, to: Socket, lost: { bytes: boolean }): void {
    let passing = Promise.resolve();
    const next = (work: () => void | Promise<void>) => (passing = passing.then(work).catch(() => link.cut()));
    from.on('data', (bytes) => {
      if (lost.bytes) return;
      switch (fault) {
        case null:
          return next(() => write(to, bytes));
        case 'latency': {
          const arrives = delay(LATENCY);
          return next(() => arrives.then(() => write(to, bytes)));
        }
        case 'narrow':
          return next(() => trickle(to, bytes));
        case 'half-open':
          return void (lost.bytes = true);
        case 'slow close':
          lost.bytes = true;
          return void delay(SLOWLY).then(() => link.cut());
        case 'truncation':
          if (from === link.client) return next(() => write(to, bytes));
          lost.bytes = true;
          return next(() => void to.end(bytes.subarray(0, bytes.length / 2), () => link.cut()));
        case 'reset':
          return reset(link);
        case 'cut':
        case 'refusal':
          return link.cut();
      }
    });
    // A link that has lost bytes looks open from both sides, whatever the other one does.
    from.on('end', () => !lost.bytes && next(() => void to.end()));
  }

  return {
    port: proxy.port,
    connections: () => [...proxy.links].filter(({ client }) => !client.readableEnded && !client.destroyed).length,
    begin(begun) {
      fault = begun;
      if (fault === 'refusal') proxy.refuse();
      if (fault === 'refusal' || fault === 'cut') for (const link of proxy.links) link.cut();
      if (fault === 'reset') for (const link of proxy.links) reset(link);
    },
    async end() {
      if (fault === 'refusal') await proxy.listen();
      fault = null;
    },
    close: () => proxy.close(),
  };
}

function write(to: Socket, bytes: Buffer): void {
  if (to.writable) to.write(bytes);
}

async function trickle(to: Socket, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; at += PACKET) {
    write(to, bytes.subarray(at, at + PACKET));
    await delay((1_000 * PACKET) / BANDWIDTH);
  }
}

function reset({ client, server }: Link): void {
  client.resetAndDestroy();
  server.destroy();
}
