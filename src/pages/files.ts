import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';

/** What a browser gets at a path without a key. */
export interface PublicFile {
  readonly type: 'text/html' | 'text/css' | 'text/javascript';
  /** Asked for once, at the first request. */
  readonly read: () => Promise<string>;
}

export type PublicFiles = ReadonlyMap<string, PublicFile>;

/** Nothing of another origin, no frame around it, no inline script. The editors of both pages write inline styles and carry their pictures and fonts in their CSS. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  "connect-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  'font-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Serves the files; browsers keep them, and ask each time whether they are still current. */
export function serveFiles(app: FastifyInstance, files: PublicFiles): void {
  for (const [url, { type, read }] of files) {
    let reading: Promise<{ body: string; etag: string }> | undefined;
    const readOnce = () =>
      (reading ??= read()
        .then((body) => ({ body, etag: etagOf(body) }))
        .catch((error: unknown) => {
          reading = undefined;
          throw error;
        }));
    app.get(url, async (request, reply) => {
      const { body, etag } = await readOnce();
      reply.headers({ 'content-security-policy': POLICY, 'cache-control': 'no-cache', etag });
      if (request.headers['if-none-match'] === etag) return reply.code(304).send();
      return reply.type(`${type}; charset=utf-8`).send(body);
    });
  }
}

/** A file of `browser/`. */
export function ownFile(name: string, type: PublicFile['type']): PublicFile {
  return { type, read: () => readFile(new URL(`browser/${name}`, import.meta.url), 'utf8') };
}

/** A page of this service; `head` and `body` are HTML, its references relative so that they also hold below /v1. */
export function page({ title, head = '', body }: { title: string; head?: string; body: string }): PublicFile {
  const html = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${title}</title>
    <link rel="icon" href="data:," />
    ${head}
    <link rel="stylesheet" href="assets/page.css" />
  </head>
  <body>
    ${body}
  </body>
</html>
`;
  return { type: 'text/html', read: () => Promise.resolve(html) };
}

function etagOf(text: string): string {
  return `"${createHash('sha256').update(text).digest('base64url')}"`;
}
