// What does this version cost beside another one, with ten patches between the same two real API servers? Takes a folder with a
// checkout of the other version (dependencies installed), builds both, and lets them take turns: A B B A.
// `node bench/versions.bench.ts --other FOLDER [--count N] [--pairs N] [--patches N]`
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ApiClient, reachOf } from './api-client.ts';
import type { DaemonOptions } from './daemon-process.ts';
import { Harness } from './harness.ts';
import { measureLatency } from './latency.ts';
import { patchEntries } from './patch-rounds.ts';
import { load, settledMs, wait } from './processes.ts';
import { Report } from './report.ts';
import { median, spread } from './statistics.ts';
import { changeAll, keysOf, seedHost, seedVirtual } from './workload.ts';

const { values } = parseArgs({
  options: {
    other: { type: 'string' },
    count: { type: 'string', default: '10000' },
    pairs: { type: 'string', default: '5' },
    patches: { type: 'string', default: '10' },
  },
});
const { other } = values;
if (other === undefined) throw new Error('--other FOLDER is missing: a checkout of the version to compare with');

interface Turn {
  seconds: number;
  /** Of the daemon and its sandbox, for each change. */
  cpuMs: number;
  rssMb: number;
}

type Version = 'this' | 'other';

const report = new Report('versions', load());
const harness = new Harness();
const keys = keysOf(Number(values.count));
const patches = patchEntries(Number(values.patches));
const written = /^hostward_sync_requests_total\{request="patch"(,kind="Endpoints")?\}/;

try {
  await main(launcherOf(other));
  process.stdout.write(`${report.save(load())}\n`);
} finally {
  await harness.close();
}

/** Older versions have their launcher and their build elsewhere. */
function launcherOf(folder: string): string {
  const places = [join(folder, 'src', 'launcher'), join(folder, 'src')];
  const place = places.find((each) => existsSync(join(each, 'build.mjs')));
  if (place === undefined) throw new Error(`${folder} is not a checkout of this project`);
  execFileSync(process.execPath, [join(place, 'build.mjs')], { cwd: folder, stdio: 'ignore' });
  return join(place, 'hostward.mjs');
}

async function main(launcher: string): Promise<void> {
  const [virtualKubeconfig, hostKubeconfig] = [
    await harness.startRealCluster('virtual'),
    await harness.startRealCluster('host'),
  ];
  const [virtual, host] = [
    new ApiClient(await reachOf(virtualKubeconfig)),
    new ApiClient(await reachOf(hostKubeconfig)),
  ];
  harness.build('none');
  await seedHost(host);
  await seedVirtual(virtual, keys);
  const optionsOf = (version: Version): DaemonOptions => ({
    virtualKubeconfig,
    hostKubeconfig,
    patches,
    ...(version === 'other' && { launcher }),
  });
  await firstSync(optionsOf('other'));
  let last = 0;
  // Every change must be a real one.
  const nextVariant = (): number => {
    last = (last + 2) % 200;
    return last;
  };
  const turns: Record<Version, Turn[]> = { this: [], other: [] };
  const lags: Record<Version, { p50: number; p99: number }[]> = { this: [], other: [] };
  for (let pair = 0; pair < Number(values.pairs); pair++) {
    const order: Version[] = pair % 2 === 0 ? ['other', 'this'] : ['this', 'other'];
    for (const version of order) {
      // A start under another version may write bookkeeping once; that is not what a change costs.
      await firstSync(optionsOf(version));
      await changeAll(virtual, keys, nextVariant());
      const turn = await backlog(optionsOf(version));
      turns[version].push(turn);
      const { p50, p99 } = await steady(optionsOf(version), { virtual, host, variant: nextVariant() });
      lags[version].push({ p50, p99 });
      const said = `${turn.seconds.toFixed(2)} s, ${turn.cpuMs.toFixed(3)} ms a change, p50 ${p50}, p99 ${p99} ms`;
      process.stdout.write(`  pair ${pair + 1}, ${version}: ${said}, ${turn.rssMb.toFixed(0)} MiB\n`);
    }
  }
  report.details['turns'] = turns;
  report.details['lags'] = lags;
  tell(turns, lags);
}

function tell(turns: Record<Version, Turn[]>, lags: Record<Version, { p50: number; p99: number }[]>): void {
  const of = (version: Version, pick: (turn: Turn) => number): number => median(turns[version].map(pick));
  const ratios = turns.this.map(({ seconds }, at) => seconds / (turns.other[at]?.seconds ?? Number.NaN));
  report.add({ name: 'backlog, this / other', value: median(ratios), unit: '', wanted: { atMost: 1.1 } });
  for (const version of ['other', 'this'] as const) {
    report.add({ name: `backlog, ${version}`, value: of(version, ({ seconds }) => seconds), unit: 's' });
    report.add({ name: `CPU a change of a backlog, ${version}`, value: of(version, ({ cpuMs }) => cpuMs), unit: 'ms' });
    report.add({ name: `memory after a backlog, ${version}`, value: of(version, ({ rssMb }) => rssMb), unit: 'MiB' });
    for (const which of ['p50', 'p99'] as const)
      report.add({
        name: `200 changes a second, ${which}, ${version}`,
        value: median(lags[version].map((lag) => lag[which])),
        unit: 'ms',
      });
  }
}

async function firstSync(options: DaemonOptions): Promise<void> {
  const daemon = await harness.startDaemon(options);
  await daemon.untilReady();
  await daemon.untilIdle(250);
  await daemon.stop();
}

/** All objects have changed while no daemon ran. */
async function backlog(options: DaemonOptions): Promise<Turn> {
  const daemon = await harness.startDaemon(options);
  await daemon.untilServing();
  let firstMs = 0;
  for (;;) {
    const count = [...(await daemon.metrics())].find(([name]) => written.test(name))?.[1] ?? 0;
    if (firstMs === 0 && count > 0) firstMs = performance.now();
    if (count >= keys.length) break;
    await wait(firstMs === 0 ? 20 : 250);
  }
  const seconds = (performance.now() - firstMs) / 1000;
  const cpuMs = daemon.cpuMsOfAll / keys.length;
  await wait(settledMs);
  const { rssMb } = daemon.memory();
  await daemon.stop();
  return { seconds, cpuMs, rssMb };
}

async function steady(
  options: DaemonOptions,
  on: { virtual: ApiClient; host: ApiClient; variant: number },
): Promise<{ p50: number; p99: number }> {
  const daemon = await harness.startDaemon(options);
  const { lags } = await measureLatency(daemon, { ...on, keys });
  await daemon.stop();
  return spread(lags);
}
