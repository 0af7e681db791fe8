// How fast, how prompt and how small is the sync of ten thousand Endpoints between two embedded API servers? The same run measures
// a bare writer of the same bytes. README.md has the method. `node bench/sync.bench.ts [--gate]`: the gate is the short run that
// every change must pass.
import { parseArgs } from 'node:util';
import { ApiClient, reachOf } from './api-client.ts';
import type { DaemonOptions, DaemonProcess, Plant } from './daemon-process.ts';
import { type DaemonRound, drainRounds, type Rounds, summary } from './drain-rounds.ts';
import { gateFigures, gateSize } from './gate.ts';
import { type ClusterProcess, Harness } from './harness.ts';
import { outputFolder } from './output-folder.ts';
import { type PatchRun, patchEntries, patchRounds, reportShares } from './patch-rounds.ts';
import { load, settledMs, wait } from './processes.ts';
import { Report } from './report.ts';
import { spread } from './statistics.ts';
import { changeAll, changeOpenLoop, hostNameOf, type Key, keysOf, seedHost, seedVirtual } from './workload.ts';

/** Rounds that change every object while a daemon with patches runs; only the last round counts. */
const warmRuns = 2;

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '10000' },
    pairs: { type: 'string', default: '7' },
    /** Size of the list that must not stall the loop; 0 skips this part. */
    list: { type: 'string', default: '100000' },
    gate: { type: 'boolean', default: false },
    plant: { type: 'string', default: 'none' },
    profile: { type: 'string' },
    only: { type: 'string' },
  },
});

interface Scene {
  harness: Harness;
  virtual: ClusterProcess;
  host: ClusterProcess;
  client: ApiClient;
  options: DaemonOptions;
  keys: Key[];
  report: Report;
}

const profile = outputFolder('--profile', values.profile);
const report = new Report(values.gate ? 'gate' : 'sync', load());
const harness = new Harness();
try {
  process.exitCode = await main();
} finally {
  await harness.close();
}

async function main(): Promise<number> {
  const plant = plantOf(values.plant);
  harness.build(plant);
  const { gate } = values;
  const scene = await openScene(keysOf(gate ? gateSize.objects : Number(values.count)), plant);
  const wants = (part: string): boolean => values.only === undefined || values.only.split(',').includes(part);
  await firstSync(scene);
  if (wants('drain')) await drain(scene, { pairs: gate ? gateSize.pairs : Number(values.pairs) });
  if (!gate && wants('patches')) await patched(scene, 5);
  if (wants('latency')) await latency(scene, gate ? gateSize.latencySeconds : 20);
  if (wants('restart')) await restart(scene);
  await scene.client.close();
  if (!gate && wants('list') && Number(values.list) > 0) await longList(Number(values.list));
  const missed = gate ? gateFigures(report) : report.missed();
  process.stdout.write(`load average ${load()}; results in ${report.save(load())}\n`);
  for (const { name } of missed) process.stdout.write(`${gate ? 'gate tripped' : 'not reached'}: ${name}\n`);
  return gate && missed.length > 0 ? 1 : 0;
}

function plantOf(text: string): Plant {
  if (text === 'none' || text === 'event' || text === 'get' || text === 'leak') return text;
  throw new Error(`--plant wants none, event, get or leak, found "${text}"`);
}

async function openScene(keys: Key[], plant: Plant): Promise<Scene> {
  const [virtual, host] = await Promise.all([harness.startCluster('virtual'), harness.startCluster('host')]);
  const client = new ApiClient(await reachOf(virtual.kubeconfig));
  const hostClient = new ApiClient(await reachOf(host.kubeconfig));
  await seedVirtual(client, keys);
  await seedHost(hostClient);
  await hostClient.close();
  const options = {
    virtualKubeconfig: virtual.kubeconfig,
    hostKubeconfig: host.kubeconfig,
    profileTo: profile,
    plant,
  };
  return { harness, virtual, host, client, options, keys, report };
}

async function firstSync({ host, options, keys }: Scene): Promise<void> {
  await host.reset();
  const startedMs = monotonicMs();
  const daemon = await harness.startDaemon(options);
  const readings = await host.untilWritten(keys.length);
  report.add({ name: 'first sync: first write after', value: (readings.firstMs - startedMs) / 1000, unit: 's' });
  report.add({ name: 'first sync: all written after', value: (readings.lastMs - startedMs) / 1000, unit: 's' });
  await settled(daemon);
  const { rssMb, peakMb } = daemon.memory();
  report.add({ name: 'memory after first sync (RSS)', value: rssMb, unit: 'MiB', note: `peak ${peakMb.toFixed(0)}` });
  await daemon.stop();
}

async function drain(scene: Scene, { pairs }: { pairs: number }): Promise<void> {
  const { host, client, keys } = scene;
  const rounds = await drainRounds({
    pairs,
    keys,
    bare: () => harness.startBareWriter(),
    reach: await reachOf(host.kubeconfig),
    changeVirtual: (variant) => changeAll(client, keys, variant),
    drain: () => drainOnce(scene, 0),
  });
  reportRounds(rounds);
}

async function drainOnce({ host, options, keys }: Scene, patches: number): Promise<DaemonRound> {
  await host.reset();
  const daemon = await harness.startDaemon({ ...options, patches: patchEntries(patches) });
  const readings = await host.untilWritten(keys.length);
  await daemon.untilIdle();
  const cpuMs = daemon.cpuMs;
  const { writes, reads } = await host.read();
  await daemon.stop();
  const seconds = (readings.lastMs - readings.firstMs) / 1000;
  return { perSecond: (keys.length - 1) / seconds, requestsPerChange: (writes + reads) / keys.length, cpuMs };
}

async function patched(scene: Scene, rounds: number): Promise<void> {
  const { client, keys } = scene;
  const took = await patchRounds({
    rounds,
    changeVirtual: (variant) => changeAll(client, keys, variant),
    run: (patches, change) => sustained(scene, patches, change),
  });
  reportShares(report, 'sustained rate', took);
}

/** Stops a warm daemon while every object changes, and then lets it continue. */
async function sustained(
  { host, options, keys }: Scene,
  patches: number,
  change: () => Promise<void>,
): Promise<PatchRun> {
  await change();
  await host.reset();
  const daemon = await harness.startDaemon({ ...options, patches: patchEntries(patches) });
  const drained = async (): Promise<DaemonRound> => {
    const { firstMs, lastMs } = await host.untilWritten(keys.length);
    await daemon.untilIdle();
    const { writes, reads } = await host.read();
    const requestsPerChange = (writes + reads) / keys.length;
    return { perSecond: (keys.length - 1) / ((lastMs - firstMs) / 1000), requestsPerChange, cpuMs: 0 };
  };
  const moved = { ...(await drained()), cpuMs: daemon.cpuMs };
  const runs: DaemonRound[] = [];
  for (let run = 0; run < warmRuns; run++) {
    daemon.pause();
    await change();
    await host.reset();
    const beforeMs = daemon.cpuMs;
    daemon.resume();
    runs.push({ ...(await drained()), cpuMs: daemon.cpuMs - beforeMs });
  }
  await daemon.stop();
  // The first round completes the warm-up.
  return { moved, took: runs.at(-1) as DaemonRound };
}

function reportRounds(rounds: Rounds): void {
  const { ratio, low, high, bare, daemon, requestsPerChange } = summary(rounds);
  report.details['drain'] = rounds;
  report.add({ name: 'bare writer', value: bare, unit: 'writes/s', note: `best with ${rounds.concurrency} in flight` });
  report.add({ name: 'drain', value: daemon, unit: 'writes/s' });
  const note = `95 % interval ${low.toFixed(2)} to ${high.toFixed(2)} of ${rounds.pairs.length} pairs`;
  report.add({ name: 'drain / bare writer', value: ratio, unit: '', wanted: { atLeast: 0.7 }, note });
  report.add({ name: 'requests per change', value: requestsPerChange, unit: '', wanted: { atMost: 1 } });
}

async function latency({ virtual, host, client, options, keys }: Scene, seconds: number): Promise<void> {
  const daemon = await harness.startDaemon(options);
  await daemon.untilReady();
  await daemon.untilIdle();
  // Runs twice, so that the second run measures a daemon with compiled code.
  let capacity = 0;
  for (const variant of [201, 202]) {
    await host.reset();
    const cpuBefore = daemon.cpuMs;
    await changeAll(client, keys, variant);
    const burst = await host.untilWritten(keys.length);
    capacity = (keys.length - 1) / ((burst.lastMs - burst.firstMs) / 1000);
    if (variant === 202) {
      const cpu = (daemon.cpuMs - cpuBefore) / keys.length;
      report.add({ name: 'live changes, as fast as they go', value: capacity, unit: '1/s' });
      report.add({ name: 'processor time per live change', value: cpu, unit: 'ms' });
    }
  }
  await daemon.untilIdle();
  const samples: number[] = [];
  const perSecond = capacity / 2;
  for (let variant = 210; samples.length < perSecond * seconds * 0.95 && variant < 250; variant++) {
    await Promise.all([virtual.reset(), host.reset()]);
    const total = await changeOpenLoop(client, keys, { perSecond, seconds, variant });
    await host.untilWritten(total);
    const [told, written] = await Promise.all([virtual.read(), host.read()]);
    const arrived = new Map(written.arrived);
    const atByName = new Map(told.told);
    for (const key of keys.slice(0, total)) {
      const atMs = atByName.get(key.name);
      const thenMs = arrived.get(hostNameOf(key));
      if (atMs !== undefined && thenMs !== undefined) samples.push(thenMs - atMs);
    }
  }
  const times = spread(samples);
  report.details['eventToWriteMs'] = { ...times, perSecond };
  const note = `${samples.length} events at ${perSecond.toFixed(0)}/s, max ${times.max}`;
  report.add({ name: 'event to write at half load, p50', value: times.p50, unit: 'ms', note });
  report.add({ name: 'event to write at half load, p99', value: times.p99, unit: 'ms', wanted: { atMost: 3 } });
  await daemon.stop();
}

async function restart({ host, options, keys }: Scene): Promise<void> {
  const took: number[] = [];
  let writes = 0;
  let memory = { rssMb: 0, peakMb: 0 };
  for (let repetition = 0; repetition < 3; repetition++) {
    await host.reset();
    const daemon = await harness.startDaemon(options);
    took.push(await daemon.untilReady());
    await daemon.untilIdle();
    await settled(daemon);
    writes += (await host.read()).writes;
    memory = daemon.memory();
    await daemon.stop();
  }
  const value = Math.min(...took) / 1000;
  const note = `the best of ${took.map((ms) => (ms / 1000).toFixed(2)).join(', ')}`;
  const size = keys.length;
  report.add({ name: `restart with ${size} in sync: ready after`, value, unit: 's', wanted: { atMost: 1.5 }, note });
  report.add({ name: 'writes of three restarts in sync', value: writes, unit: '', wanted: { atMost: 0 } });
  const { rssMb, peakMb } = memory;
  const peak = `peak ${peakMb.toFixed(0)}`;
  report.add({
    name: `memory with ${size} in sync (RSS)`,
    value: rssMb,
    unit: 'MiB',
    wanted: { atMost: 96 },
    note: peak,
  });
}

/** Lists a hundred thousand Services and Endpoints on the virtual side. They are not eligible, so the daemon writes nothing. */
async function longList(count: number): Promise<void> {
  const [virtual, host] = await Promise.all([harness.startCluster('long'), harness.startCluster('empty')]);
  const hostClient = new ApiClient(await reachOf(host.kubeconfig));
  await seedHost(hostClient);
  await hostClient.close();
  await virtual.plant(count);
  const options = { virtualKubeconfig: virtual.kubeconfig, hostKubeconfig: host.kubeconfig, profileTo: profile };
  const stalls: number[] = [];
  let readyMs = 0;
  for (let repetition = 0; repetition < 3; repetition++) {
    const daemon = await harness.startDaemon(options);
    // Waits for the port, because the time before it answers belongs to the loading of the program.
    await daemon.untilServing();
    await daemon.longestStallMs();
    readyMs = await daemon.untilReady();
    await daemon.untilIdle();
    stalls.push(await daemon.longestStallMs());
    const { rssMb, peakMb } = daemon.memory();
    report.details[`longList${repetition}`] = { readyMs, rssMb, peakMb, stallMs: stalls.at(-1) };
    await daemon.stop();
  }
  report.add({ name: `first list of ${count}: ready after`, value: readyMs / 1000, unit: 's' });
  const note = `of ${stalls.map((ms) => ms.toFixed(1)).join(', ')}`;
  const value = [...stalls].sort((a, b) => a - b)[1] ?? Number.NaN;
  report.add({ name: `first list of ${count}: longest stall`, value, unit: 'ms', wanted: { atMost: 25 }, note });
}

async function settled(daemon: DaemonProcess): Promise<void> {
  await daemon.untilIdle();
  await wait(values.gate ? 500 : settledMs);
}

function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
