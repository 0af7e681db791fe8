// What does a change of an EndpointSlice cost beside a change of an Endpoints with the same addresses, without the network? Two syncs
// take turns in one process, so that a busy machine slows both. `node bench/slices.bench.ts [--gate]`
import { parseArgs } from 'node:util';
import { systemClock } from '../src/clock.ts';
import { openWindow } from '../src/cluster/window/open-window.ts';
import { type ResourceRef, servicesResource } from '../src/cluster/wire/scope.ts';
import { openWriter } from '../src/cluster/write/open-writer.ts';
import { createLog } from '../src/log.ts';
import { createMetrics } from '../src/metrics.ts';
import type { KubeObject } from '../src/object/meta/object.ts';
import { WorkQueue } from '../src/queue/work-queue.ts';
import { endpointsKind } from '../src/sync/kinds/endpoints/endpoints-kind.ts';
import { createEndpointSliceKind } from '../src/sync/kinds/endpointslices/endpointslice-kind.ts';
import { Engine } from '../src/sync/loop/engine.ts';
import { createRules, type RuleSettings } from '../src/sync/loop/pass/rules.ts';
import type { Sync } from '../src/sync/loop/sync.ts';
import type { SyncOptions } from '../src/sync/loop/sync-options.ts';
import { projectService, type SyncedKind } from '../src/sync/plan/kind.ts';
import { gateFigures, sliceGateLimits } from './gate.ts';
import { load } from './processes.ts';
import { Report } from './report.ts';
import { percentile } from './statistics.ts';
import { TextServer } from './text-server.ts';
import { hostNameOf, hostNamespace, type Key, keysOf, serviceOf, virtualCluster } from './workload.ts';

const { values } = parseArgs({ options: { gate: { type: 'boolean', default: false } } });
/** Addresses of an object → changes in one round, so that a round of each size takes about as long. */
const sizes = new Map([
  [3, 100],
  [100, 20],
  [1000, 4],
]);
const rounds = values.gate ? 60 : 300;
const report = new Report('slices', load());
const sliceKind = createEndpointSliceKind({ mirrored: 'never', dropsNodeName: false });
const settings: RuleSettings = {
  virtualClusterName: virtualCluster,
  hostNamespace,
  backSync: 'all',
  exclude: { labels: [], annotations: [] },
  addressPolicy: { allow: [], deny: [] },
};

/** A variant is a number in the first address, so every variant is a real change. */
function ipsOf(count: number, variant: number): string[] {
  return Array.from({ length: count }, (_, at) =>
    at === 0 ? `10.1.${variant >> 8}.${variant & 255}` : `10.2.${at >> 8}.${at & 255}`,
  );
}

const ports = [{ name: 'http', port: 8080, protocol: 'TCP' }];

function objectOf(kind: SyncedKind, key: Key, ips: readonly string[]): KubeObject {
  const { apiVersion, kind: name } = kind;
  if (kind === endpointsKind)
    return { apiVersion, kind: name, metadata: { ...key }, subsets: [{ addresses: ips.map((ip) => ({ ip })), ports }] };
  const endpoints = ips.map((ip) => ({ addresses: [ip], conditions: { ready: true } }));
  const labels = { 'kubernetes.io/service-name': key.name };
  return { apiVersion, kind: name, metadata: { ...key, labels }, addressType: 'IPv4', endpoints, ports };
}

class Bench {
  readonly #virtual = new TextServer('virtual');
  readonly #host = new TextServer('host');
  readonly #keys: readonly Key[];
  readonly #kind: SyncedKind;
  readonly #count: number;
  readonly #sync: Sync;

  constructor(kind: SyncedKind, count: number, changes: number) {
    this.#kind = kind;
    this.#count = count;
    this.#keys = keysOf(changes);
    for (const key of this.#keys) {
      this.#virtual.put('services', serviceOf(key));
      this.#virtual.put(kind.resource.resource, objectOf(kind, key, ipsOf(count, 0)));
    }
    this.#host.put('services', serviceOf({ namespace: hostNamespace, name: virtualCluster }));
    // A sync that never becomes ready says why.
    const log = createLog({ level: 'warn', destination: process.stderr });
    const shared = { clock: systemClock, random: Math.random, log, metrics: createMetrics() };
    const write = { ...shared, permit: () => true, fieldManager: 'hostward' };
    const open = <T extends { namespace: string; name: string; uid: string; resourceVersion: string }>(
      { connection }: TextServer,
      ref: ResourceRef,
      project: (object: KubeObject) => T,
    ) => openWindow<T>({ connection, ref, project, ...shared });
    const given: SyncOptions = {
      ...shared,
      queue: new WorkQueue(systemClock),
      windows: {
        virtual: open(this.#virtual, kind.resource, kind.projectVirtual),
        services: open(this.#virtual, servicesResource, projectService),
        host: open(this.#host, kind.resource, kind.projectHost),
        owner: open(this.#host, servicesResource, projectService),
      },
      rules: createRules(kind, settings, {}),
      virtualWriter: openWriter({ ...write, connection: this.#virtual.connection }),
      hostWriter: openWriter({ ...write, connection: this.#host.connection }),
      isLeader: () => true,
      isDryRun: false,
      isHostRecent: true,
    };
    this.#sync = new Engine(given).open(given);
  }

  async start(): Promise<void> {
    await this.#sync.start();
    await this.#quiet();
  }

  /** Microseconds for each change of one round. */
  async round(variant: number): Promise<number> {
    const { resource } = this.#kind.resource;
    const ips = ipsOf(this.#count, variant);
    const startMs = performance.now();
    for (const key of this.#keys) this.#virtual.put(resource, objectOf(this.#kind, key, ips));
    await this.#quiet();
    const microseconds = ((performance.now() - startMs) * 1000) / this.#keys.length;
    const first = this.#keys[0] as Key;
    const copy = this.#host.objects.get(`${resource}/${hostNamespace}/${hostNameOf(first)}`);
    if (!JSON.stringify(copy).includes(`"${ips[0]}"`)) throw new Error(`round ${variant} is not on the host`);
    return microseconds;
  }

  get bytes(): number {
    return JSON.stringify(
      [...this.#virtual.objects].find(([path]) => path.startsWith(this.#kind.resource.resource))?.[1],
    ).length;
  }

  async #quiet(): Promise<void> {
    do await new Promise((resolve) => setImmediate(resolve));
    while (!this.#sync.queue.isIdle);
  }
}

for (const [count, changes] of sizes) {
  const [endpoints, slices] = [new Bench(endpointsKind, count, changes), new Bench(sliceKind, count, changes)];
  await endpoints.start();
  await slices.start();
  const taken: Record<'endpoints' | 'slices', number[]> = { endpoints: [], slices: [] };
  for (let turn = 1; turn <= rounds; turn++) {
    // A B B A: neither kind is always the second.
    const order = turn % 2 === 0 ? (['endpoints', 'slices'] as const) : (['slices', 'endpoints'] as const);
    for (const name of order) taken[name].push(await { endpoints, slices }[name].round(turn));
  }
  // A tenth of the rounds runs without a neighbour on the machine.
  const [one, other] = [taken.endpoints, taken.slices].map((list) => percentile(list, 0.1)) as [number, number];
  const bytes = slices.bytes / endpoints.bytes;
  const note = `${one.toFixed(0)} µs an Endpoints, ${other.toFixed(0)} µs a slice; bytes ${bytes.toFixed(2)}`;
  const value = count === 3 ? other / one : other / one / bytes;
  const name = count === 3 ? 'slice of 3 addresses / Endpoints' : `slice of ${count} addresses / Endpoints / bytes`;
  report.add({ name, value, unit: '', wanted: { atMost: 1.2 }, note });
}
process.stdout.write(`${report.save(load())}\n`);
const tripped = values.gate ? gateFigures(report, sliceGateLimits) : [];
for (const { name, value } of tripped) process.stdout.write(`gate: ${name} is ${value}\n`);
process.exit(tripped.length > 0 ? 1 : 0);
