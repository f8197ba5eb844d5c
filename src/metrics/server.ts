import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { collectDefaultMetrics, type Registry } from 'prom-client';

export interface MetricsServer {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Serves GET /metrics, with what is to know of the process and its event loop, at an address of its own: it needs no key.
 * Rejects when that can't be listened on.
 */
export async function serveMetrics(registry: Registry, { host, port }: { host: string; port: number }): Promise<MetricsServer> {
  collectDefaultMetrics({ register: registry });
  const server = createServer((request, response) => {
    if (request.url?.split('?', 1)[0] !== '/metrics' || request.method !== 'GET') return void response.writeHead(404).end();
    registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
