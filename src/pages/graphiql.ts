import { type PublicFile, type PublicFiles, ownFile, page } from './files.ts';

const WITHOUT_INTROSPECTION =
  '<p>This service keeps its schema to itself (INTROSPECTION=false): operations run, but there is no completion and no documentation here.</p>';

/** GraphiQL, from this machine alone. The key stays in the browser's tab. */
export function graphiqlFiles({ introspection }: { introspection: boolean }): PublicFiles {
  return new Map([
    [
      '/graphiql',
      page({
        title: 'GraphiQL · Memory service',
        head: '<link rel="stylesheet" href="assets/graphiql-bundle.css" />',
        body: `<form id="key">
      <label for="api-key">API key</label>
      <input id="api-key" type="password" placeholder="mem_…" autocomplete="off" spellcheck="false" />
      <button>Use it</button>
      <a href=".">All pages</a>
      ${introspection ? '' : WITHOUT_INTROSPECTION}
    </form>
    <div id="graphiql" data-introspection="${introspection}"></div>
    <script src="assets/graphiql-bundle.js"></script>
    <script src="assets/graphiql.js"></script>`,
      }),
    ],
    ['/assets/graphiql.js', ownFile('graphiql.js', 'text/javascript')],
    ['/assets/graphiql-bundle.js', bundled('js', 'text/javascript')],
    ['/assets/graphiql-bundle.css', bundled('css', 'text/css')],
    ['/assets/graphiql-worker-editorWorkerService.js', bundled('editorWorkerService', 'text/javascript')],
    ['/assets/graphiql-worker-json.js', bundled('jsonWorker', 'text/javascript')],
    ['/assets/graphiql-worker-graphql.js', bundled('graphqlWorker', 'text/javascript')],
  ]);
}

/** The package holds everything as text in one module of 9 MB, which is loaded when the page is first opened. */
function bundled(part: 'js' | 'css' | 'editorWorkerService' | 'jsonWorker' | 'graphqlWorker', type: PublicFile['type']): PublicFile {
  return { type, read: async () => (await import('@graphql-yoga/render-graphiql/graphiql'))[part] };
}
