// What does the second kind cost: the first sync of many EndpointSlices beside a bare writer that creates the same bytes, and the
// memory with as many objects of each kind beside one kind alone? Takes two kubeconfigs of empty clusters (`--virtual F --host F`),
// two embedded clusters (`--embedded`), or starts two kube-apiservers from KUBEBUILDER_ASSETS. Three addresses an object.
// `node bench/second-kind.bench.ts [--count N] [--pairs N] [--only first,memory] [--profile DIR]`
import { parseArgs } from 'node:util';
import { ApiClient, type Reach, reachOf } from './api-client.ts';
import type { DaemonOptions } from './daemon-process.ts';
import { Harness } from './harness.ts';
import { outputFolder } from './output-folder.ts';
import { givenBackMs, load, wait } from './processes.ts';
import { Report } from './report.ts';
import { hostNamespace, keysOf, seedHost, seedServices, seedSlices, seedVirtual } from './workload.ts';

const { values } = parseArgs({
  options: {
    virtual: { type: 'string' },
    host: { type: 'string' },
    embedded: { type: 'boolean', default: false },
    count: { type: 'string', default: '10000' },
    pairs: { type: 'string', default: '3' },
    /** Folder for CPU profiles of the daemon. */
    profile: { type: 'string' },
    /** A list from first, memory. */
    only: { type: 'string' },
  },
});

const profile = outputFolder('--profile', values.profile);
const report = new Report('second-kind', load());
const harness = new Harness();
const keys = keysOf(Number(values.count));
/** As many requests at once as the writer of the daemon has under way. */
const bareConcurrency = 32;
const scrapeMs = 100;
/** Pause between two looks until the first write. */
const soonMs = 10;
const created = 'hostward_sync_requests_total{request="create",kind="EndpointSlice"}';
const hostSlices = `/apis/discovery.k8s.io/v1/namespaces/${hostNamespace}/endpointslices`;
type Kinds = NonNullable<DaemonOptions['kinds']>;

try {
  await main();
  process.stdout.write(`${report.save(load())}\n`);
} finally {
  await harness.close();
}

async function main(): Promise<void> {
  const options: DaemonOptions = {
    virtualKubeconfig: values.virtual ?? (await start('virtual')),
    hostKubeconfig: values.host ?? (await start('host')),
    profileTo: profile,
  };
  const wants = (part: string): boolean => values.only === undefined || values.only.split(',').includes(part);
  const virtual = new ApiClient(await reachOf(options.virtualKubeconfig));
  const reach = await reachOf(options.hostKubeconfig);
  harness.build('none');
  await seedHost(new ApiClient(reach));
  await seedServices(virtual, keys);
  await seedSlices(virtual, keys);
  if (wants('first')) await firstSync(options, reach);
  if (wants('memory')) {
    await seedVirtual(virtual, keys);
    await memory(options);
  }
}

async function start(name: string): Promise<string> {
  return values.embedded ? (await harness.startCluster(name)).kubeconfig : harness.startRealCluster(name);
}

/** The bare writer creates what the daemon created before, so that both send the same bytes. */
async function firstSync(options: DaemonOptions, reach: Reach): Promise<void> {
  const host = new ApiClient(reach);
  const bare = harness.startBareWriter();
  const rounds: { daemon: number; writing: number; bare: number }[] = [];
  for (let pair = 0; pair < Number(values.pairs); pair++) {
    const daemon = await firstSyncOnce(options);
    await bare.prepareCreates({ reach, path: hostSlices });
    await empty(host);
    const { seconds } = await bare.go({ concurrency: bareConcurrency });
    await empty(host);
    rounds.push({ ...daemon, bare: seconds });
  }
  await bare.close();
  const median = (list: number[]): number => list.sort((a, b) => a - b)[list.length >> 1] as number;
  const value = median(rounds.map((round) => round.daemon / round.bare));
  const writing = median(rounds.map((round) => round.writing / round.bare));
  const seconds = rounds.map((round) => `${round.daemon.toFixed(1)} / ${round.bare.toFixed(1)} s`).join(', ');
  const name = `first sync of ${keys.length} slices / bare writer`;
  report.add({ name, value, unit: '', wanted: { atMost: 1.5 }, note: seconds });
  report.add({ name: 'the same from the first write on', value: writing, unit: '' });
  report.details['rounds'] = rounds;
}

/** Seconds from the start of the process to the last create, so start and first lists count too; `writing`: without them. */
async function firstSyncOnce(options: DaemonOptions): Promise<{ daemon: number; writing: number }> {
  const daemon = await harness.startDaemon({ ...options, kinds: ['endpointSlices'] });
  await daemon.untilServing();
  let firstMs = 0;
  for (let count = 0; count < keys.length; await wait(firstMs === 0 ? soonMs : scrapeMs)) {
    count = (await daemon.metrics()).get(created) ?? 0;
    if (firstMs === 0 && count > 0) firstMs = performance.now();
  }
  const lastMs = performance.now();
  await daemon.stop();
  return { daemon: (lastMs - daemon.startMs) / 1000, writing: (lastMs - firstMs) / 1000 };
}

async function empty(host: ApiClient): Promise<void> {
  await host.expect({ method: 'DELETE', path: hostSlices });
  while ((await host.list(`${hostSlices}`)).length > 0) await wait(scrapeMs);
}

/** Of a daemon that has started with everything in sync, because a first sync leaves a larger heap behind. */
async function memory(options: DaemonOptions): Promise<void> {
  await inSyncMb(options, ['endpoints', 'endpointSlices']);
  const endpoints = await inSyncMb(options, ['endpoints']);
  const slices = await inSyncMb(options, ['endpointSlices']);
  const both = await inSyncMb(options, ['endpoints', 'endpointSlices']);
  const told = `${both.toFixed(0)} MiB both, ${endpoints.toFixed(0)} Endpoints, ${slices.toFixed(0)} slices`;
  const name = `memory with ${keys.length} of each kind / Endpoints alone`;
  report.add({ name, value: both / endpoints, unit: '', wanted: { atMost: 1.6 }, note: told });
  report.add({ name: 'the same / slices alone', value: both / slices, unit: '', wanted: { atMost: 1.6 } });
}

async function inSyncMb(options: DaemonOptions, kinds: Kinds): Promise<number> {
  const daemon = await harness.startDaemon({ ...options, kinds });
  await daemon.untilReady();
  await daemon.untilIdle();
  await wait(givenBackMs);
  const { rssMb } = daemon.memory();
  await daemon.stop();
  return rssMb;
}
