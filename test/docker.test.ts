import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../src/config.ts';
import { deadlineIn } from '../src/deadline.ts';
import { runtimeDir } from './testkit/runtime-dir.ts';
import { modelFiles, useService } from './testkit/service.ts';

const service = useService();
const run = promisify(execFile);
const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
const compose = parse(read('docker-compose.yml'));
const dockerfile = read('Dockerfile');

/** `${NAME:-default}` as Compose fills it in from an environment. */
const filledIn = (value: string, environment: Record<string, string>) =>
  value.replace(/\$\{(\w+)(?::[-?]([^}]*))?\}/g, (_, name: string, standard = '') => environment[name] ?? standard);

// No Docker engine runs the images here; this is what can be known without one.
describe('docker-compose.yml', () => {
  it('runs the version of Neo4j that the service brings along', () => {
    expect(compose.services.neo4j.image).toBe(`neo4j:${/<neo4j.version>(.*)</.exec(read('src/graph/local/pom.xml'))![1]}`);
  });

  it('sets only what Neo4j knows, and what it says as Neo4j writes it', async () => {
    const rows = await service.database.read('SHOW SETTINGS YIELD name RETURN collect(name) AS names', {}, deadlineIn(10_000));
    const names = rows[0]!['names'] as string[];
    for (const variable of Object.keys(compose.services.neo4j.environment).filter((name) => name !== 'NEO4J_AUTH')) {
      const setting = variable.replace(/^NEO4J_/, '').replace(/_{1,2}/g, (underscores) => (underscores.length === 2 ? '_' : '.'));
      expect(names, variable).toContain(setting);
    }
    expect(compose.services.neo4j.environment).toMatchObject({
      NEO4J_AUTH: 'neo4j/${NEO4J_PASSWORD}',
      NEO4J_db_query_default__language: 'CYPHER_25',
    });
  });

  it('gives the service a configuration that it takes, with nothing set but the password', () => {
    const given = Object.entries<string>(compose.services.memory.environment);
    const environment = Object.fromEntries(given.map(([name, value]) => [name, filledIn(value, { NEO4J_PASSWORD: 'a-password' })]));
    expect(loadConfig(environment)).toMatchObject({ neo4j: { uri: 'bolt://neo4j:7687', password: 'a-password' }, embedding: { provider: 'local' } });
  });

  it('says what to do without the password', () => {
    expect(compose.services.memory.environment.NEO4J_PASSWORD).toMatch(/^\$\{NEO4J_PASSWORD:\?.*\.env\}$/);
  });

  it('publishes nothing beyond this machine, and of the service alone', () => {
    const published = Object.entries<any>(compose.services).flatMap(([name, { ports = [] }]) =>
      ports.map((port: string) => `${name} ${filledIn(port, {})}`),
    );
    expect(published).toEqual(['memory 127.0.0.1:8080:8080']);
  });
});

describe('Dockerfile', () => {
  it('puts the model where the service looks for it', async () => {
    const { modelPath } = await modelFiles();
    const folder = createHash('sha256').update(read('src/graph/local/pom.xml')).digest('hex').slice(0, 12);
    expect(modelPath).toBe(join(runtimeDir, folder, 'model/e5-small-v2-q.onnx'));
    expect(dockerfile).toContain('-Doutput=/runtime/$(sha256sum pom.xml | cut -c 1-12)');
    const { stdout } = await run('sh', ['-c', 'echo $(sha256sum pom.xml | cut -c 1-12)'], { cwd: new URL('../src/graph/local', import.meta.url) });
    expect(stdout.trim()).toBe(folder);
  });

  it('copies everything that its service reads, and nothing of the data', () => {
    const kept = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, sources]) => sources!.split(' '));
    for (const source of copied) {
      expect(existsSync(new URL(`../${source}`, import.meta.url)), source).toBe(true);
      expect(
        kept.some((name) => source === name || source.startsWith(`${name}/`)),
        source,
      ).toBe(true);
    }
    expect(dockerfile).toMatch(/^USER node$/m);
  });

  it('has a health check that tells a ready service from one that is not', async () => {
    const [, command] = /HEALTHCHECK[^[]*CMD (\[.*\])$/m.exec(dockerfile)!;
    const [node, ...args] = JSON.parse(command!) as string[];
    const check = (port: number) => run(node!, args, { env: { ...process.env, PORT: String(port) } });
    await expect(check(service.port)).resolves.toBeDefined();
    await expect(check(9)).rejects.toMatchObject({ code: 1 });
  });
});
