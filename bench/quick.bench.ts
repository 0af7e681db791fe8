// Is the sync as cheap, frugal and tight as it was? Ratios against a bare writer, each with its interval, in at most five minutes; a figure
// that scatters too much is no pass. Everything is counted in CPU time, requests and bytes that stay after a garbage collection, and nothing in
// time that passes, so that a busy machine says the same. `npm run bench:quick [-- --objects N --blocks N]`; `--planted`: also plays three
// builds that were made slow on purpose, and fails unless the gate notices each of them.
import { parseArgs } from 'node:util';
import { ApiClient, reachOf } from './api-client.ts';
import type { DaemonProcess, Plant } from './daemon-process.ts';
import { type BareProcess, type ClusterProcess, Harness } from './harness.ts';
import { type Gated, gated, quickLimits, steps } from './interval-gate.ts';
import { load } from './processes.ts';
import { Report } from './report.ts';
import { changeAll, endpointsOf, hostNamespace, type Key, keysOf, seedHost, seedVirtual } from './workload.ts';

type Figure = keyof typeof quickLimits;
/** What is slow about each build, and the figure that must say so. `get` comes last, because it changes the package itself. */
const slowBuilds = [
  { plant: 'event', what: '2 ms more for each event', trips: 'cpu' },
  { plant: 'leak', what: 'an object left by each event', trips: 'leak' },
  { plant: 'get', what: 'a GET more for each write', trips: 'requests' },
] as const satisfies readonly { plant: Plant; what: string; trips: Figure }[];
/** The bare writer changes objects that the daemon does not watch, because each would undo the other. */
const yardstick = 'yardstick';
/** The first changes compile the code and fill the tables that are bounded. */
const warmRounds = 4;
/** With fewer, the code is still being compiled and the bounded tables are still being filled when it counts. */
const leastObjects = 200;
/** What is slow on purpose is far from the limit, so that few rounds say it. */
const plantedBlocks = 4;
const bareConcurrency = 16;
const usage = 'npm run bench:quick -- [--objects N] [--blocks N] [--planted]\n';

const { objects, blocks, isPlanted } = given();
const report = new Report('quick', load());
const harness = new Harness();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void harness.close().then(() => process.exit(1)));
let variant = 0;
try {
  harness.build('none');
  const stage = await set();
  const missed = tell('', Object.values(await measure(stage, 'none')));
  for (const { plant, what, trips } of isPlanted ? slowBuilds : []) {
    if (plant === 'get') harness.plantGet();
    const figures = await measure(stage, plant);
    tell(`${what}: `, [figures[trips]]);
    // Even the lower end must be beyond the limit: a figure that merely scatters would not show that the fault was noticed.
    if (!(figures[trips].low > quickLimits[trips].wanted.atMost)) missed.push(`the gate does not notice ${what}`);
  }
  await stage.bare.close();
  await stage.client.close();
  process.stdout.write(`load average ${load()}; results in ${report.save(load())}\n`);
  for (const sentence of missed) process.stdout.write(`gate tripped: ${sentence}\n`);
  process.exitCode = missed.length > 0 ? 1 : 0;
} finally {
  await harness.close();
}

/** Says the figures, and returns what is wrong with them. */
function tell(about: string, figures: readonly Gated[]): string[] {
  for (const { name, value, low, high, trips } of figures) {
    const verdict = trips === undefined ? '' : `: ${trips}`;
    report.add({ name: about + name, value, unit: '', note: `95 % interval ${low} to ${high}${verdict}` });
  }
  return figures.flatMap(({ name, trips }) => (trips === undefined ? [] : [`${name}: ${trips}`]));
}

interface Stage {
  kubeconfigs: { virtualKubeconfig: string; hostKubeconfig: string };
  bare: BareProcess;
  host: ClusterProcess;
  /** Of the virtual cluster. */
  client: ApiClient;
  reach: Awaited<ReturnType<typeof reachOf>>;
  keys: readonly Key[];
}

/** Two clusters in step, and a bare writer with as many objects of its own. */
async function set(): Promise<Stage> {
  const [virtual, host] = await Promise.all([harness.startCluster('virtual'), harness.startCluster('host')]);
  const client = new ApiClient(await reachOf(virtual.kubeconfig));
  const reach = await reachOf(host.kubeconfig);
  const keys = keysOf(objects);
  await seedVirtual(client, keys);
  const hostClient = new ApiClient(reach);
  await seedHost(hostClient);
  const kubeconfigs = { virtualKubeconfig: virtual.kubeconfig, hostKubeconfig: host.kubeconfig };
  const daemon = await harness.startDaemon(kubeconfigs);
  await host.untilWritten(keys.length);
  await daemon.stop();
  await copyToYardstick(hostClient);
  await hostClient.close();
  return { kubeconfigs, bare: harness.startBareWriter(), host, client, reach, keys };
}

async function measure(stage: Stage, plant: Plant): Promise<Record<Figure, Gated>> {
  const daemon = await harness.startDaemon({ ...stage.kubeconfigs, plant, tellsReadings: true });
  await daemon.untilReady();
  const played = await play(stage, daemon, plant === 'none' ? blocks : plantedBlocks);
  await daemon.stop();
  report.details[plant] = played;
  const rounds = played.flatMap((block) => block.daemon);
  const ratios = played.map(sumOf).map(({ daemonMs, bareMs }) => daemonMs / bareMs);
  const requests = rounds.map((round) => round.requests);
  const held = rounds.map(({ heldBytes }, nth) => ({ x: nth * stage.keys.length, y: heldBytes }));
  return {
    cpu: gated(quickLimits.cpu, ratios),
    requests: gated(quickLimits.requests, requests),
    leak: gated(quickLimits.leak, steps(held)),
  };
}

/** The copies once more, in a namespace of their own. */
async function copyToYardstick(client: ApiClient): Promise<void> {
  const create = (path: string, object: object) =>
    client.expect({ method: 'POST', path, body: JSON.stringify(object), contentType: 'application/json' });
  await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: yardstick } });
  const copies = await client.list<Copy>(`/api/v1/namespaces/${hostNamespace}/endpoints`);
  for (const { metadata, subsets } of copies) {
    const { name, labels, annotations } = metadata;
    const own = endpointsOf({ namespace: yardstick, name }, 0, 0);
    await create(`/api/v1/namespaces/${yardstick}/endpoints`, {
      ...{ ...own, metadata: { namespace: yardstick, name, labels, annotations }, subsets },
    });
  }
}

interface Copy {
  metadata: { name: string; labels?: object; annotations?: object };
  subsets: object[];
}

interface Round {
  daemonMs: number;
  /** Of the daemon, for each change. */
  requests: number;
  heldBytes: number;
}

interface Block {
  daemon: [Round, Round];
  bareMs: [number, number];
}

/** Bare writer and daemon in turns, A B B A: what comes second in a turn finds other caches, so a block of four is one sample. */
async function play(stage: Stage, daemon: DaemonProcess, blocks: number): Promise<Block[]> {
  const ours = () => daemonRound(stage, daemon);
  const theirs = () => bareRound(stage);
  for (let round = 0; round < warmRounds; round++) {
    await ours();
    await theirs();
  }
  const played: Block[] = [];
  for (let nth = 0; nth < blocks; nth++) {
    const first = await theirs();
    const daemon: [Round, Round] = [await ours(), await ours()];
    played.push({ daemon, bareMs: [first, await theirs()] });
    const { daemonMs, bareMs } = sumOf(played.at(-1) as Block);
    const [one, other] = [bareMs, daemonMs].map((ms) => (ms / stage.keys.length / 2).toFixed(3));
    process.stdout.write(`  ${nth + 1}: a change costs the bare writer ${one} ms of CPU, the daemon ${other} ms\n`);
  }
  return played;
}

function sumOf({ daemon: [one, other], bareMs }: Block): { daemonMs: number; bareMs: number } {
  return { daemonMs: one.daemonMs + other.daemonMs, bareMs: bareMs[0] + bareMs[1] };
}

async function daemonRound({ host, client, keys }: Stage, daemon: DaemonProcess): Promise<Round> {
  await host.reset();
  const beforeMs = await daemon.reading('cpuMs');
  await changeAll(client, keys, nextVariant());
  await host.untilWritten(keys.length);
  // The echoes of the last writes are part of their price.
  await daemon.untilIdle(50);
  const daemonMs = (await daemon.reading('cpuMs')) - beforeMs;
  const { writes, reads } = await host.read();
  return { daemonMs, requests: (writes + reads) / keys.length, heldBytes: await daemon.reading('heldBytes') };
}

async function bareRound({ bare, reach, keys }: Stage): Promise<number> {
  await bare.prepare({ reach, count: keys.length, variant: nextVariant(), namespace: yardstick });
  const { cpuMs } = await bare.go({ concurrency: bareConcurrency });
  return cpuMs;
}

/** A part of an address: every round changes every object. */
function nextVariant(): number {
  variant = (variant % 255) + 1;
  return variant;
}

function given(): { objects: number; blocks: number; isPlanted: boolean } {
  const values = words();
  if (values.help) {
    process.stdout.write(usage);
    process.exit(0);
  }
  const [objects, blocks] = [Number(values.objects), Number(values.blocks)];
  if (!(objects >= leastObjects && objects <= 10_000))
    refuse(`--objects is a number from ${leastObjects} to 10000, found "${values.objects}"`);
  if (!(blocks >= 5 && blocks <= 50)) refuse(`--blocks is a number from 5 to 50, found "${values.blocks}"`);
  return { objects, blocks, isPlanted: values.planted };
}

function words() {
  try {
    return parseArgs({
      options: {
        objects: { type: 'string', default: '300' },
        blocks: { type: 'string', default: '6' },
        planted: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    return refuse((error as Error).message);
  }
}

function refuse(why: string): never {
  process.stderr.write(`bench:quick: ${why}\n${usage}`);
  process.exit(2);
}
