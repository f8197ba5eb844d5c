import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../src/config.ts';
import { deadlineIn } from '../src/deadline.ts';
import { runtimeDir } from './testkit/runtime-dir.ts';
import { modelFiles, useService } from './testkit/service.ts';

const service = useService();
const run = promisify(execFile);
const read = (name: string) => readFileSync(fileURLToPath(new URL(`../${name}`, import.meta.url)), 'utf8');
const compose = parse(read('docker-compose.yml'));
const { api, neo4j, redis } = compose.services;

/** What Compose makes of `${NAME:-default}` and `${NAME:?message}`. */
function interpolate(text: string, environment: Record<string, string>): string {
  return text.replace(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, operator: string | undefined, rest: string) => {
    const value = environment[name];
    if (value) return value;
    if (operator === '?') throw new Error(`${name}: ${rest}`);
    return rest ?? '';
  });
}

describe('docker-compose.yml', () => {
  it('runs the Neo4j that the service runs by itself', () => {
    const [, version] = /<neo4j\.version>(.+)<\/neo4j\.version>/.exec(read('src/graph/local/pom.xml'))!;
    expect(neo4j.image).toBe(`neo4j:${version}`);
  });

  it('names settings that this Neo4j knows', async () => {
    const settings = await service.database.read('SHOW SETTINGS YIELD name RETURN name', {}, deadlineIn(10_000));
    const known = new Set(settings.map(({ name }) => name));
    const named = Object.keys(neo4j.environment)
      .filter((name) => name !== 'NEO4J_AUTH')
      .map((name) => name.replace('NEO4J_', '').replaceAll('__', '\0').replaceAll('_', '.').replaceAll('\0', '_'));
    expect(named.filter((name) => !known.has(name))).toEqual([]);
    expect(named).toContain('db.query.default_language');
  });

  it('gives the service a configuration that it accepts, and refuses to run without a password', () => {
    const environment = (given: Record<string, string>) =>
      Object.fromEntries(Object.entries<string>(api.environment).map(([name, value]) => [name, interpolate(value, given)]));
    expect(loadConfig(environment({ NEO4J_PASSWORD: 'a good password' }))).toMatchObject({
      neo4j: { uri: 'bolt://neo4j:7687', username: 'neo4j', password: 'a good password' },
      logLevel: 'info',
    });
    expect(() => environment({})).toThrow(/NEO4J_PASSWORD: set it in \.env/);
    expect(interpolate(neo4j.environment.NEO4J_AUTH, { NEO4J_PASSWORD: 'a good password' })).toBe('neo4j/a good password');
  });

  it('is reached from this machine alone, waits for what it needs, and has the time to stop', () => {
    expect(interpolate(api.ports[0], {})).toBe('127.0.0.1:8080:8080');
    expect([neo4j.ports, redis.ports]).toEqual([undefined, undefined]);
    expect(api.depends_on).toEqual({ neo4j: { condition: 'service_healthy' }, redis: { condition: 'service_healthy' } });
    for (const needed of [neo4j, redis]) expect(needed.healthcheck.test).toBeDefined();
    expect([api.stop_grace_period, neo4j.stop_grace_period]).toEqual(['60s', '60s']);
    const mounted = [...api.volumes, ...neo4j.volumes].map((volume: string) => volume.split(':')[0]);
    expect(Object.keys(compose.volumes)).toEqual(mounted);
  });
});

describe('the Dockerfile', () => {
  const dockerfile = read('Dockerfile');

  it('copies only what the build context has', () => {
    const allowed = read('.dockerignore').split('\n');
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, sources]) => sources!.split(' '));
    expect(copied).toContain('src');
    for (const source of copied) expect(allowed, source).toContain(`!${source.split('/')[0]}`);
    expect(readdirSync(fileURLToPath(new URL('..', import.meta.url)))).toEqual(expect.arrayContaining(copied.map((source) => source.split('/')[0])));
  });

  it('runs as a user without rights, and gets its signals itself', () => {
    expect(dockerfile).toMatch(/^USER node$/m);
    expect(dockerfile).toMatch(/^CMD \["node", "src\/start\.mjs"\]$/m);
  });

  it('puts the model where the service looks for it', async () => {
    const { modelPath } = await modelFiles();
    const expression = /-Doutput=\/runtime\/(\$\([^)]*\))/.exec(dockerfile)![1]!;
    const { stdout } = await run('sh', ['-c', `echo ${expression}`], { cwd: fileURLToPath(new URL('../src/graph/local', import.meta.url)) });
    expect(modelPath).toBe(join(runtimeDir, stdout.trim(), 'model/e5-small-v2-q.onnx'));
  });

  it('has a health check that tells a ready service from one that is not', async () => {
    const [node, ...args] = JSON.parse(/HEALTHCHECK[^[]*CMD (\[.*\])$/m.exec(dockerfile)![1]!) as string[];
    const check = (port: number) => run(node!, args, { env: { ...process.env, PORT: String(port) } });
    await expect(check(service.port)).resolves.toBeDefined();
    await expect(check(9)).rejects.toMatchObject({ code: 1 });
  });
});
