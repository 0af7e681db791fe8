import type { PatchEntry } from '../../src/config/settings/settings.ts';
import { silentLog } from '../../src/log.ts';
import { createMetrics } from '../../src/metrics.ts';
import type { KubeObject } from '../../src/object/meta/object.ts';
import { WorkQueue } from '../../src/queue/work-queue.ts';
import { endpointsKind } from '../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { projectHostEndpoints, projectVirtualEndpoints } from '../../src/sync/kinds/endpoints/items.ts';
import { Engine } from '../../src/sync/loop/engine.ts';
import { createRules, type RuleSettings } from '../../src/sync/loop/pass/rules.ts';
import type { Sync } from '../../src/sync/loop/sync.ts';
import type { SyncOptions } from '../../src/sync/loop/sync-options.ts';
import type { OpenedPatcher, OpenPatcherOptions } from '../../src/sync/patch/run/open-patcher.ts';
import { projectService } from '../../src/sync/plan/kind.ts';
import type { NamespaceMapping } from '../../src/sync/plan/placement.ts';
import { settle, VirtualClock } from '../virtual-clock.ts';
import { FakeServer, FakeWindow } from './fake-cluster.ts';
import { openTestPatcher } from './patch/fake-patch.ts';

export const defaultSettings: RuleSettings = {
  virtualClusterName: 'vc',
  hostNamespace: 'vcluster-vc',
  backSync: 'all',
  exclude: { labels: [], annotations: [] },
  addressPolicy: { allow: [], deny: [] },
};

export interface FakeOptions {
  settings?: Partial<RuleSettings>;
  mapping?: NamespaceMapping;
  isHostRecent?: boolean;
  hasOwner?: boolean;
  isDryRun?: boolean;
  patches?: readonly PatchEntry[];
  /** Opens the sandbox for the expressions of the patches. */
  openSandbox?: OpenPatcherOptions['openSandbox'];
  /** The value of context.vcluster.config in expressions. */
  vcluster?: Record<string, unknown>;
}

/** A sync between two fake clusters. The clusters outlive the sync, so stop() and run() restart it. */
export class FakeWorld {
  readonly virtual = new FakeServer();
  readonly host = new FakeServer();
  readonly clock = new VirtualClock();
  options: FakeOptions;
  isLeader = true;
  engine!: Engine;
  sync!: Sync;
  patches: OpenedPatcher | undefined;
  windows!: {
    virtual: FakeWindow<never>;
    services: FakeWindow<never>;
    host: FakeWindow<never>;
    owner: FakeWindow<never> | undefined;
  };

  constructor(options: FakeOptions = {}) {
    this.options = options;
    if (options.hasOwner !== false && options.mapping === undefined) {
      this.host.put('services', service('vc', 'vcluster-vc', {}));
    }
  }

  /** `awaits` is a kind that the same engine is going to open; with `isBeside` the engine is there already. */
  async run({
    awaits,
    isBeside,
    ...over
  }: Partial<SyncOptions> & { awaits?: string; isBeside?: boolean } = {}): Promise<this> {
    const { options } = this;
    const open = <T>(server: FakeServer, resource: string, project: (object: KubeObject) => T) =>
      new FakeWindow<never>(server, resource, project as never);
    this.windows = {
      virtual: open(this.virtual, 'endpoints', projectVirtualEndpoints),
      services: open(this.virtual, 'services', projectService),
      host: open(this.host, 'endpoints', projectHostEndpoints),
      owner: options.mapping === undefined ? open(this.host, 'services', projectService) : undefined,
    };
    await this.patches?.stop();
    this.patches = options.patches && this.#openPatcher(options.patches);
    await this.patches?.start();
    const given: SyncOptions = {
      queue: new WorkQueue(this.clock),
      windows: this.windows as never,
      rules: createRules(
        endpointsKind,
        { ...defaultSettings, ...options.settings },
        { mapping: options.mapping, patcher: this.patches?.patcher },
      ),
      virtualWriter: this.virtual.writer(),
      hostWriter: this.host.writer(),
      clock: this.clock,
      random: () => 0.5,
      log: silentLog,
      metrics: createMetrics(),
      isLeader: () => this.isLeader,
      isDryRun: options.isDryRun ?? false,
      isHostRecent: options.isHostRecent ?? true,
      ...over,
    };
    if (!isBeside) this.engine = new Engine(given);
    if (awaits !== undefined) this.engine.await(awaits);
    this.sync = this.engine.open(given);
    await this.sync.start();
    await this.quiet();
    return this;
  }

  #openPatcher(patches: readonly PatchEntry[]): OpenedPatcher {
    const { openSandbox, vcluster } = this.options;
    return openTestPatcher(patches, undefined, {
      clock: this.clock,
      ...(openSandbox && { openSandbox }),
      ...(vcluster && { vcluster }),
    });
  }

  async stop(): Promise<void> {
    await this.sync.stop(1000);
    await this.patches?.stop();
    this.patches = undefined;
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.run();
  }

  /** Waits until the queue is empty. Delayed work also needs clock.advance(). */
  async quiet(): Promise<void> {
    for (let turn = 0; turn < 100; turn++) {
      await settle(2);
      if (this.sync.queue.isIdle && !this.sync.world.isOwnerInDoubt) return;
    }
  }

  async change(act: () => void): Promise<void> {
    act();
    await this.quiet();
  }

  copy(name: string, namespace = 'default'): KubeObject | undefined {
    return this.host.get('endpoints', 'vcluster-vc', `${name}-x-${namespace}-x-vc`);
  }

  eventReasons(): string[] {
    return this.virtual.list('events').map((event) => String(event['reason']));
  }
}

export function service(name: string, namespace = 'default', spec: object = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec };
}

export function endpoints(name: string, ip = '10.0.0.1', metadata: Partial<KubeObject['metadata']> = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name, namespace: 'default', ...metadata },
    subsets: [{ addresses: [{ ip }], ports: [{ name: 'http', port: 80, protocol: 'TCP' }] }],
  };
}

/** Stores a Service and an Endpoints of one name on the virtual side. */
export function putPair(
  world: FakeWorld,
  name: string,
  ip?: string,
  metadata: Partial<KubeObject['metadata']> = {},
): void {
  world.virtual.put('services', service(name, metadata.namespace ?? 'default'));
  world.virtual.put('endpoints', endpoints(name, ip, metadata));
}

/** Changes a stored object as another client would. */
export function edit(server: FakeServer, object: KubeObject | undefined, change: (draft: KubeObject) => void): void {
  const draft = structuredClone(object as KubeObject);
  change(draft);
  server.put('endpoints', draft);
}

export function ipOf(object: KubeObject | undefined): string | undefined {
  return (object?.['subsets'] as { addresses: { ip: string }[] }[] | undefined)?.[0]?.addresses[0]?.ip;
}
