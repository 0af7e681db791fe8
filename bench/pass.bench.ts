// What does one change cost inside the daemon, without the network? Real windows, queue, sync and writers use connections that
// answer from memory with the bytes of a real API server. The result is the best of many short rounds, so that a busy machine
// gives the same figure as a quiet machine.
import { parseArgs } from 'node:util';
import { systemClock } from '../src/clock.ts';
import { openWindow } from '../src/cluster/window/open-window.ts';
import { endpointsResource, servicesResource } from '../src/cluster/wire/scope.ts';
import { openWriter } from '../src/cluster/write/open-writer.ts';
import { createExpressionMetrics } from '../src/expression/evaluate/expression-metrics.ts';
import { ChildSandbox } from '../src/expression/sandbox/child-sandbox.ts';
import { createLog } from '../src/log.ts';
import { createMetrics } from '../src/metrics.ts';
import type { KubeObject } from '../src/object/meta/object.ts';
import { WorkQueue } from '../src/queue/work-queue.ts';
import { endpointsKind } from '../src/sync/kinds/endpoints/endpoints-kind.ts';
import { Engine } from '../src/sync/loop/engine.ts';
import { createRules, type RuleSettings } from '../src/sync/loop/pass/rules.ts';
import type { SyncOptions } from '../src/sync/loop/sync-options.ts';
import { type OpenedPatcher, openPatcher } from '../src/sync/patch/run/open-patcher.ts';
import { compilePatchSet } from '../src/sync/patch/set/patch-set.ts';
import { projectService } from '../src/sync/plan/kind.ts';
import { patchEntries } from './patch-rounds.ts';
import { percentile, round } from './statistics.ts';
import { TextServer } from './text-server.ts';
import {
  endpointsOf,
  hostNameOf,
  hostNamespace,
  type Key,
  keysOf,
  serviceOf,
  subsetsOf,
  virtualCluster,
} from './workload.ts';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '2000' },
    /** Changes of a round: few enough that some rounds run without interruption, enough for the resolution of the clock. */
    batch: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '800' },
    /** How many of the ten common patches run. */
    patches: { type: 'string', default: '0' },
  },
});
const keys = keysOf(Number(values.count));

const virtual = new TextServer('virtual');
const host = new TextServer('host');
for (const [index, key] of keys.entries()) {
  virtual.put('services', serviceOf(key));
  virtual.put('endpoints', endpointsOf(key, index, 0));
}
host.put('services', serviceOf({ namespace: hostNamespace, name: virtualCluster }));
host.put('endpoints', endpointsOf({ namespace: hostNamespace, name: 'somebody-elses' }, 0, 0));

const log = createLog({ level: 'info', destination: { write() {} } });
const shared = { clock: systemClock, random: Math.random, log, metrics: createMetrics() };
const write = { ...shared, permit: () => true, fieldManager: 'hostward' };
const open = <T extends { namespace: string; name: string; uid: string; resourceVersion: string }>(
  server: TextServer,
  ref: typeof endpointsResource,
  project: (object: KubeObject) => T,
  namespace?: string,
) =>
  openWindow<T>({
    connection: server.connection,
    ref,
    project,
    ...(namespace && { namespace }),
    ...shared,
  });
const settings: RuleSettings = {
  virtualClusterName: virtualCluster,
  hostNamespace,
  backSync: 'all',
  exclude: { labels: [], annotations: [] },
  addressPolicy: { allow: [], deny: [] },
};
const opened = await openPatches(Number(values.patches));
const given: SyncOptions = {
  ...shared,
  queue: new WorkQueue(shared.clock),
  windows: {
    virtual: open(virtual, endpointsResource, endpointsKind.projectVirtual),
    services: open(virtual, servicesResource, projectService),
    host: open(host, endpointsResource, endpointsKind.projectHost, hostNamespace),
    owner: open(host, servicesResource, projectService, hostNamespace),
  },
  rules: createRules(endpointsKind, settings, { patcher: opened?.patcher }),
  virtualWriter: openWriter({ ...write, connection: virtual.connection }),
  hostWriter: openWriter({ ...write, connection: host.connection }),
  isLeader: () => true,
  isDryRun: false,
  isHostRecent: true,
};
const sync = new Engine(given).open(given);

async function openPatches(count: number): Promise<OpenedPatcher | undefined> {
  if (count === 0) return undefined;
  const entries = patchEntries(count).map((entry, index) => ({
    index,
    entry: { onMissing: 'skip' as const, onError: 'fail' as const, ...entry },
  }));
  const compiled = compilePatchSet(entries, endpointsKind);
  if (compiled.kind === 'faults') throw new Error(JSON.stringify(compiled.faults));
  const { clock, metrics } = shared;
  const patcher = openPatcher({
    settings: { ...settings, vcluster: {} },
    set: compiled.set,
    mappings: undefined,
    openSandbox: (setup) => new ChildSandbox({ setup, clock, log, nodePath: process.execPath }),
    clock,
    metrics,
    expressionMetrics: createExpressionMetrics(metrics),
  });
  await patcher.start();
  return patcher;
}

async function quiet(): Promise<void> {
  do await new Promise((resolve) => setImmediate(resolve));
  while (!sync.queue.isIdle);
}

await sync.start();
await quiet();
const microseconds: number[] = [];
const batch = Number(values.batch);
for (let turn = 0; turn < Number(values.rounds); turn++) {
  const variant = 1 + Math.floor((turn * batch) / keys.length);
  const from = (turn * batch) % keys.length;
  const startMs = performance.now();
  for (let index = from; index < from + batch && index < keys.length; index++) {
    const key = keys[index] as Key;
    virtual.put('endpoints', { ...endpointsOf(key, index, 0), subsets: subsetsOf(index, variant) });
  }
  await quiet();
  microseconds.push(((performance.now() - startMs) * 1000) / batch);
  const name = hostNameOf(keys[from] as Key);
  const copy = JSON.stringify(host.objects.get(`endpoints/${hostNamespace}/${name}`)?.['subsets']);
  const first = (subsetsOf(from, variant)[0] as { addresses: { ip: string }[] }).addresses[0]?.ip;
  if (!copy.includes(`"${first}"`) || copy.includes('"100.64.') !== (opened !== undefined))
    throw new Error(`round ${turn} is not on the host`);
}
const [best, tenth] = [0, 0.1].map((share) => round(percentile(microseconds, share), 1));
process.stdout.write(
  `${best} µs a change, the best of ${microseconds.length} rounds of ${batch}; a tenth below ${tenth}\n`,
);
await opened?.stop();
process.exit();
