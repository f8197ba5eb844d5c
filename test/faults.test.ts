import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCase } from './faults/case.ts';
import { type Rig, startRig, TARGETS } from './faults/rig.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
}, 240_000);
afterAll(() => rig.close());

// `npm run test:faults` tries all faults, each for several durations.
describe.each(TARGETS)('while connections to %s suffer', (target) => {
  it.each(['cut', 'half-open', 'truncation', 'refusal'] as const)('%s, and after it, every answer is in time and true', async (fault) => {
    const { problems } = await runCase(rig, { target, fault, lasting: 1_000 });
    expect(problems).toEqual([]);
  });
});
