// What does it cost to prove a window: CPU of ours, of the API server and of etcd for one list of heads, and the longest stall of
// our event loop? One real API server, one window on 10,000 Endpoints with 3 and with 100 addresses. Then 200 changes a second,
// amid which no proof may call a change missed. `node bench/proof.bench.ts [--count N] [--rounds N] [--many]`
import { readdirSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { systemClock } from '../src/clock.ts';
import { openCredentials } from '../src/cluster/credentials/credentials.ts';
import { openWindow } from '../src/cluster/window/open-window.ts';
import type { Item, Window } from '../src/cluster/window/window.ts';
import { endpointsResource } from '../src/cluster/wire/scope.ts';
import { openConnection } from '../src/cluster/wire/transport.ts';
import { silentLog } from '../src/log.ts';
import { createMetrics } from '../src/metrics.ts';
import { projectHostEndpoints } from '../src/sync/kinds/endpoints/items.ts';
import { startKube } from '../test/kube/start/start.ts';
import { ApiClient, inParallel, reachOf } from './api-client.ts';
import { load, settledMs, wait } from './processes.ts';
import { Report } from './report.ts';
import { changeOpenLoop, keysOf, seedVirtual } from './workload.ts';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '3' },
    /** Only the objects with many addresses. */
    many: { type: 'boolean', default: false },
  },
});
const keys = keysOf(Number(values.count));
const rounds = Number(values.rounds);
/** Shorter than the default, so that the bench ends soon; the cost of a list does not depend on the interval. */
const intervalMs = 10_000;
/** A list begins in four fifths of the interval. */
const periodMs = intervalMs * 0.8;
const defaultPeriodMs = 60_000 * 0.8;
/** Windows of 10,000 Endpoints that a daemon has: one on each side. Services have no addresses and cost as little as three. */
const windowsOfADaemon = 2;
const clockTicksASecond = 100;
const manyAddresses = 100;
const restMs = 15_000;
/** Between two looks at the CPU of the main thread; other programs on the machine do not count as a stall of ours. */
const lookMs = 2;

const report = new Report('proof', load());
const cluster = await startKube({ name: 'proof' });
try {
  await main();
  process.stdout.write(`${report.save(load())}\n`);
} finally {
  await cluster.stop();
}

async function main(): Promise<void> {
  const client = new ApiClient(await reachOf(cluster.kubeconfigPath));
  await seedVirtual(client, keys);
  if (!values.many) await measure(3);
  await inParallel(keys, 16, ({ namespace, name }, index) =>
    client.expect({
      method: 'PATCH',
      path: `/api/v1/namespaces/${namespace}/endpoints/${name}`,
      body: JSON.stringify({ subsets: [{ addresses: addressesOf(index), ports: [{ port: 8080 }] }] }),
      contentType: 'application/merge-patch+json',
    }),
  );
  // etcd and the collector of the API server still work on so many changes for a while.
  await wait(restMs);
  await measure(manyAddresses);
  if (!values.many) await changes(client);
  await client.close();
}

function addressesOf(index: number): object[] {
  return Array.from({ length: manyAddresses }, (_, n) => ({
    ip: `10.${(index >> 8) & 255}.${index & 255}.${n + 1}`,
    nodeName: `node-${n}`,
    targetRef: { kind: 'Pod', namespace: 'default', name: `pod-${index}-${n}` },
  }));
}

async function open(proofIntervalMs: number): Promise<{ window: Window<Item>; close(): Promise<void> }> {
  const opened = await openCredentials({ kubeconfig: cluster.kubeconfigPath, environment: process.env });
  if (opened.kind === 'faults') throw new Error('the kubeconfig of the bench is wrong');
  const connection = openConnection({
    name: 'virtual',
    credentials: opened.credentials,
    clock: systemClock,
    log: silentLog,
  });
  const window = openWindow<Item>({
    connection,
    ref: endpointsResource,
    project: projectHostEndpoints,
    clock: systemClock,
    random: () => 0,
    log: silentLog,
    metrics: createMetrics(),
    proofIntervalMs,
  });
  window.start();
  await window.whenSynced();
  return {
    window,
    close: async () => {
      await window.stop();
      await connection.close();
    },
  };
}

interface Cost {
  oursMs: number;
  serverMs: number;
  etcdMs: number;
  stallMs: number;
}

/** What is used in this time, with proofs or without. */
async function spend(proofIntervalMs: number, forMs: number): Promise<Cost & { proofs: number }> {
  const { window, close } = await open(proofIntervalMs);
  await wait(settledMs);
  const turns = longestTurn();
  const before = used();
  let proofs = 0;
  let last = window.proof.provenAtMs;
  for (const endMs = performance.now() + forMs; performance.now() < endMs; ) {
    await wait(100);
    if (window.proof.provenAtMs !== last) proofs++;
    last = window.proof.provenAtMs;
  }
  const after = used();
  const stallMs = turns.stop();
  if (window.proof.missed > 0) throw new Error('a proof called a change missed that nobody made');
  await close();
  return {
    oursMs: after.oursMs - before.oursMs,
    serverMs: after.serverMs - before.serverMs,
    etcdMs: after.etcdMs - before.etcdMs,
    stallMs,
    proofs,
  };
}

/** The most CPU that the main thread used between two turns of a timer: a stall, as a quiet machine would show it. */
function longestTurn(): { stop(): number } {
  let longestMs = 0;
  let before = process.threadCpuUsage();
  const timer = setInterval(() => {
    const now = process.threadCpuUsage();
    longestMs = Math.max(longestMs, (now.user + now.system - before.user - before.system) / 1000);
    before = now;
  }, lookMs);
  return {
    stop: () => {
      clearInterval(timer);
      return longestMs;
    },
  };
}

function used(): Omit<Cost, 'stallMs'> {
  const { user, system } = process.cpuUsage();
  return { oursMs: (user + system) / 1000, serverMs: cpuOf('kube-apiserver'), etcdMs: cpuOf('etcd') };
}

/** CPU milliseconds of the program that serves the cluster of this bench. */
function cpuOf(program: string): number {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const [command = '', ...rest] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      if (!command.endsWith(`/${program}`) || !rest.join(' ').includes(cluster.folder)) continue;
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      return ((Number(fields[11]) + Number(fields[12])) * 1000) / clockTicksASecond;
    } catch {
      // The process has ended since the listing.
    }
  }
  throw new Error(`no process ${program} serves the bench`);
}

async function measure(addresses: number): Promise<void> {
  const forMs = rounds * periodMs;
  const idle = await spend(0, forMs);
  const proven = await spend(intervalMs, forMs);
  const of = (part: 'oursMs' | 'serverMs' | 'etcdMs'): number => Math.max(0, proven[part] - idle[part]) / proven.proofs;
  const name = `${keys.length} objects of ${addresses} addresses`;
  const share = (ms: number): number => (100 * ms) / defaultPeriodMs;
  report.add({ name: `${name}: our CPU for one list of heads`, value: of('oursMs'), unit: 'ms' });
  report.add({ name: `${name}: CPU of kube-apiserver`, value: of('serverMs'), unit: 'ms' });
  report.add({ name: `${name}: CPU of etcd`, value: of('etcdMs'), unit: 'ms' });
  report.add({
    name: `${name}: our share of a core, both sides, every 60 s`,
    value: share(windowsOfADaemon * of('oursMs')),
    unit: '%',
    wanted: { atMost: 1 },
  });
  report.add({
    name: `${name}: share of a core of one API server and its etcd, every 60 s`,
    value: share(of('serverMs') + of('etcdMs')),
    unit: '%',
    wanted: { atMost: 1 },
  });
  report.add({ name: `${name}: longest turn of the event loop with proofs`, value: proven.stallMs, unit: 'ms' });
  report.add({ name: `${name}: longest turn without`, value: idle.stallMs, unit: 'ms' });
}

/** No change of these is missed, so none may be called missed. */
async function changes(client: ApiClient): Promise<void> {
  const { window, close } = await open(intervalMs);
  const seconds = 25;
  await changeOpenLoop(client, keys, { perSecond: 200, seconds, variant: 7 });
  await wait(settledMs + 1_000);
  report.add({
    name: `changes called missed amid 200 a second for ${seconds} s`,
    value: window.proof.missed,
    unit: '',
    wanted: { atMost: 0 },
  });
  await close();
}
