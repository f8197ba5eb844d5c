import { execFileSync } from 'node:child_process';
import { constants, accessSync, readFileSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

export type Java = { home: string; executable: string; version: string; feature: number };

/** Where to look; a `*` in a folder stands for any part of one name. */
export type SoftwarePlaces = { env: NodeJS.ProcessEnv; javaFolders: string[]; mavenFolders: string[] };

export class MissingSoftwareError extends Error {
  override name = 'MissingSoftwareError';
}

/** The newest release that this Neo4j is made for; a newer one is taken only when there is no other. */
const newestSupported = 25;

export const usualPlaces: SoftwarePlaces = {
  env: process.env,
  javaFolders: [
    '/usr/lib/jvm/*',
    '/usr/java/*',
    '/usr/local/openjdk*',
    '/opt/java/*',
    '/opt/*jdk*',
    '/Library/Java/JavaVirtualMachines/*/Contents/Home',
    '/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home',
    '/usr/local/opt/openjdk*/libexec/openjdk.jdk/Contents/Home',
    join(homedir(), '.sdkman/candidates/java/*'),
    join(homedir(), '.jdks/*'),
    join(homedir(), 'Library/Java/JavaVirtualMachines/*/Contents/Home'),
  ],
  mavenFolders: [
    '/usr/share/maven',
    '/opt/*maven*',
    '/opt/homebrew/opt/maven',
    '/usr/local/opt/maven',
    join(homedir(), '.sdkman/candidates/maven/current'),
  ],
};

/** Every Java found, the one to take first. */
export function findJava({ env, javaFolders }: SoftwarePlaces): Java[] {
  const executables = [
    ...(env.JAVA_HOME ? [join(env.JAVA_HOME, 'bin/java')] : []),
    ...onPath(env, 'java'),
    ...javaFolders.flatMap(foldersLike).map((home) => join(home, 'bin/java')),
  ];
  const found = new Set(executables.filter(isExecutable).map((path) => realpathSync(path)));
  return [...found].flatMap((executable) => readJava(executable) ?? []).sort((a, b) => rank(b) - rank(a));
}

/** The `mvn` to run, or null when there is none. */
export function findMaven({ env, mavenFolders }: SoftwarePlaces): string | null {
  const named = [env.MAVEN_HOME, env.M2_HOME].flatMap((home) => home || []);
  const homes = [...named, ...mavenFolders.flatMap(foldersLike)].map((home) => join(home, 'bin/mvn'));
  return [...onPath(env, 'mvn'), ...homes].find(isExecutable) ?? null;
}

/**
 * A Java of at least the release `minimum`, and Maven when files have to be fetched through it.
 * @throws MissingSoftwareError with what was looked for, what was found and the ways on
 */
export function findSoftware(needs: { minimumJava: number; maven: false }, places?: SoftwarePlaces): { java: Java };
export function findSoftware(needs: { minimumJava: number; maven: true }, places?: SoftwarePlaces): { java: Java; maven: string };
export function findSoftware({ minimumJava, maven: needsMaven }: { minimumJava: number; maven: boolean }, places = usualPlaces) {
  const all = findJava(places);
  const java = all.find(({ feature }) => feature >= minimumJava);
  const maven = needsMaven ? findMaven(places) : null;
  if (java && maven !== null) return { java, maven };
  if (java && !needsMaven) return { java };

  const missing: string[] = [];
  if (!java) missing.push(`Java ${minimumJava} or later (${all.length ? `found only ${all.map(describe).join(', ')}` : 'no Java was found'})`);
  if (needsMaven && maven === null) missing.push('Maven (no mvn was found)');
  throw new MissingSoftwareError(
    `the local Neo4j and embedding model need ${missing.join(' and ')}; looked in ${lookedIn(places, !java, needsMaven && maven === null)}.\n` +
      `Three ways on:\n` +
      `  1. Install ${needsMaven ? 'a JDK 21 or later and Maven' : 'a JDK 21 or later'}, and start again.\n` +
      `  2. Use Docker Compose, which brings everything along: docker compose up\n` +
      `  3. Use a Neo4j of your own: set NEO4J_URI. The local embedding model still needs Java and Maven once, to be fetched.`,
  );
}

function lookedIn({ env, javaFolders, mavenFolders }: SoftwarePlaces, java: boolean, maven: boolean): string {
  const variables = [...(java ? ['JAVA_HOME'] : []), ...(maven ? ['MAVEN_HOME', 'M2_HOME'] : [])];
  const named = variables.map((name) => `${name} (${env[name] ?? 'not set'})`);
  return [...named, 'PATH', ...(java ? javaFolders : []), ...(maven ? mavenFolders : [])].join(', ');
}

function describe({ version, home }: Java): string {
  return `Java ${version} in ${home}`;
}

function rank({ feature, version }: Java): number {
  const update = Number(/^\d+\.\d+\.(\d+)/.exec(version)?.[1] ?? 0);
  return (feature <= newestSupported ? 1_000_000 : 0) + feature * 1000 + Math.min(update, 999);
}

function onPath(env: NodeJS.ProcessEnv, program: string): string[] {
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, program));
}

function foldersLike(pattern: string): string[] {
  const parts = pattern.split('/').slice(1);
  return parts.reduce<string[]>((folders, part) => folders.flatMap((folder) => namesLike(folder, part).map((name) => join(folder, name))), ['/']);
}

function namesLike(folder: string, part: string): string[] {
  if (!part.includes('*')) return [part];
  const pattern = new RegExp(`^${part.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`);
  try {
    return readdirSync(folder).filter((name) => pattern.test(name));
  } catch {
    return [];
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function readJava(executable: string): Java | null {
  const home = dirname(dirname(executable));
  const version = versionInReleaseFile(home);
  return version ? { home, executable, version, feature: featureOf(version) } : askJava(executable);
}

function versionInReleaseFile(home: string): string | undefined {
  try {
    return /^JAVA_VERSION="([^"]+)"/m.exec(readFileSync(join(home, 'release'), 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

/** For stubs and shims (macOS, asdf), which are not inside the Java that they start. */
function askJava(executable: string): Java | null {
  try {
    const settings = execFileSync('sh', ['-c', '"$0" -XshowSettings:properties -version 2>&1', executable], { encoding: 'utf8', timeout: 10_000 });
    const version = /^\s*java\.version = (\S+)/m.exec(settings)?.[1];
    const home = /^\s*java\.home = (.+)$/m.exec(settings)?.[1];
    return version && home ? { home, executable: join(home, 'bin/java'), version, feature: featureOf(version) } : null;
  } catch {
    return null;
  }
}

function featureOf(version: string): number {
  return parseInt(version.replace(/^1\./, ''), 10);
}
