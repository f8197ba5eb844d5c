import { expect, it } from 'vitest';
import { fuzzGraphQL } from './fuzz/graphql.ts';
import { useService } from './testkit/service.ts';

const service = useService();

// `npm run test:fuzz` sends thousands, and everything that the OpenAPI document allows and does not.
it('answers every GraphQL document that the schema allows with data or with errors that it knows', async () => {
  const { data } = await fuzzGraphQL(await service.newAccount(), 150);
  expect(data).toBeGreaterThan(20);
});
