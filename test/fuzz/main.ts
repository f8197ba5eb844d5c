// npm run test:fuzz: requests at random, from the OpenAPI document by schemathesis and from the GraphQL schema by fast-check.
import { withClosers } from '../../bench/closers.ts';
import { readOptions } from '../../bench/options.ts';
import { fuzzGraphQL } from './graphql.ts';
import { prepareSchemathesis, runSchemathesis } from './schemathesis.ts';
import { startForFuzzing } from './service.ts';

const { examples, documents } = readOptions('test:fuzz', {
  examples: { byDefault: 200, what: 'examples of each operation of the REST API' },
  documents: { byDefault: 3_000, what: 'GraphQL documents' },
});

await withClosers(async (onClose) => {
  const schemathesis = prepareSchemathesis((line) => console.error(line));
  const { client, close } = await startForFuzzing();
  onClose(close);
  const isAsDocumented = await runSchemathesis(schemathesis, { url: client.url, key: client.key, examples });
  const answered = await fuzzGraphQL(client, documents);
  console.log(`\n${documents} GraphQL documents, each answered with data or errors of known codes:`, answered);
  process.exitCode = isAsDocumented ? 0 : 1;
});
