// How does the cost grow with the number of objects? First sync, restart in step, one change, and memory, in CPU time of the daemon and bytes
// after a garbage collection, for 1,000 to 100,000 Endpoints between two embedded API servers; the exponent is the slope between logarithms,
// and what a daemon without objects costs is taken off. Of resident memory it says the fixed part, and what 1,000 objects add. `[--sizes 1000,3000,10000]`. An hour on a busy machine: a size is done when it is printed.
import { parseArgs } from 'node:util';
import { ApiClient, reachOf } from './api-client.ts';
import { Harness } from './harness.ts';
import { theilSen } from './interval-gate.ts';
import { load } from './processes.ts';
import { Report } from './report.ts';
import { median, round } from './statistics.ts';
import { seedHost } from './workload.ts';

const changes = 1_000;
/** A first sync of all objects on a busy machine. */
const longestMs = 3_600_000;

interface Cost {
  size: number;
  firstSyncMs: number;
  /** CPU of the host's API server for the same writes. */
  serverMs: number;
  restartMs: number;
  changeMs: number;
  heldBytes: number;
  /** Resident, behind the collection. */
  rssMb: number;
}

const { values } = parseArgs({ options: { sizes: { type: 'string', default: '1000,3000,10000,30000,100000' } } });
const sizes = values.sizes.split(',').map(Number);
if (sizes.length < 2 || !sizes.every((size) => Number.isInteger(size) && size >= changes)) {
  process.stderr.write(`--sizes are two or more numbers from ${changes}, found "${values.sizes}"\n`);
  process.exit(2);
}
const report = new Report('growth', load());
const built = new Harness();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void built.close().then(() => process.exit(1)));
try {
  built.build('none');
  const empty = await costOf(0);
  const costs: Cost[] = [];
  for (const size of sizes) {
    const cost = await costOf(size);
    costs.push(cost);
    const each = (of: (cost: Cost) => number) => (of(cost) - of(empty)) / size;
    report.add({
      name: `first sync of ${size} objects`,
      value: each(({ firstSyncMs }) => firstSyncMs),
      unit: 'ms of CPU for each',
      note: `the API server ${round(
        each(({ serverMs }) => serverMs),
        3,
      )} ms, restart ${round(
        each(({ restartMs }) => restartMs),
        3,
      )} ms, a change ${round(cost.changeMs, 3)} ms, ${Math.round(each(({ heldBytes }) => heldBytes))} bytes for each`,
    });
  }
  report.details['costs'] = [empty, ...costs];
  const grown = (of: (cost: Cost) => number) => slope(costs.map((cost) => [cost.size, of(cost) - of(empty)]));
  const wanted = { atMost: 1.03 };
  report.add({ name: 'exponent of a first sync', value: grown((cost) => cost.firstSyncMs), unit: '', wanted });
  report.add({ name: 'exponent of a restart in step', value: grown((cost) => cost.restartMs), unit: '', wanted });
  report.add({ name: 'exponent of memory', value: grown((cost) => cost.heldBytes), unit: '', wanted });
  const ofChange = 1 + slope(costs.map(({ size, changeMs }) => [size, changeMs]));
  report.add({ name: 'exponent of changing everything', value: ofChange, unit: '', wanted });
  const resident = [empty, ...costs].map(({ size, rssMb }) => ({ x: size / 1000, y: rssMb }));
  const { slope: added, low, high } = theilSen(resident);
  const fixed = median(resident.map(({ x, y }) => y - added * x));
  report.add({ name: 'resident memory, fixed part', value: fixed, unit: 'MiB' });
  const note = `95 % interval ${round(low, 3)} to ${round(high, 3)}`;
  report.add({ name: 'resident memory, for 1,000 objects', value: added, unit: 'MiB', note });
  process.stdout.write(`load average ${load()}; results in ${report.save(load())}\n`);
} finally {
  await built.close();
}

async function costOf(size: number): Promise<Cost> {
  const [virtual, host] = await Promise.all([built.startCluster('virtual'), built.startCluster('host')]);
  const hostClient = new ApiClient(await reachOf(host.kubeconfig));
  await seedHost(hostClient);
  await hostClient.close();
  await virtual.plant(size, { isEligible: true });
  const reaches = { virtualKubeconfig: virtual.kubeconfig, hostKubeconfig: host.kubeconfig, tellsReadings: true };
  const beforeMs = host.cpuMs;
  const first = await built.startDaemon(reaches);
  await host.untilWritten(size, longestMs);
  await first.untilReady(longestMs);
  await first.untilIdle(200);
  const firstSyncMs = await first.reading('cpuMs');
  const serverMs = host.cpuMs - beforeMs;
  await host.reset();
  await virtual.change(Math.min(changes, size), 7);
  await host.untilWritten(Math.min(changes, size), longestMs);
  await first.untilIdle(200);
  const changeMs = size === 0 ? 0 : ((await first.reading('cpuMs')) - firstSyncMs) / changes;
  const heldBytes = await first.reading('heldBytes');
  const { rssMb } = first.memory();
  await first.stop();
  const second = await built.startDaemon(reaches);
  await second.untilReady(longestMs);
  await second.untilIdle(200);
  const restartMs = await second.reading('cpuMs');
  await second.stop();
  await Promise.all([virtual.close(), host.close()]);
  return { size, firstSyncMs, serverMs, restartMs, changeMs, heldBytes, rssMb };
}

/** Of the line nearest to the logarithms. */
function slope(points: readonly (readonly [number, number])[]): number {
  const [xs, ys] = [points.map(([x]) => Math.log(x)), points.map(([, y]) => Math.log(y))];
  const mean = (all: readonly number[]) => all.reduce((sum, each) => sum + each, 0) / all.length;
  const [middleX, middleY] = [mean(xs), mean(ys)];
  const over = xs.reduce((sum, x, at) => sum + (x - middleX) * ((ys[at] as number) - middleY), 0);
  return over / xs.reduce((sum, x) => sum + (x - middleX) ** 2, 0);
}
