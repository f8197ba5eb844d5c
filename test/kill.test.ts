import { describe, expect, it } from 'vitest';
import { runKills } from './kill/run.ts';
import { startApi, startNeo4jOfService } from './kill/victims.ts';

// `npm run test:kill` does it hundreds of times.
describe('kill -9', () => {
  it.each([
    ['the service', startApi, 5],
    ['the Neo4j that it runs', startNeo4jOfService, 2],
  ] as const)(
    'of %s loses nothing that was acknowledged, doubles nothing, and leaves nothing half done',
    async (_, start, times) => {
      const victim = await start();
      try {
        const { kills, problems } = await runKills(victim, times);
        expect([...kills.flatMap((kill) => kill.problems), ...problems]).toEqual([]);
        expect(kills.every(({ acknowledged }) => acknowledged > 0)).toBe(true);
      } finally {
        await victim.close();
      }
    },
    300_000,
  );
});
