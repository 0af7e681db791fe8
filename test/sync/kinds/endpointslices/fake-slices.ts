// A sync of EndpointSlices between two fake clusters, with or without a sync of Endpoints beside it.
import { silentLog } from '../../../../src/log.ts';
import { createMetrics } from '../../../../src/metrics.ts';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { WorkQueue } from '../../../../src/queue/work-queue.ts';
import type { MirroredSlices } from '../../../../src/sync/kinds/endpointslices/eligibility.ts';
import { createEndpointSliceKind } from '../../../../src/sync/kinds/endpointslices/endpointslice-kind.ts';
import { projectHostSlice, projectVirtualSlice } from '../../../../src/sync/kinds/endpointslices/items.ts';
import { Engine } from '../../../../src/sync/loop/engine.ts';
import { createRules, type RuleSettings } from '../../../../src/sync/loop/pass/rules.ts';
import type { Sync } from '../../../../src/sync/loop/sync.ts';
import type { SyncOptions } from '../../../../src/sync/loop/sync-options.ts';
import type { Patcher } from '../../../../src/sync/patch/run/patcher.ts';
import { projectService } from '../../../../src/sync/plan/kind.ts';
import type { NamespaceMapping } from '../../../../src/sync/plan/placement.ts';
import { settle } from '../../../virtual-clock.ts';
import { type FakeServer, FakeWindow } from '../../fake-cluster.ts';
import { defaultSettings, FakeWorld, service } from '../../fake-sync.ts';

export const hostNamespace = 'vcluster-vc';

export interface SliceWorldOptions {
  mirrored?: MirroredSlices;
  dropsNodeName?: boolean;
  settings?: Partial<RuleSettings>;
  mapping?: NamespaceMapping;
  patcher?: Patcher;
}

/** The slices on top of a FakeWorld, whose sync of Endpoints runs only when a test starts it. */
export class SliceWorld extends FakeWorld {
  slices!: Sync;
  readonly how: SliceWorldOptions;

  constructor(how: SliceWorldOptions = {}) {
    super(how.mapping === undefined ? {} : { mapping: how.mapping });
    this.how = how;
  }

  /** With `isBeside` in the engine of the Endpoints, otherwise in one of their own. */
  async runSlices({ isBeside, ...over }: Partial<SyncOptions> & { isBeside?: boolean } = {}): Promise<this> {
    const open = (server: FakeServer, resource: string, project: (object: KubeObject) => unknown) =>
      new FakeWindow<never>(server, resource, project as never);
    const { mirrored = 'never', dropsNodeName = false, settings, mapping, patcher } = this.how;
    const isWatched = (object: KubeObject) =>
      object.metadata.labels?.['endpointslice.kubernetes.io/managed-by'] !== 'endpointslice-controller.k8s.io';
    const given: SyncOptions = {
      queue: new WorkQueue(this.clock),
      windows: {
        virtual: open(this.virtual, 'endpointslices', (object) =>
          isWatched(object) ? projectVirtualSlice(object) : undefined,
        ),
        services: open(this.virtual, 'services', projectService),
        host: open(this.host, 'endpointslices', projectHostSlice),
        owner: mapping === undefined ? open(this.host, 'services', projectService) : undefined,
      },
      rules: createRules(
        createEndpointSliceKind({ mirrored, dropsNodeName }),
        { ...defaultSettings, ...settings },
        { mapping, patcher },
      ),
      virtualWriter: this.virtual.writer(),
      hostWriter: this.host.writer(),
      clock: this.clock,
      random: () => 0.5,
      log: silentLog,
      metrics: createMetrics(),
      isLeader: () => this.isLeader,
      isDryRun: false,
      isHostRecent: true,
      ...over,
    };
    if (!isBeside) this.engine = new Engine(given);
    this.slices = this.engine.open(given);
    await this.slices.start();
    await this.rest();
    return this;
  }

  async rest(): Promise<void> {
    for (let turn = 0; turn < 100; turn++) {
      await settle(2);
      if (this.slices.queue.isIdle && (this.sync?.queue.isIdle ?? true)) return;
    }
  }

  put(...objects: KubeObject[]): void {
    for (const object of objects) this.virtual.put(object.kind === 'Service' ? 'services' : 'endpointslices', object);
  }

  sliceCopy(name: string, namespace = 'default'): KubeObject | undefined {
    return this.host.get('endpointslices', hostNamespace, `${name}-x-${namespace}-x-vc`);
  }

  stateOf(key: string): string | undefined {
    const outcome = this.slices.ledger.outcomeOf(key);
    return outcome && ('reason' in outcome ? outcome.reason : outcome.kind);
  }
}

export interface SliceParts {
  name?: string;
  service?: string | undefined;
  manager?: string;
  addressType?: string;
  addresses?: string[];
  ports?: object[] | null;
  metadata?: Partial<KubeObject['metadata']>;
  endpoint?: object;
}

export function slice(parts: SliceParts = {}): KubeObject {
  const { name = 'web-1', manager, addressType = 'IPv4', addresses = ['10.0.0.1'], metadata = {} } = parts;
  const serviceName = 'service' in parts ? parts.service : 'web';
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name,
      namespace: 'default',
      ...metadata,
      labels: {
        ...metadata.labels,
        ...(serviceName !== undefined && { 'kubernetes.io/service-name': serviceName }),
        ...(manager !== undefined && { 'endpointslice.kubernetes.io/managed-by': manager }),
      },
    },
    addressType,
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: {}, ...parts.endpoint })),
    ports: parts.ports === undefined ? [{ name: 'http', port: 80, protocol: 'TCP' }] : parts.ports,
  };
}

export { service };
