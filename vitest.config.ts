import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Vite would pick graphql's ES module while other packages load its CommonJS one, and the two don't know each other's types.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/testkit/global-setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
    pool: 'forks',
  },
});
