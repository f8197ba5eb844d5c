import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { modelFiles } from './testkit/service.ts';

it('the model runs without the telemetry of its runtime, which leaves files behind', async () => {
  const home = mkdtempSync(join(tmpdir(), 'memory-home-'));
  try {
    const child = spawn('node', ['--import', 'tsx', fileURLToPath(new URL('testkit/embed-once.ts', import.meta.url))], {
      // Runtimes keep telemetry back where they see a CI, which would hide what users get.
      env: { PATH: process.env['PATH'], HOME: home, TMPDIR: home, MODEL_FILES: JSON.stringify(await modelFiles()) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const output = await child.stdout.setEncoding('utf8').toArray();
    expect(output.join('')).toBe('384 dimensions\n');
    expect(existsSync(join(home, '.cache', 'Microsoft'))).toBe(false);
    expect([...readdirSync(home), ...readdirSync('/tmp')]).not.toContain(`mat-debug-${child.pid}.log`);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
