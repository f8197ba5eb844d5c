import type { TestProject } from 'vitest/node';
import type { DatabaseOptions } from '../../src/graph/database.ts';
import { warmUp } from '../../src/warm-up.ts';
import { setUpSchema, startNeo4j } from './neo4j.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    neo4j: DatabaseOptions;
  }
}

/** One real Neo4j for all tests that need none of their own. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const report = (line: string) => console.log(line);
  const neo4j = await startNeo4j({ heap: '1g', report });
  await setUpSchema(neo4j, report);
  // Or the first store of each file would be planned while all others wait for the processor, which may take longer than its deadline.
  await warmUp(neo4j.database, { embedQuery: () => Promise.resolve(new Float32Array(384).fill(0.05)) });
  project.provide('neo4j', neo4j.address);
  return () => neo4j.close();
}
