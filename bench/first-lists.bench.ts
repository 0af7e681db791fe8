// What do the first lists leave behind? Resident memory of the daemon with many objects: after the first sync, after a restart
// with everything in sync, and after a restart with a backlog of all objects, with changes that go on. Also the length of the
// queue, the longest stall and the lines of the log. Between two embedded API servers, on demand only.
// `node bench/first-lists.bench.ts [--count N] [--seconds N]`
import { parseArgs } from 'node:util';
import { ApiClient, reachOf } from './api-client.ts';
import type { DaemonOptions, DaemonProcess } from './daemon-process.ts';
import { type ClusterProcess, Harness } from './harness.ts';
import { load, wait } from './processes.ts';
import { Report } from './report.ts';
import { keysOf, seedHost } from './workload.ts';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '100000' },
    /** From the last write to the reading that counts. */
    seconds: { type: 'string', default: '60' },
  },
});

/** What remains a minute after the lists, compared with a daemon in which nothing has happened but the lists. */
const mostOfQuiet = 1.3;
/** Changes that go on after the backlog: few enough for a quiet machine, too many for the loop to be idle. */
const trickle = { changes: 100, everyMs: 500 };
const sampleMs = 100;
const count = Number(values.count);
const quietMs = Number(values.seconds) * 1_000;
/** A busy machine writes a few hundred objects a second. */
const withinMs = 1_200_000;

let linesBefore = 0;
const report = new Report('first-lists', load());
const harness = new Harness();
try {
  await main();
  process.stdout.write(`${report.save(load())}\n`);
} finally {
  await harness.close();
}

async function main(): Promise<void> {
  harness.build('none');
  const [virtual, host] = await Promise.all([harness.startCluster('virtual'), harness.startCluster('host')]);
  const client = new ApiClient(await reachOf(virtual.kubeconfig));
  for (const name of new Set(keysOf(count).map(({ namespace }) => namespace)))
    await client.expect({
      method: 'POST',
      path: '/api/v1/namespaces',
      body: JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }),
      contentType: 'application/json',
    });
  await virtual.plant(count, { isEligible: true });
  await seedHost(new ApiClient(await reachOf(host.kubeconfig)));
  const options = { virtualKubeconfig: virtual.kubeconfig, hostKubeconfig: host.kubeconfig };
  await phase('first sync', options, { host, writes: count });
  const quietMb = await phase('restart in sync', options, { host, writes: 0 });
  await virtual.change(count, 1);
  const busyMb = await phase('backlog', options, {
    host,
    writes: count,
    goOn: (at) => virtual.change(trickle.changes, at),
  });
  report.add({ name: 'after the backlog / quiet', value: busyMb / quietMb, unit: '', wanted: { atMost: mostOfQuiet } });
}

interface Work {
  host: ClusterProcess;
  writes: number;
  /** Makes a few changes. */
  goOn?: (variant: number) => Promise<void>;
}

/** Starts a daemon, waits until all is written and for a while longer. Returns the memory at the end, in MiB. */
async function phase(name: string, options: DaemonOptions, { host, writes, goOn }: Work): Promise<number> {
  await host.reset();
  const daemon = await harness.startDaemon(options);
  const seen = watchMemory(daemon);
  await daemon.untilServing();
  const depth = watchQueue(daemon);
  const { writes: early } = await host.untilWritten(Math.min(1, writes), withinMs);
  const atFirstWriteMb = daemon.memory().rssMb;
  await host.untilWritten(writes, withinMs);
  await daemon.untilReady(withinMs);
  await daemon.untilIdle();
  const queued = depth.stop();
  const stallMs = await daemon.longestStallMs();
  const atEndMb = daemon.memory().rssMb;
  const peakMb = seen.stop();
  const endMs = performance.now() + quietMs;
  for (let at = 2; performance.now() < endMs; at++) {
    await goOn?.(at);
    await wait(trickle.everyMs);
  }
  const { rssMb } = daemon.memory();
  if (early > 0) report.add({ name: `${name}: RSS at the first write`, value: atFirstWriteMb, unit: 'MiB' });
  report.add({ name: `${name}: RSS, most`, value: peakMb, unit: 'MiB' });
  report.add({ name: `${name}: RSS when all is written`, value: atEndMb, unit: 'MiB' });
  report.add({ name: `${name}: RSS ${values.seconds} s later`, value: rssMb, unit: 'MiB' });
  report.add({ name: `${name}: queue depth, most`, value: queued, unit: '', wanted: { atMost: count } });
  report.add({ name: `${name}: longest stall`, value: stallMs, unit: 'ms' });
  if (writes === 0)
    report.add({ name: `${name}: writes`, value: (await host.read()).writes, unit: '', wanted: { atMost: 0 } });
  await daemon.stop();
  const lines = harness.log().split('\n').length - 1;
  report.add({ name: `${name}: lines of the log`, value: lines - linesBefore, unit: '' });
  linesBefore = lines;
  return rssMb;
}

function watchMemory(daemon: DaemonProcess): { stop(): number } {
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, daemon.memory().rssMb);
  }, sampleMs);
  return {
    stop: () => {
      clearInterval(timer);
      return most;
    },
  };
}

function watchQueue(daemon: DaemonProcess): { stop(): number } {
  let most = 0;
  let isOver = false;
  const look = async (): Promise<void> => {
    while (!isOver) {
      // A busy daemon may close the kept connection at the moment of a request.
      for (const [name, value] of await daemon.metrics().catch(() => []))
        if (name.startsWith('hostward_queue_depth')) most = Math.max(most, value);
      await wait(sampleMs);
    }
  };
  void look();
  return {
    stop: () => {
      isOver = true;
      return most;
    },
  };
}
