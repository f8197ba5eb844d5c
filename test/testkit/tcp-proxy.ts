import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** One connection of a client and the one to the server that was opened for it. */
export interface Link {
  readonly client: Socket;
  readonly server: Socket;
  /** Ends both sides, whatever is still under way. */
  cut(): void;
}

/** Stands between a client and a server of this machine. What passes is up to whoever takes the links. */
export interface TcpProxy {
  readonly port: number;
  readonly links: ReadonlySet<Link>;
  /** Until `listen` nobody is let in. */
  refuse(): void;
  listen(): Promise<void>;
  close(): Promise<void>;
}

/** `take` is called for each new connection, before anything has passed. A side that breaks takes the other along. */
export async function startTcpProxy(target: { hostname: string; port: number }, take: (link: Link) => void): Promise<TcpProxy> {
  const links = new Set<Link>();
  let port = 0;
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ host: target.hostname, port: target.port, allowHalfOpen: true });
    const link: Link = {
      client,
      server: upstream,
      cut() {
        client.destroy();
        upstream.destroy();
      },
    };
    links.add(link);
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      socket.on('error', () => link.cut());
      socket.on('close', () => {
        if (client.destroyed && upstream.destroyed) links.delete(link);
      });
    }
    take(link);
  });

  async function listen(): Promise<void> {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  }
  await listen();

  return {
    port,
    links,
    refuse: () => void server.close(),
    listen,
    async close() {
      const closed = server.listening ? once(server, 'close') : null;
      server.close();
      for (const link of links) link.cut();
      await closed;
    },
  };
}
