// Does a database that is larger than the memory limit serve? A million keys, 1 GiB, under the limit that the chart ships: the start,
// /livez, a list of all keys in pages, deletes, a watch from before them, a backup, a restart after a kill. Or: how large is the shipped program with fewer keys?
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { freePorts } from '../src/cli/demo/free-ports.ts';
import { databasePath } from '../src/management/keys/folder/data-folder.ts';
import { Harness } from './harness.ts';
import { LimitedServer, shippedLimitMb } from './limited-server.ts';
import { type Seeded, seed, settingsOf } from './management-seed.ts';
import { outputFolder } from './output-folder.ts';
import { wait } from './processes.ts';
import { Report } from './report.ts';
import { percentile } from './statistics.ts';

const { values: args } = parseArgs({
  options: {
    keys: { type: 'string', default: '1000000' },
    owners: { type: 'string', default: '1000' },
    limit: { type: 'string' },
    /** Is filled once and kept, because a million keys take minutes. */
    folder: { type: 'string' },
  },
});
const population = { keys: Number(args.keys), owners: Number(args.owners) };
/** With the shipped program. */
const wanted = population.keys <= 100_000 ? { startMs: 1_500, memoryMb: 200 } : { startMs: 10_000, memoryMb: 600 };
const limitMb = Number(args.limit ?? shippedLimitMb());
/** Of a wall clock, on a machine with much else to do; what counts is the time without that. */
const startWithinMs = 300_000;
const deletes = 500;
const sampleMs = 100;
const mib = 1024 * 1024;
const load = () => loadavg()[0] as number;
const report = new Report(population.keys === 1_000_000 ? 'large-store' : `large-store-${population.keys}`, load());
const folder = outputFolder('--folder', args.folder);
const harness = new Harness();
const keysPath = '/kubernetes/management/apis/management.platform/v1/ownedaccesskeys';

async function seeded(dataDir: string): Promise<Seeded> {
  const notes = `${dataDir}.json`;
  if (!existsSync(notes)) writeFileSync(notes, JSON.stringify(await seed(dataDir, population)));
  return JSON.parse(readFileSync(notes, 'utf8')) as Seeded;
}

class Client {
  readonly #agent: Agent;
  readonly #port: number;
  readonly #key: string;
  waits = 0;
  waitedMs = 0;

  constructor(port: number, ca: string, key: string) {
    this.#port = port;
    this.#key = key;
    this.#agent = new Agent({ ca, keepAlive: true });
  }

  /** Waits as clients of Kubernetes do: for as long as the server says, and then asks again. */
  async ask(method: string, path: string): Promise<{ code: number; text: string }> {
    for (;;) {
      const { retryAfter, ...answer } = await this.#askOnce(method, path);
      if (retryAfter === undefined || (answer.code !== 429 && answer.code !== 503)) return answer;
      this.waits++;
      this.waitedMs += Number(retryAfter) * 1000;
      await wait(Number(retryAfter) * 1000);
    }
  }

  #askOnce(method: string, path: string): Promise<{ code: number; text: string; retryAfter: string | undefined }> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${this.#key}` };
      const asked = request(
        { host: '127.0.0.1', port: this.#port, path, method, headers, agent: this.#agent },
        (answer) => {
          let text = '';
          answer.setEncoding('utf8');
          answer.on('data', (part: string) => {
            text += part;
          });
          const retryAfter = answer.headers['retry-after'];
          answer.on('end', () => resolve({ code: answer.statusCode ?? 0, text, retryAfter }));
        },
      );
      asked.on('error', reject);
      asked.end();
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

async function listAll(client: Client): Promise<string[]> {
  const names: string[] = [];
  for (let next: string | undefined = ''; next !== undefined; ) {
    const { code, text } = await client.ask(
      'GET',
      `${keysPath}?limit=500${next && `&continue=${encodeURIComponent(next)}`}`,
    );
    if (code !== 200) throw new Error(`a page was ${code}: ${text.slice(0, 300)}`);
    const page = JSON.parse(text) as { items: { metadata: { name: string } }[]; metadata: { continue?: string } };
    names.push(...page.items.map(({ metadata }) => metadata.name));
    next = page.metadata.continue;
  }
  return names;
}

async function newestRevision(client: Client): Promise<string> {
  const { text } = await client.ask('GET', `${keysPath}?limit=1`);
  return (JSON.parse(text) as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
}

/** The names that a watch from then on tells to be deleted, until the server ends it. */
async function watchFrom(client: Client, revision: string): Promise<Set<string>> {
  const { code, text } = await client.ask('GET', `${keysPath}?watch=true&resourceVersion=${revision}&timeoutSeconds=5`);
  if (code !== 200) throw new Error(`a watch from ${revision} was ${code}: ${text.slice(0, 300)}`);
  const events = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { type: string; object: { metadata: { name: string } } });
  return new Set(events.filter(({ type }) => type === 'DELETED').map(({ object }) => object.metadata.name));
}

async function main(): Promise<void> {
  harness.build('none');
  const dataDir = folder ?? join(harness.folder, 'data');
  if (folder === undefined) mkdirSync(dataDir);
  const { admin } = await seeded(dataDir);
  const fileMb = statSync(databasePath(dataDir)).size / mib;
  report.add({ name: 'database', value: fileMb, unit: 'MiB', note: `${population.keys} keys` });
  const [port, operationsPort] = (await freePorts(2)) as [number, number];
  const { users, administrators } = settingsOf(population);
  const listen = { listen: `127.0.0.1:${port}`, baseURL: `https://localhost:${port}`, dataDir };
  const configPath = join(harness.folder, 'hostward.yaml');
  const management = { ...listen, users, administrators };
  writeFileSync(configPath, JSON.stringify({ hostward: { listen: `127.0.0.1:${operationsPort}`, management } }));
  const caPem = readFileSync(join(dataDir, 'ca.crt'), 'utf8');
  const launcher = join(harness.folder, 'package', 'src', 'launcher', 'hostward.mjs');
  const logPath = join(harness.folder, 'server.log');
  const server = new LimitedServer({ launcher, configPath, logPath, port, caPem, limitMb, startWithinMs });
  const client = new Client(port, caPem, admin);
  let peakMb = 0;
  const sampling = setInterval(() => {
    peakMb = Math.max(peakMb, server.memoryMb());
  }, sampleMs);
  const started = async (name: string): Promise<void> => {
    const took = await server.start();
    if (took === undefined) throw new Error(`the server did not start: ${readFileSync(logPath, 'utf8').slice(-2000)}`);
    const note = server.isGrouped ? `${limitMb} MiB, a control group` : `resident memory; no control group can be made`;
    report.add({ name, value: took.ownMs, unit: 'ms', wanted: { atMost: wanted.startMs }, note });
    report.add({ name: `${name}: memory`, value: server.memoryMb(), unit: 'MiB', wanted: { atMost: wanted.memoryMb } });
    report.add({ name: `${name}: processor time`, value: server.cpuMs(), unit: 'ms' });
  };
  try {
    await started('start to serving');
    const listMs = performance.now();
    const names = await listAll(client);
    // A folder that is kept loses some in every run.
    if (names.length < population.keys * 0.99 || new Set(names).size < names.length)
      throw new Error(`wanted ${population.keys} keys, listed ${names.length}`);
    const waited = `${client.waits} pages were answered 429, and waited for ${client.waitedMs / 1000} s together`;
    report.add({
      name: 'list of all in pages of 500',
      value: (performance.now() - listMs) / 1000,
      unit: 's',
      note: waited,
    });
    report.add({ name: 'memory after the list', value: server.memoryMb(), unit: 'MiB' });
    const times: number[] = [];
    const revision = await newestRevision(client);
    const gone = names.filter((name) => name.startsWith('key-')).slice(0, deletes);
    for (const name of gone) {
      const beganMs = performance.now();
      const { code, text } = await client.ask('DELETE', `${keysPath}/${name}`);
      if (code !== 200) throw new Error(`a delete was ${code}: ${text}`);
      times.push(performance.now() - beganMs);
    }
    report.add({ name: 'a delete, p99', value: percentile(times, 0.99), unit: 'ms' });
    const told = await watchFrom(client, revision);
    const missed = gone.filter((name) => !told.has(name));
    if (missed.length > 0) throw new Error(`a watch from ${revision} told of ${told.size} deletes, wanted ${deletes}`);
    report.add({ name: 'memory after a watch from before the deletes', value: server.memoryMb(), unit: 'MiB' });
    const copy = join(harness.folder, 'backup');
    const copyMs = performance.now();
    await promisify(execFile)(process.execPath, [launcher, 'backup', copy, '--config', configPath]);
    report.add({ name: 'backup', value: (performance.now() - copyMs) / 1000, unit: 's' });
    report.add({ name: 'memory after the backup', value: server.memoryMb(), unit: 'MiB' });
    await server.kill();
    await started('restart after a kill');
    for (const name of gone.slice(0, 20)) {
      const { code } = await client.ask('GET', `${keysPath}/${name}`);
      if (code !== 404) throw new Error(`a deleted key was ${code} after the kill`);
    }
    report.add({ name: 'most memory', value: peakMb, unit: 'MiB', wanted: { atMost: limitMb } });
    report.add({ name: 'times the server ended by itself', value: server.killed, unit: '', wanted: { atMost: 0 } });
  } finally {
    clearInterval(sampling);
    client.close();
    await server.close();
  }
}

try {
  await main();
  process.stdout.write(`${report.save(load())}\n`);
} finally {
  await harness.close();
  if (args.folder === undefined) rmSync(harness.folder, { recursive: true, force: true });
}
