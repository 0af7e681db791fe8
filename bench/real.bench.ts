// How fast is the sync between two real API servers: first sync, drain against a bare writer, 200 changes a second, CPU for each
// change? Takes two kubeconfigs of empty clusters (`--virtual F --host F`), or starts two kube-apiservers from
// KUBEBUILDER_ASSETS. `node bench/real.bench.ts [--count N] [--pairs N] [--profile DIR] [--only PART,…]`
import { parseArgs } from 'node:util';
import { ApiClient, reachOf } from './api-client.ts';
import type { DaemonOptions, DaemonProcess } from './daemon-process.ts';
import { type DaemonRound, drainRounds, summary } from './drain-rounds.ts';
import { Harness } from './harness.ts';
import { measureLatency } from './latency.ts';
import { outputFolder } from './output-folder.ts';
import { patchEntries, patchRounds, reportShares } from './patch-rounds.ts';
import { givenBackMs, load, wait } from './processes.ts';
import { Report } from './report.ts';
import { spread } from './statistics.ts';
import { changeAll, keysOf, seedHost, seedVirtual } from './workload.ts';

const { values } = parseArgs({
  options: {
    virtual: { type: 'string' },
    host: { type: 'string' },
    count: { type: 'string', default: '10000' },
    pairs: { type: 'string', default: '7' },
    profile: { type: 'string' },
    /** A list from drain, patches, live, latency. */
    only: { type: 'string' },
  },
});

const profile = outputFolder('--profile', values.profile);
const report = new Report('real', load());
const harness = new Harness();
const keys = keysOf(Number(values.count));
/** Rarely enough that the requests do not add to the cost of a change. */
const scrapeMs = 250;
const patched = 'hostward_sync_requests_total{request="patch",kind="Endpoints"}';
const created = 'hostward_sync_requests_total{request="create",kind="Endpoints"}';

try {
  await main();
  process.stdout.write(`${report.save(load())}\n`);
} finally {
  await harness.close();
}

async function main(): Promise<void> {
  const options: DaemonOptions = {
    virtualKubeconfig: values.virtual ?? (await harness.startRealCluster('virtual')),
    hostKubeconfig: values.host ?? (await harness.startRealCluster('host')),
    profileTo: profile,
  };
  const virtual = new ApiClient(await reachOf(options.virtualKubeconfig));
  const reach = await reachOf(options.hostKubeconfig);
  const host = new ApiClient(reach);
  harness.build('none');
  await seedHost(host);
  await seedVirtual(virtual, keys);
  await firstSync(options);
  const wants = (part: string): boolean => values.only === undefined || values.only.split(',').includes(part);
  if (wants('drain')) await drains(options, { virtual, reach });
  if (wants('patches')) await patchedDrains(options, virtual);
  if (wants('live')) await liveChanges(options, virtual);
  if (wants('latency')) await latency(options, { virtual, host });
}

/** Polls the daemon's own count, because its port answers from memory in less than a millisecond. */
async function until(
  daemon: DaemonProcess,
  series: string,
  count: number,
): Promise<{ firstMs: number; lastMs: number }> {
  let firstMs = 0;
  for (;;) {
    const value = (await daemon.metrics()).get(series) ?? 0;
    if (firstMs === 0 && value > 0) firstMs = performance.now();
    if (value >= count) return { firstMs, lastMs: performance.now() };
    await wait(firstMs === 0 ? 20 : scrapeMs);
  }
}

async function firstSync(options: DaemonOptions): Promise<void> {
  const daemon = await harness.startDaemon(options);
  await daemon.untilServing();
  const { firstMs, lastMs } = await until(daemon, created, keys.length);
  report.add({ name: 'first write after', value: (firstMs - daemon.startMs) / 1000, unit: 's', wanted: { atMost: 2 } });
  report.add({ name: 'first sync', value: (lastMs - daemon.startMs) / 1000, unit: 's', wanted: { atMost: 12 } });
  await daemon.untilIdle();
  await wait(givenBackMs);
  const { rssMb, peakMb } = daemon.memory();
  const note = `peak ${peakMb.toFixed(0)}`;
  report.add({ name: 'memory in sync (RSS)', value: rssMb, unit: 'MiB', wanted: { atMost: 96 }, note });
  await daemon.stop();
}

async function drains(
  options: DaemonOptions,
  on: { virtual: ApiClient; reach: Awaited<ReturnType<typeof reachOf>> },
): Promise<void> {
  const rounds = await drainRounds({
    pairs: Number(values.pairs),
    keys,
    reach: on.reach,
    bare: () => harness.startBareWriter(),
    changeVirtual: (variant) => changeAll(on.virtual, keys, variant),
    drain: () => drainOnce(options),
  });
  const told = summary(rounds);
  report.add({ name: 'drain / bare writer', value: told.ratio, unit: '', wanted: { atLeast: 0.95 } });
  report.details['rounds'] = rounds;
}

async function drainOnce(options: DaemonOptions): Promise<DaemonRound> {
  const daemon = await harness.startDaemon(options);
  await daemon.untilServing();
  const { firstMs, lastMs } = await until(daemon, patched, keys.length);
  const cpuMs = daemon.cpuMs;
  const all = [...(await daemon.metrics())].filter(([name]) => name.startsWith('hostward_sync_requests_total'));
  const requests = all.reduce((sum, [, value]) => sum + value, 0);
  await daemon.stop();
  return { perSecond: keys.length / ((lastMs - firstMs) / 1000), cpuMs, requestsPerChange: requests / keys.length };
}

async function patchedDrains(options: DaemonOptions, virtual: ApiClient): Promise<void> {
  const rounds = await patchRounds({
    rounds: Number(values.pairs),
    changeVirtual: (variant) => changeAll(virtual, keys, variant),
    run: async (count, change) => {
      const drain = async (): Promise<DaemonRound> => {
        await change();
        return drainOnce({ ...options, patches: patchEntries(count) });
      };
      return { moved: await drain(), took: await drain() };
    },
  });
  reportShares(report, 'drain', rounds);
}

/** Sends changes as fast as the virtual side takes them while the daemon runs, all on one machine. */
async function liveChanges(options: DaemonOptions, virtual: ApiClient): Promise<void> {
  const daemon = await harness.startDaemon(options);
  await daemon.untilReady();
  await daemon.untilIdle();
  const [beforeMs, startMs] = [daemon.cpuMs, performance.now()];
  const counted = (await daemon.metrics()).get(patched) ?? 0;
  await changeAll(virtual, keys, 197);
  await daemon.untilIdle(scrapeMs);
  const seconds = (performance.now() - startMs) / 1000;
  const writes = ((await daemon.metrics()).get(patched) ?? 0) - counted;
  report.add({ name: `${keys.length} changes on the host after`, value: seconds, unit: 's', wanted: { atMost: 22 } });
  report.add({
    name: 'CPU per change',
    value: (daemon.cpuMs - beforeMs) / writes,
    unit: 'ms',
    wanted: { atMost: 0.35 },
  });
  await daemon.stop();
}

async function latency(
  options: DaemonOptions,
  { virtual, host }: { virtual: ApiClient; host: ApiClient },
): Promise<void> {
  const daemon = await harness.startDaemon(options);
  const { lags, answers, unseen } = await measureLatency(daemon, { virtual, host, keys });
  const own = spread(answers);
  const note = `p50 ${own.p50}, most ${own.max}`;
  report.add({ name: '200 a second, answer of the virtual server, p99', value: own.p99, unit: 'ms', note });
  const told = spread(lags);
  report.add({
    name: '200 changes a second, p50',
    value: told.p50,
    unit: 'ms',
    note: `${lags.length} seen, ${unseen} not, p90 ${told.p90}, most ${told.max}`,
  });
  report.add({ name: '200 changes a second, p99', value: told.p99, unit: 'ms', wanted: { atMost: 30 } });
  await daemon.stop();
}
