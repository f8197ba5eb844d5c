// npm run generate, after the types: writes what is published of the schema and the routes, so that a change of either shows in a diff.
import { writeFileSync } from 'node:fs';
import { printSchema } from 'graphql';
import { createSchema } from './graphql/schema.ts';
import { createOpenApi } from './rest/openapi.ts';
import { routes } from './rest/routes.ts';
import { VERSION } from './version.ts';

const write = (name: string, text: string) => writeFileSync(new URL(`generated/${name}`, import.meta.url), text);

write('schema.graphql', `${printSchema(createSchema())}\n`);
write('openapi.json', `${JSON.stringify(createOpenApi(routes, VERSION), null, 2)}\n`);
