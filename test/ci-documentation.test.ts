import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Client } from './testkit/client.ts';
import { useService } from './testkit/service.ts';

const service = useService();
const documentation = readFileSync(new URL('../docs/ci.md', import.meta.url), 'utf8');
const hasJq = (() => {
  try {
    execFileSync('jq', ['--version']);
    return true;
  } catch {
    return false;
  }
})();
if (!hasJq) console.log('Left out, as there is no jq: the steps of docs/ci.md');

/** The shell script of a step: what stands between the line with `start` and the end of its indented block. */
function scriptAfter(heading: string, start: RegExp): string {
  const section = documentation.split(`## ${heading}\n`)[1]!.split('\n## ')[0]!;
  const lines = section.split('\n');
  const first = lines.findIndex((line) => start.test(line)) + 1;
  const indent = /^ */.exec(lines[first]!)![0].length;
  const length = lines.slice(first).findIndex((line) => line.trim() !== '' && /^ */.exec(line)![0].length < indent);
  return lines
    .slice(first, first + length)
    .map((line) => line.slice(indent))
    .join('\n');
}

function run(script: string, agent: Client, environment: Record<string, string>): Promise<string> {
  const env = { PATH: process.env['PATH'], MEMORY_URL: service.url, MEMORY_API_KEY: agent.key, ...environment };
  return new Promise((resolve) => execFile('sh', ['-c', script], { env }, (_, stdout, stderr) => resolve(stdout + stderr)));
}

describe.skipIf(!hasJq)('a step of docs/ci.md', () => {
  it.each<{ system: string; start: RegExp; environment: Record<string, string>; stored: Record<string, unknown> }>([
    {
      system: 'GitHub Actions',
      start: /^ *run: \|$/,
      environment: {
        GITHUB_REPOSITORY: 'acme/api',
        GITHUB_REF_NAME: 'fix/"quoted"',
        GITHUB_ACTOR: 'octo',
        GITHUB_SHA: 'f95f852b',
        GITHUB_SERVER_URL: 'https://github.example',
        GITHUB_RUN_ID: '71',
        GITHUB_RUN_ATTEMPT: '1',
        GITHUB_JOB: 'deploy',
      },
      stored: {
        content: 'Deployed acme/api (fix/"quoted") to production, started by octo',
        tags: ['ci:deployment', 'production'],
        metadata: { commit: 'f95f852b', run: 'https://github.example/acme/api/actions/runs/71', repository: 'acme/api' },
      },
    },
    {
      system: 'GitLab CI',
      start: /^ *- \|$/,
      environment: {
        CI_PROJECT_PATH: 'acme/api',
        CI_COMMIT_REF_NAME: 'main',
        CI_COMMIT_TITLE: 'Say "no" to $5',
        CI_COMMIT_SHA: 'a1b2',
        CI_PIPELINE_URL: 'https://gitlab.example/p/31',
        CI_JOB_ID: '3107',
      },
      stored: {
        content: 'Deployed acme/api (main) to production: Say "no" to $5',
        tags: ['ci:deployment', 'production'],
        metadata: { commit: 'a1b2', pipeline: 'https://gitlab.example/p/31', project: 'acme/api' },
      },
    },
    {
      system: 'Jenkins',
      start: /^ *sh '''$/,
      environment: {
        BUILD_NUMBER: '118',
        JOB_NAME: 'Größe & Co release',
        RESULT: 'FAILURE',
        BUILD_URL: 'https://jenkins.example/118/',
        GIT_COMMIT: '67f4e1f5',
        BUILD_TAG: 'jenkins-Größe & Co release-118',
      },
      stored: {
        content: 'Build 118 of Größe & Co release ended: FAILURE',
        tags: ['ci:build_failed', 'jenkins'],
        metadata: { url: 'https://jenkins.example/118/', commit: '67f4e1f5', result: 'FAILURE' },
      },
    },
  ])('stores one memory, also when it is run twice: $system', async ({ system, start, environment, stored }) => {
    const agent = await service.newAccount({ scopes: ['memory:write', 'memory:read'] });
    const script = scriptAfter(system, start);
    for (let time = 0; time < 2; time++) expect(await run(script, agent, environment)).toContain('"stored":true');
    const { memories } = (await agent.get('/memory/list')).body;
    expect(memories).toHaveLength(1);
    expect(memories[0]).toMatchObject({ type: 'ci_event', ...stored });
    expect(await run(script, { key: 'mem_wrong' } as Client, environment)).toContain('The memory service did not take the event');
  });
});
