// How much memory do hostile expressions take? Starts the shipped daemon between two embedded API servers, gives it one patch for
// each builtin that can produce large results, lets each of them run on one object, and reads the resident memory of the daemon
// and its sandbox from outside. `node bench/memory.bench.ts [OBJECTS] [--gate]`; with --gate it fails beyond the limits,
// with --rows it also prints the peak of each expression, process by process.
import { parseArgs } from 'node:util';
import { largeBuiltins } from '../test/expression/large-builtins.ts';
import { ApiClient, reachOf } from './api-client.ts';
import { judge, manyObjectsMemoryGateLimits, memoryGateLimits } from './gate.ts';
import { Harness } from './harness.ts';
import { settledMs, wait } from './processes.ts';
import { keysOf, seedHost, seedVirtual } from './workload.ts';

const fewObjects = 1_000;
const sampleMs = 4;

const { values: args, positionals } = parseArgs({
  options: { gate: { type: 'boolean', default: false }, rows: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const objects = Number(positionals[0] ?? fewObjects);
/** A hostile expression has 25 ms at first and half a second soon after; then its value is set aside. */
const watchedMs = args.gate ? 700 : 1_500;
const harness = new Harness();
try {
  harness.build('none');
  const [virtual, host] = await Promise.all([harness.startCluster('virtual'), harness.startCluster('host')]);
  const client = new ApiClient(await reachOf(virtual.kubeconfig));
  const keys = keysOf(objects);
  await seedHost(new ApiClient(await reachOf(host.kubeconfig)));
  await seedVirtual(client, keys);
  const patches = largeBuiltins.map((expression, at) => ({
    path: `metadata.annotations["hostile-${at}"]`,
    expression,
  }));
  const daemon = await harness.startDaemon({
    virtualKubeconfig: virtual.kubeconfig,
    hostKubeconfig: host.kubeconfig,
    patches: [{ path: 'metadata.labels.tier', expression: '"x-" + value' }, ...patches],
  });
  await daemon.untilReady();
  await daemon.untilIdle();
  await wait(settledMs);
  const beforeMb = daemon.rssMbOfAll;
  let peak = { mb: beforeMb, by: 'nothing' };
  for (const [at, expression] of largeBuiltins.entries()) {
    const { namespace, name } = keys[at % keys.length] as (typeof keys)[number];
    await client.expect({
      method: 'PATCH',
      path: `/api/v1/namespaces/${namespace}/endpoints/${name}`,
      body: JSON.stringify({ metadata: { annotations: { [`hostile-${at}`]: 'a' } } }),
      contentType: 'application/merge-patch+json',
    });
    const endMs = performance.now() + watchedMs;
    let row = { mb: 0, each: [] as number[] };
    while (performance.now() < endMs) {
      const each = daemon.rssMbOfEach();
      const mb = each.reduce((sum, one) => sum + one, 0);
      if (mb > row.mb) row = { mb, each };
      await wait(sampleMs);
    }
    if (row.mb > peak.mb) peak = { mb: row.mb, by: expression.slice(-100) };
    if (args.rows) process.stdout.write(`${rowOf(row.each)} ${expression.slice(-70)}\n`);
  }
  await wait(settledMs);
  const afterMb = daemon.rssMbOfAll;
  const told = { objects, beforeMb, peakMb: peak.mb, growthMb: peak.mb - beforeMb, afterMb };
  const rounded = Object.fromEntries(Object.entries(told).map(([name, value]) => [name, Math.round(value)]));
  process.stdout.write(`${JSON.stringify({ ...rounded, by: peak.by })}\n`);
  const figures = [
    { name: 'peak of daemon and sandbox', value: peak.mb, unit: 'MB' },
    { name: 'growth of daemon and sandbox', value: peak.mb - beforeMb, unit: 'MB' },
  ];
  const tripped = judge(figures, objects <= fewObjects ? memoryGateLimits : manyObjectsMemoryGateLimits);
  for (const { name, value } of tripped) process.stdout.write(`gate: ${name} is ${Math.round(value)} MB\n`);
  if (args.gate && tripped.length > 0) process.exitCode = 1;
} finally {
  await harness.close();
}

function rowOf(each: readonly number[]): string {
  const cells = [each.reduce((sum, one) => sum + one, 0), ...each].map((mb) => mb.toFixed(0).padStart(4));
  return cells.join(' ').padEnd(20);
}
