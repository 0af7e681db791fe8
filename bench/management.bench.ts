// What does the management API cost with 100,000 keys of 1,000 owners? Reads, authentication, pages, one owner's lists and watches,
// fan-out to a hundred watchers, writes to SQLite, memory. Bare servers and the memory store are beside it in the same run.
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type AskedProcess, AskedProcesses, serverFlags } from './asked-process.ts';
import { gateFigures, managementGateLimits } from './gate.ts';
import type { ClientCommand, Load, Target } from './management-client.ts';
import type { Readings, ServerCommand, Serving } from './management-process.ts';
import { type Population, type Seeded, seed } from './management-seed.ts';
import { Report } from './report.ts';
import { median, percentile } from './statistics.ts';

const { values } = parseArgs({
  options: {
    gate: { type: 'boolean', default: false },
    /** All keys, with fewer requests. */
    short: { type: 'boolean', default: false },
    keys: { type: 'string', default: '100000' },
    owners: { type: 'string', default: '1000' },
    only: { type: 'string', default: '' },
  },
});
const { gate, short } = values;
const population: Population = gate
  ? { keys: 5_000, owners: 50 }
  : { keys: Number(values.keys), owners: Number(values.owners) };
/** Of each round; the gate answers within 45 seconds, seeding included. */
const size =
  gate || short
    ? { reads: 2_000, changes: 150, creates: 300, rounds: 3 }
    : { reads: 30_000, changes: 1_000, creates: 4_000, rounds: 5 };
const readers = 16;
const writers = 16;
const watchers = 100;
const keysPath = '/kubernetes/management/apis/management.platform/v1/ownedaccesskeys';

const load = () => loadavg()[0] as number;
/** Another number of keys is another question; its figures are beside the usual ones. */
const report = new Report(gate || population.keys === 100_000 ? 'management' : `management-${population.keys}`, load());
const folder = mkdtempSync(join(tmpdir(), 'hostward-bench-keys-'));
const processes = new AskedProcesses();

const client = processes.start<ClientCommand>('management-client.ts');
const startServer = () => processes.start<ServerCommand>('management-process.ts', serverFlags());

async function timed(server: AskedProcess<ServerCommand>, run: () => Promise<Load>): Promise<Load & Readings> {
  await server.ask({ kind: 'reset' });
  const done = await run();
  return { ...done, ...(await server.ask<Readings>({ kind: 'read' })) };
}

function mustBe(code: number, { codes }: Load): void {
  if (Object.keys(codes).join() !== String(code)) throw new Error(`wanted only ${code}, got ${JSON.stringify(codes)}`);
}

/** In turns, so that a busy machine slows both sides. */
async function reads(api: AskedProcess<ServerCommand>, to: Target, seeded: Seeded): Promise<void> {
  const paths = seeded.owners.map((_, index) => `${keysPath}/key-${index}`);
  const from = (target: Target): Promise<Load> =>
    client.ask({
      kind: 'load',
      to: target,
      connections: readers,
      requests: size.reads,
      method: 'GET',
      paths,
      keys: seeded.owners,
    });
  const { lastBody } = await from(to);
  const bare = startServer();
  const bareTo = await bare.ask<Serving>({ kind: 'bare', body: lastBody });
  await from(bareTo);
  const rounds: { ours: Load & Readings; bare: Load & Readings }[] = [];
  for (let round = 0; round < size.rounds; round++)
    rounds.push({ ours: await timed(api, () => from(to)), bare: await timed(bare, () => from(bareTo)) });
  await bare.end();
  for (const { ours } of rounds) mustBe(200, ours);
  const best = Math.max(...rounds.map(({ ours }) => ours.perSecond));
  report.add({
    name: 'authenticated reads',
    value: best,
    unit: '1/s',
    wanted: { atLeast: 10_000 },
    note: 'best round',
  });
  const p99 = Math.min(...rounds.map(({ ours }) => percentile(ours.times, 0.99)));
  report.add({ name: 'authenticated reads, p99', value: p99, unit: 'ms', wanted: { atMost: 10 }, note: 'best round' });
  const ratio = median(rounds.map(({ ours, bare: other }) => other.cpuMs / ours.cpuMs));
  report.add({ name: 'reads, bare TLS server by CPU', value: ratio, unit: '' });
}

async function authentication(seeded: Seeded): Promise<void> {
  const server = startServer();
  const accessKey = seeded.owners[0] as string;
  const rounds = await server.ask<[number, number][]>({
    kind: 'authenticate',
    folder,
    population,
    accessKey,
    rounds: 10,
  });
  await server.end();
  report.add({
    name: 'authentication',
    value: Math.min(...rounds.map(([ours]) => ours)),
    unit: 'µs',
    wanted: { atMost: 30 },
  });
  const ratio = median(rounds.map(([ours, bare]) => ours / bare));
  report.add({ name: 'authentication / bare HMAC and look-up', value: ratio, unit: '' });
}

async function pages(api: AskedProcess<ServerCommand>, to: Target, admin: string): Promise<void> {
  const page = (after: string) =>
    client.ask<Load>({
      ...{ kind: 'load', to, connections: 1, requests: 1, method: 'GET', keys: [admin] },
      paths: [`${keysPath}?limit=500${after === '' ? '' : `&continue=${encodeURIComponent(after)}`}`],
    });
  const stalls: number[] = [];
  const times: number[] = [];
  let count = 0;
  let after = '';
  do {
    const done = await timed(api, () => page(after));
    mustBe(200, done);
    const { items, metadata } = JSON.parse(done.lastBody) as { items: unknown[]; metadata: { continue?: string } };
    count += items.length;
    stalls.push(done.longestStallMs);
    times.push(done.times[0] as number);
    after = metadata.continue ?? '';
  } while (after !== '');
  if (count < population.keys) throw new Error(`wanted ${population.keys} keys in pages, got ${count}`);
  report.add({ name: 'page of 500, longest stall', value: Math.max(...stalls), unit: 'ms', wanted: { atMost: 25 } });
  report.add({ name: 'page of 500, median', value: median(times), unit: 'ms' });
}

/** What a request costs that returns little among very many. */
async function oneOwner(to: Target, seeded: Seeded): Promise<void> {
  const ask = async (path: string, requests = 200): Promise<number> => {
    const done = await client.ask<Load>({
      kind: 'load',
      to,
      connections: 1,
      requests,
      method: 'GET',
      paths: [path],
      keys: [seeded.few],
    });
    mustBe(200, done);
    return median(done.times);
  };
  const single = await ask(`${keysPath}/few-0`);
  const list = await ask(keysPath);
  report.add({ name: 'list of one owner with 10 keys', value: list, unit: 'ms', wanted: { atMost: 5 } });
  report.add({ name: 'list of one owner / one get', value: list / single, unit: '' });
  const named = await ask(`${keysPath}?fieldSelector=metadata.name%3Dfew-0`);
  report.add({ name: 'list of one name', value: named, unit: 'ms', wanted: { atMost: 5 } });
  const times: number[] = [];
  for (let round = 0; round < 20; round++) {
    const beganMs = performance.now();
    await client.ask({ kind: 'watch', to, path: `${keysPath}?watch=true`, keys: [seeded.few] });
    const heard = await client.ask<number>({ kind: 'heard', atLeast: 10, withinMs: 30_000 });
    if (heard !== 10) throw new Error(`wanted 10 keys in the watch of one owner, got ${heard}`);
    times.push(performance.now() - beganMs);
    await client.ask({ kind: 'leave' });
  }
  report.add({
    name: 'watch of one owner, first 10 keys',
    value: median(times),
    unit: 'ms',
    note: 'with a new connection',
  });
}

/** Half of the watchers see every change, the others a thousandth. CPU of the same changes without watchers is taken off. */
async function fanOut(api: AskedProcess<ServerCommand>, to: Target, seeded: Seeded): Promise<void> {
  const paths = Array.from({ length: 200 }, (_, index) => `${keysPath}/key-${(index * 7) % population.keys}`);
  const change = (round: string) =>
    client.ask<Load>({
      ...{ kind: 'load', to, connections: 8, requests: size.changes, method: 'PATCH', paths, keys: [seeded.admin] },
      bodies: [`{"metadata":{"labels":{"n":"${round}-$N"}}}`],
      type: 'application/merge-patch+json',
    });
  const { lastBody } = await change('warm');
  const line = `${JSON.stringify({ type: 'MODIFIED', object: JSON.parse(lastBody) })}\n`;
  const bare = startServer();
  const bareTo = await bare.ask<Serving>({ kind: 'bare', body: '' });
  const ratios: number[] = [];
  for (let round = 0; round < size.rounds; round++) {
    const alone = await timed(api, () => change(`${round}-alone`));
    const { metadata } = JSON.parse(
      (
        await client.ask<Load>({
          kind: 'load',
          to,
          connections: 1,
          requests: 1,
          method: 'GET',
          paths: [`${keysPath}?limit=1`],
          keys: [seeded.admin],
        })
      ).lastBody,
    );
    const all = Array.from({ length: watchers }, (_, index) =>
      index < watchers / 2 ? seeded.admin : (seeded.owners[index % seeded.owners.length] as string),
    );
    const path = `${keysPath}?watch=true&resourceVersion=${metadata.resourceVersion}`;
    await client.ask({ kind: 'watch', to, path, keys: all });
    const atLeast = (size.changes * watchers) / 2;
    const watched = await timed(api, async () => {
      const done = await change(`${round}-watched`);
      const heard = await client.ask<number>({ kind: 'heard', atLeast, withinMs: 60_000 });
      if (heard < atLeast) throw new Error(`wanted ${atLeast} deliveries, got ${heard}`);
      return done;
    });
    const deliveries = await client.ask<number>({ kind: 'heard', atLeast, withinMs: 1 });
    await client.ask({ kind: 'leave' });
    await client.ask({ kind: 'watch', to: bareTo, path: '/?watch=', keys: all.slice(0, watchers / 2) });
    const sent = await timed(bare, async () => {
      await bare.ask({ kind: 'send', line, times: size.changes });
      await client.ask({ kind: 'heard', atLeast, withinMs: 60_000 });
      return watched;
    });
    await client.ask({ kind: 'leave' });
    ratios.push(sent.cpuMs / atLeast / (Math.max(1, watched.cpuMs - alone.cpuMs) / deliveries));
  }
  await bare.end();
  report.add({
    name: 'fan-out to 100 watchers, bare TLS by CPU',
    value: median(ratios),
    unit: '',
    wanted: { atLeast: 0.7 },
  });
}

async function creates(): Promise<void> {
  const small: Population = { keys: 0, owners: 1 };
  const rates: Record<'sqlite' | 'memory', number[]> = { sqlite: [], memory: [] };
  const costs: number[] = [];
  for (let round = 0; round < size.rounds; round++)
    for (const store of round % 2 === 0 ? (['sqlite', 'memory'] as const) : (['memory', 'sqlite'] as const)) {
      const server = startServer();
      const path = mkdtempSync(join(folder, 'creates-'));
      const to = await server.ask<Serving>({ kind: 'serve', folder: path, population: small, store });
      const bodies = [`{"metadata":{"name":"made-$N"},"spec":{"user":"few"}}`];
      const done = await timed(server, () =>
        client.ask<Load>({
          kind: 'load',
          to,
          connections: writers,
          requests: size.creates,
          method: 'POST',
          paths: [keysPath],
          keys: [to.admin],
          bodies,
        }),
      );
      mustBe(201, done);
      rates[store].push(done.perSecond);
      if (store === 'sqlite') costs.push((done.cpuMs / size.creates) * 1000);
      await server.end();
    }
  report.add({
    name: 'creates of 16 writers',
    value: median(rates.sqlite),
    unit: '1/s',
    note: 'audit lines on the disk included',
  });
  report.add({ name: 'creates, processor time of the server each', value: median(costs), unit: 'µs' });
  const ratio = median(rates.sqlite.map((rate, round) => rate / (rates.memory[round] as number)));
  report.add({ name: 'creates, SQLite / memory store', value: ratio, unit: '', wanted: { atLeast: 0.7 } });
}

const wants = (part: string) => values.only === '' || values.only === part;
try {
  const seedMs = performance.now();
  const seeded = await seed(folder, population);
  report.add({
    name: 'keys',
    value: population.keys,
    unit: '',
    note: `seeded in ${Math.round(performance.now() - seedMs)} ms`,
  });
  if (wants('authentication')) await authentication(seeded);
  const api = startServer();
  const startMs = performance.now();
  const to = await api.ask<Serving>({ kind: 'serve', folder, population, store: 'sqlite' });
  report.add({ name: 'start to serving', value: performance.now() - startMs, unit: 'ms' });
  const { rssMb } = await api.ask<Readings>({ kind: 'read' });
  report.add({ name: 'RSS after the start', value: rssMb, unit: 'MiB', wanted: { atMost: 250 } });
  if (wants('reads')) await reads(api, to, seeded);
  if (wants('owner')) await oneOwner(to, seeded);
  if (wants('pages')) await pages(api, to, seeded.admin);
  if (wants('fanout')) await fanOut(api, to, seeded);
  report.add({ name: 'RSS at the end', value: (await api.ask<Readings>({ kind: 'read' })).rssMb, unit: 'MiB' });
  await api.end();
  if (wants('creates')) await creates();
} finally {
  await processes.end();
  rmSync(folder, { recursive: true, force: true });
}
process.stdout.write(`${JSON.stringify(report.figures)}\n${report.save(load())}\n`);
for (const { name } of gate ? gateFigures(report, managementGateLimits) : []) {
  process.stdout.write(`gate tripped: ${name}\n`);
  process.exitCode = 1;
}
