// Does the daemon live within the limits of the chart's values? 1,000 Endpoints that change 10 times a second beside 5,000 at rest, with
// patches, between two real API servers, in a control group with the shipped memory limit. And how soon is the first write after exec of
// the image's tree (HOSTWARD_IMAGE_ROOT, as .ci/image unpacks it; otherwise of the package)? `--seconds N`, `--embedded`, `--gate`,
// `--all` for a quiet machine: every wanted figure counts
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { ApiClient, reachOf } from './api-client.ts';
import { configuration, type DaemonOptions } from './daemon-process.ts';
import { gateFigures, shippedLimitsGateLimits } from './gate.ts';
import { Harness } from './harness.ts';
import { measureLatency, watchHost } from './latency.ts';
import { type MemoryGroup, memoryGroup } from './memory-group.ts';
import { end, load, wait } from './processes.ts';
import { lineOf, Report } from './report.ts';
import { percentile } from './statistics.ts';
import { hostNameOf, keysOf, seedHost, seedVirtual } from './workload.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string' },
    gate: { type: 'boolean', default: false },
    all: { type: 'boolean', default: false },
    embedded: { type: 'boolean', default: false },
  },
});
const root = join(import.meta.dirname, '..');
const imageRoot = process.env['HOSTWARD_IMAGE_ROOT'];
const mib = 1024 * 1024;
const moving = 1_000;
const resting = 5_000;
const perSecond = 10;
/** A tenth of what the chart's probes leave between two questions. */
const probeEveryMs = 1_000;
/** The kubelet's own, as the chart names none. */
const probeTimeoutMs = 1_000;
const starts = 5;

const patches = [
  { path: 'metadata.labels["tier"]', expression: '"t-" + value' },
  { path: 'metadata.annotations["example.com/owner"]', expression: 'value + "@" + context.vcluster.name' },
];

const report = new Report('shipped-limits', load());
const harness = new Harness();
try {
  await main();
  process.stdout.write(`${report.save(load())}\n`);
  const missed = values.all ? report.missed() : values.gate ? gateFigures(report, shippedLimitsGateLimits) : [];
  for (const figure of missed) process.stdout.write(`gate: ${lineOf(figure)}\n`);
  process.exitCode = missed.length === 0 ? 0 : 1;
} finally {
  await harness.close();
}

async function main(): Promise<void> {
  const cluster = async (name: string) =>
    values.embedded ? (await harness.startCluster(name)).kubeconfig : harness.startRealCluster(name);
  const kubeconfigs = { virtualKubeconfig: await cluster('virtual'), hostKubeconfig: await cluster('host') };
  const virtual = new ApiClient(await reachOf(kubeconfigs.virtualKubeconfig));
  const host = new ApiClient(await reachOf(kubeconfigs.hostKubeconfig));
  harness.build('none');
  await seedHost(host);
  await firstWrites(kubeconfigs, { virtual, host });
  const keys = keysOf(moving + resting);
  await seedVirtual(virtual, keys);
  const limitMb = shippedLimitMb();
  const group = memoryGroup(limitMb * mib);
  if (group === undefined)
    process.stdout.write('no control group can be made here: memory is measured without its limit\n');
  try {
    await underLimit({ ...kubeconfigs, patches, group: group?.procs }, { virtual, host, group, limitMb });
  } finally {
    await wait(1_000);
    group?.remove();
  }
}

/** What the chart gives the sync. */
function shippedLimitMb(): number {
  const { sync } = parse(readFileSync(join(root, 'config', 'chart', 'values.yaml'), 'utf8'));
  return Number(/^(\d+)Mi$/.exec(sync.resources.limits.memory)?.[1]);
}

async function underLimit(
  options: DaemonOptions,
  on: { virtual: ApiClient; host: ApiClient; group: MemoryGroup | undefined; limitMb: number },
): Promise<void> {
  const { virtual, host, group, limitMb } = on;
  const keys = keysOf(moving + resting);
  const daemon = await harness.startDaemon(options);
  let mostMb = 0;
  const measure = () => {
    const mb = group === undefined ? daemon.rssMbOfAll : group.keptBytes() / mib;
    mostMb = Math.max(mostMb, mb);
    return mb;
  };
  const memory = setInterval(measure, 100);
  await daemon.untilReady();
  const probes = probe(daemon.port);
  await daemon.untilIdle();
  const loop = { perSecond, seconds: Number(values.seconds ?? (values.gate ? 20 : 60)) };
  const moved = Array.from({ length: perSecond * loop.seconds }, (_, at) => keys[at % moving] as (typeof keys)[number]);
  const before = { cpuMs: daemon.cpuMsOfAll, ms: performance.now() };
  const { lags, answers, unseen } = await measureLatency(daemon, { virtual, host, keys: moved, loop });
  const cpuShare = (daemon.cpuMsOfAll - before.cpuMs) / (performance.now() - before.ms);
  clearInterval(memory);
  const restMb = measure();
  const { asked, failed } = await probes.stop();
  await daemon.stop();
  const note = group === undefined ? 'resident, no control group' : 'in a control group';
  report.add({ name: 'event to host write, p50', value: percentile(lags, 0.5), unit: 'ms' });
  report.add({ name: 'event to host write, p99', value: percentile(lags, 0.99), unit: 'ms', wanted: { atMost: 100 } });
  report.add({ name: 'answer of the virtual server, p99', value: percentile(answers, 0.99), unit: 'ms' });
  report.add({ name: 'changes not seen', value: unseen, unit: '', wanted: { atMost: 0 }, note: `of ${moved.length}` });
  report.add({ name: 'memory in sync', value: restMb, unit: 'MiB', note });
  report.add({ name: 'memory at the peak', value: mostMb, unit: 'MiB', wanted: { atMost: limitMb }, note });
  report.add({ name: 'ended for lack of memory', value: group?.killed() ?? 0, unit: '', wanted: { atMost: 0 }, note });
  report.add({ name: 'failed probes', value: failed, unit: '', wanted: { atMost: 0 }, note: `of ${asked}` });
  report.add({ name: 'processor time', value: cpuShare, unit: 'cores' });
}

/** Asks as the kubelet does, more often. */
function probe(port: number): { stop(): Promise<{ asked: number; failed: number }> } {
  let asked = 0;
  let failed = 0;
  let isOver = false;
  const run = async () => {
    while (!isOver) {
      for (const path of ['healthz', 'readyz']) {
        const signal = AbortSignal.timeout(probeTimeoutMs);
        const isFine = await fetch(`http://127.0.0.1:${port}/${path}`, { signal }).then(
          ({ ok }) => ok,
          () => false,
        );
        asked++;
        if (!isFine) failed++;
      }
      await wait(probeEveryMs);
    }
    return { asked, failed };
  };
  const done = run();
  return {
    stop() {
      isOver = true;
      return done;
    },
  };
}

/**
 * From exec to the first write, with one object that waits. `without waiting`: without the time in which the process was ready to run and
 * others had the processors.
 */
async function firstWrites(
  options: DaemonOptions,
  { virtual, host }: { virtual: ApiClient; host: ApiClient },
): Promise<void> {
  const [key] = keysOf(1);
  if (key === undefined) return;
  await seedVirtual(virtual, [key]);
  const name = hostNameOf(key);
  const times: number[] = [];
  const own: number[] = [];
  for (let nth = 0; nth < starts; nth++) {
    const path = `/api/v1/namespaces/vcluster-vc/endpoints/${name}`;
    await host.send({ method: 'DELETE', path });
    let seenMs = 0;
    const stop = await watchHost(host, (found, atMs) => {
      if (found === name && seenMs === 0) seenMs = atMs;
    });
    const startMs = performance.now();
    const child = startBare(options, nth);
    while (seenMs === 0 && performance.now() - startMs < 60_000) await wait(2);
    const waitedMs = Number(readFileSync(`/proc/${child.pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
    stop();
    await end(child);
    times.push(seenMs - startMs);
    own.push(seenMs - startMs - waitedMs);
  }
  const note = imageRoot === undefined ? 'the package' : "the image's tree";
  const best = (all: readonly number[]) => Math.min(...all) / 1000;
  report.details['starts'] = { times, own };
  report.add({
    name: `exec to first write, best of ${starts}`,
    value: best(times),
    unit: 's',
    wanted: { atMost: 1 },
    note,
  });
  report.add({ name: 'the same without waiting for a processor', value: best(own), unit: 's', note });
}

function startBare(options: DaemonOptions, nth: number): ChildProcess {
  const folder = join(harness.folder, `start-${nth}`);
  mkdirSync(folder);
  chmodSync(folder, 0o1777);
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text, { mode: 0o644 });
    return imageRoot === undefined ? join(folder, name) : `/tmp/${name}`;
  };
  const [virtualKubeconfig, hostKubeconfig] = (['virtual', 'host'] as const).map((side) =>
    write(side, readFileSync(options[`${side}Kubeconfig`], 'utf8')),
  ) as [string, string];
  const file = write('hostward.yaml', configuration({ virtualKubeconfig, hostKubeconfig, patches }, 0));
  const words = ['run', '--config', file];
  const env = { ...process.env, NODE_OPTIONS: '', npm_command: '' };
  if (imageRoot !== undefined)
    return spawn(join(root, '.ci', 'in-image'), [imageRoot, folder, ...words], { stdio: 'ignore', env });
  return spawn(process.execPath, [harness.launcher, ...words], { stdio: 'ignore', env });
}
