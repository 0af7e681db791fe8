// Does a change leave memory behind? 1,000 Endpoints change a thousand times each, and after every round the daemon says what it holds after a
// full garbage collection. The slope is Theil's and Sen's, with its interval; the first quarter warms bounded tables and counts for nothing.
// `[--events N]`, a million by default; each look is printed.
import { parseArgs } from 'node:util';
import { ApiClient, reachOf } from './api-client.ts';
import { Harness } from './harness.ts';
import { theilSen } from './interval-gate.ts';
import { load } from './processes.ts';
import { Report } from './report.ts';
import { round } from './statistics.ts';
import { seedHost } from './workload.ts';

const objects = 1_000;
const longestMs = 3_600_000;
/** Changes between two looks. */
const eachLook = 10_000;

const { values } = parseArgs({ options: { events: { type: 'string', default: '1000000' } } });
const events = Number(values.events);
if (!Number.isInteger(events) || events < 4 * eachLook) {
  process.stderr.write(`--events is a whole number from ${4 * eachLook}, found "${values.events}"\n`);
  process.exit(2);
}
const report = new Report('leak', load());
const harness = new Harness();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void harness.close().then(() => process.exit(1)));
try {
  harness.build('none');
  const [virtual, host] = await Promise.all([harness.startCluster('virtual'), harness.startCluster('host')]);
  const hostClient = new ApiClient(await reachOf(host.kubeconfig));
  await seedHost(hostClient);
  await hostClient.close();
  await virtual.plant(objects, { isEligible: true });
  const reaches = { virtualKubeconfig: virtual.kubeconfig, hostKubeconfig: host.kubeconfig };
  const daemon = await harness.startDaemon({ ...reaches, tellsReadings: true });
  await host.untilWritten(objects, longestMs);
  const held: { x: number; y: number }[] = [];
  let variant = 0;
  for (let done = eachLook; done <= events; done += eachLook) {
    for (let sent = 0; sent < eachLook; sent += objects) {
      await host.reset();
      variant = (variant % 255) + 1;
      await virtual.change(objects, variant);
      await host.untilWritten(objects, longestMs);
    }
    await daemon.untilIdle(100);
    held.push({ x: done, y: await daemon.reading('heldBytes') });
    process.stdout.write(`  ${done} changes: ${round((held.at(-1)?.y ?? 0) / 1024 ** 2, 3)} MiB held\n`);
  }
  await daemon.stop();
  report.details['held'] = held;
  const { slope, low, high } = theilSen(held.slice(Math.ceil(held.length / 4)));
  const isFlat = low <= 0 && high >= 0;
  const verdict = isFlat
    ? 'which cannot be told from none'
    : low > 0
      ? 'which is more than none'
      : 'which is less than none';
  report.add({
    name: 'bytes left by a change',
    value: slope,
    unit: 'bytes',
    note: `95 % interval ${round(low, 3)} to ${round(high, 3)}, ${verdict}; ${held.length} looks`,
  });
  report.add({ name: 'low end of its interval', value: low, unit: 'bytes', wanted: { atMost: 0 } });
  process.stdout.write(`load average ${load()}; results in ${report.save(load())}\n`);
} finally {
  await harness.close();
}
