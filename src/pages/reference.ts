import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type PublicFile, type PublicFiles, ownFile, page } from './files.ts';

const { resolve } = createRequire(import.meta.url);

/** The reference of the REST API, read from /openapi.json, where requests can be tried. */
export function referenceFiles(): PublicFiles {
  return new Map([
    [
      '/docs',
      page({
        title: 'API reference · Memory service',
        head: '<link rel="stylesheet" href="assets/swagger-ui.css" />',
        body: `<div id="reference"></div>
    <script src="assets/swagger-ui-bundle.js"></script>
    <script src="assets/reference.js"></script>`,
      }),
    ],
    ['/assets/reference.js', ownFile('reference.js', 'text/javascript')],
    ['/assets/swagger-ui.css', packaged('swagger-ui.css', 'text/css')],
    ['/assets/swagger-ui-bundle.js', packaged('swagger-ui-bundle.js', 'text/javascript')],
  ]);
}

function packaged(name: string, type: PublicFile['type']): PublicFile {
  return { type, read: () => readFile(resolve(`swagger-ui-dist/${name}`), 'utf8') };
}
