// Is the sync as quick, frugal and tight as it was? Ratios against a bare writer, in at most five minutes, each with its interval; a figure that scatters too
// much is no pass. Its limits for memory and CPU were never seen on a quiet machine, so `.ci/run` does not call it yet. `npm run bench:quick [-- --plant event|get|leak]`: each planted fault must trip it.
import { parseArgs } from 'node:util';
import { ApiClient, reachOf } from './api-client.ts';
import type { DaemonOptions, DaemonProcess, Plant } from './daemon-process.ts';
import { type DaemonRound, drainRounds } from './drain-rounds.ts';
import { type ClusterProcess, Harness } from './harness.ts';
import { type Gated, gated, type Limit, slopes } from './interval-gate.ts';
import { load, wait } from './processes.ts';
import { Report } from './report.ts';
import { changeAll, type Key, keysOf, seedHost, seedVirtual } from './workload.ts';

const objects = 800;
const pairs = 7;
/** For the leak: the first rounds warm the daemon up, and their growth does not count. */
const leakRounds = { warm: 3, counted: 7 };
const restMs = 400;
const memorySamples = 6;

const limits = {
  drain: { name: 'drain / bare writer', wanted: { atLeast: 0.2 }, widest: { share: 0.8 } },
  cpu: { name: 'CPU of a change / bare writer', wanted: { atMost: 6 }, widest: { share: 0.8 } },
  requests: { name: 'requests per change', wanted: { atMost: 1.05 }, widest: { most: 0.05 } },
  leak: { name: 'bytes of memory left by a change', wanted: { atMost: 2_500 }, widest: { most: 4_000 } },
} as const satisfies Record<string, Limit>;

/** Of the last change of all objects; other rounds use the numbers below. */
let variant = 220;

const { values } = parseArgs({ options: { plant: { type: 'string', default: 'none' } } });
const plants: readonly string[] = ['none', 'event', 'get', 'leak'] satisfies Plant[];
if (!plants.includes(values.plant)) throw new Error(`--plant is one of ${plants.join(', ')}, found "${values.plant}"`);
const plant = values.plant as Plant;
const report = new Report('quick', load());
const harness = new Harness();
try {
  const figures = await measure();
  for (const { name, value, low, high, trips } of figures)
    report.add({
      name,
      value,
      unit: '',
      note: `95 % interval ${low} to ${high}${trips === undefined ? '' : `: gate tripped, ${trips}`}`,
    });
  process.stdout.write(`load average ${load()}; results in ${report.save(load())}\n`);
  process.exitCode = figures.some(({ trips }) => trips !== undefined) ? 1 : 0;
} finally {
  await harness.close();
}

async function measure(): Promise<Gated[]> {
  harness.build(plant);
  const [virtual, host] = await Promise.all([harness.startCluster('virtual'), harness.startCluster('host')]);
  const client = new ApiClient(await reachOf(virtual.kubeconfig));
  const reach = await reachOf(host.kubeconfig);
  const hostClient = new ApiClient(reach);
  const keys = keysOf(objects);
  await seedVirtual(client, keys);
  await seedHost(hostClient);
  await hostClient.close();
  const options: DaemonOptions = { virtualKubeconfig: virtual.kubeconfig, hostKubeconfig: host.kubeconfig, plant };
  // The objects are on the host before anything counts.
  const first = await harness.startDaemon(options);
  await host.untilWritten(keys.length);
  const leaks = await leakOf(first, { client, host, keys });
  await first.stop();
  const rounds = await drainRounds({
    pairs,
    keys,
    reach,
    bare: () => harness.startBareWriter(),
    changeVirtual: (variant) => changeAll(client, keys, variant),
    drain: () => drainOnce(options, host, client, keys),
  });
  await client.close();
  report.details['rounds'] = rounds;
  return [
    gated(
      limits.drain,
      rounds.pairs.map(({ bare, daemon }) => daemon.perSecond / bare.perSecond),
    ),
    gated(
      limits.cpu,
      rounds.pairs.map(({ bare, daemon }) => daemon.cpuMs / bare.cpuMs),
    ),
    gated(
      limits.requests,
      rounds.pairs.map(({ daemon }) => daemon.requestsPerChange),
    ),
    gated(limits.leak, leaks),
  ];
}

/** The backlog first, then a live round whose CPU counts: a start costs the same however slow a change is. */
async function drainOnce(
  options: DaemonOptions,
  host: ClusterProcess,
  client: ApiClient,
  keys: readonly Key[],
): Promise<DaemonRound> {
  await host.reset();
  const daemon = await harness.startDaemon(options);
  const { firstMs, lastMs } = await host.untilWritten(keys.length);
  await daemon.untilIdle();
  const { writes, reads } = await host.read();
  await host.reset();
  const beforeMs = daemon.cpuMs;
  await changeAll(client, keys, nextVariant());
  await host.untilWritten(keys.length);
  await daemon.untilIdle();
  const cpuMs = daemon.cpuMs - beforeMs;
  await daemon.stop();
  return {
    perSecond: (keys.length - 1) / ((lastMs - firstMs) / 1000),
    requestsPerChange: (writes + reads) / keys.length,
    cpuMs,
  };
}

/** The slopes of the resident memory over rounds of changes, in bytes a change. */
async function leakOf(
  daemon: DaemonProcess,
  { client, host, keys }: { client: ApiClient; host: ClusterProcess; keys: readonly Key[] },
): Promise<number[]> {
  const points: { x: number; y: number }[] = [];
  for (let round = 0; round < leakRounds.warm + leakRounds.counted; round++) {
    await host.reset();
    await changeAll(client, keys, nextVariant());
    const leasts: number[] = [];
    await host.untilWritten(keys.length);
    for (let sample = 0; sample < memorySamples; sample++) {
      leasts.push(daemon.memory().rssMb * 1024 * 1024);
      await wait(restMs / memorySamples);
    }
    // The least of some samples is nearest to what a collection would leave.
    if (round >= leakRounds.warm) points.push({ x: round * keys.length, y: Math.min(...leasts) });
  }
  report.details['memory'] = points;
  return slopes(points);
}

function nextVariant(): number {
  variant = variant >= 255 ? 220 : variant + 1;
  return variant;
}
