import { type PublicFiles, ownFile, page } from './files.ts';

/** What there is to open in a browser. */
export function homeFiles({ version }: { version: string }): PublicFiles {
  return new Map([
    [
      '/',
      page({
        title: 'Memory service',
        body: `<main class="home">
      <h1>Memory service <small>${version}</small></h1>
      <dl>
        <dt><a href="graphiql">GraphiQL</a></dt>
        <dd>Run GraphQL operations and read the schema, offline.</dd>
        <dt><a href="docs">API reference</a></dt>
        <dd>Every endpoint of the REST API, to read and to try, offline.</dd>
        <dt><a href="graphql">Apollo Sandbox</a></dt>
        <dd>Apollo’s own explorer of the GraphQL API. Its page comes from Apollo, so it needs the internet.</dd>
        <dt><a href="openapi.json">openapi.json</a></dt>
        <dd>The REST API for tools.</dd>
      </dl>
      <p>All of them ask for an API key: the first one is in the file <code>api-key</code> of the data folder, and <code>npm run keys -- create</code> makes more.</p>
    </main>`,
      }),
    ],
    ['/assets/page.css', ownFile('page.css', 'text/css')],
  ]);
}
