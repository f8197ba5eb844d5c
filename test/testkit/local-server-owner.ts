// A process that owns a local Neo4j, for tests that kill it. Prints each progress line and then "ready PID"; SIGTERM stops everything in order.
import { lockDataFolder } from '../../src/graph/local/data-folder.ts';
import { prepareRuntime } from '../../src/graph/local/runtime.ts';
import { startLocalServer } from '../../src/graph/local/server.ts';

const [dataDir = '', runtimeDir = '', until = 'ready'] = process.argv.slice(2);
const report = (line: string) => console.log(line);
const { signal } = new AbortController();

const lock = await lockDataFolder(dataDir, 'the test');
report('locked');
if (until === 'locked') {
  setInterval(() => {}, 1000);
} else {
  const runtime = await prepareRuntime({ runtimeDir, report, signal });
  const server = await startLocalServer({ dataDir, runtime, heap: '384m', report, signal });
  process.once('SIGTERM', () => {
    report('stopping');
    void server.stop().then(() => {
      lock.release();
      process.exit(0);
    });
  });
  report(`ready ${server.pid}`);
  setInterval(() => {}, 1000);
}
