import type { TestProject } from 'vitest/node';
import { type Neo4j, startNeo4j } from './neo4j.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    neo4j: Omit<Neo4j, 'close'>;
  }
}

/** One real Neo4j for all tests that need none of their own. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const { close, ...neo4j } = await startNeo4j((line) => console.log(line));
  project.provide('neo4j', neo4j);
  return close;
}
