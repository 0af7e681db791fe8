import type { PatchEntry } from '../../../src/config/settings/settings.ts';
import { type Log, silentLog } from '../../../src/log.ts';
import { createMetrics, type Metrics } from '../../../src/metrics.ts';
import { generatedName } from '../../../src/object/meta/names.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { WorkQueue } from '../../../src/queue/work-queue.ts';
import { projectCopy, projectImportable, projectVirtualContent } from '../../../src/sync/kinds/content/content-kind.ts';
import { endpointsKind } from '../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import type { FoundCopy, FoundImport } from '../../../src/sync/loop/content/left-objects.ts';
import type { SearchAnswer } from '../../../src/sync/loop/content/leftovers.ts';
import { type ReferenceSettings, References } from '../../../src/sync/loop/content/references.ts';
import { createRules } from '../../../src/sync/loop/pass/rules.ts';
import type { SyncOptions } from '../../../src/sync/loop/sync-options.ts';
import { openPatcher } from '../../../src/sync/patch/run/open-patcher.ts';
import { compilePatchSet } from '../../../src/sync/patch/set/patch-set.ts';
import type { Naming } from '../../../src/sync/references/reference-names.ts';
import { InProcessSandbox } from '../../expression/in-process-sandbox.ts';
import { settle } from '../../virtual-clock.ts';
import { FakeWindow } from '../fake-cluster.ts';
import { defaultSettings, type FakeOptions, FakeWorld, putPair } from '../fake-sync.ts';
import { entry } from '../patch/fake-patch.ts';

export interface ReferenceOptions extends Omit<FakeOptions, 'patches'> {
  references?: readonly PatchEntry[];
  naming?: Naming;
  exported?: readonly string[];
  log?: Log;
  /** What the host says to a search for copies of kinds that no patch names, instead of what it has. */
  search?: () => SearchAnswer<FoundCopy>;
  /** The same of the virtual cluster and imports. */
  searchImports?: () => SearchAnswer<FoundImport>;
}

export const toSecret = entry({ path: 'metadata.annotations["k"]', reference: { apiVersion: 'v1', kind: 'Secret' } });
export const toConfigMap = entry({
  path: 'metadata.annotations["c"]',
  reference: { apiVersion: 'v1', kind: 'ConfigMap' },
});

/** A sync with references between two fake clusters that outlive it. */
export class ReferenceWorld extends FakeWorld {
  given: ReferenceOptions;
  references!: References;
  contentWindows = new Map<string, FakeWindow<never>>();
  metrics: Metrics = createMetrics();

  constructor(given: ReferenceOptions = {}) {
    super(given);
    this.given = given;
  }

  static async started(given: ReferenceOptions, prepare: (world: ReferenceWorld) => void): Promise<ReferenceWorld> {
    const world = new ReferenceWorld(given);
    prepare(world);
    return world.run();
  }

  get settings(): ReferenceSettings {
    const {
      references = [toSecret, toConfigMap],
      naming = 'generated',
      exported = ['Secret', 'ConfigMap'],
    } = this.given;
    const kinds = new Set(references.flatMap(({ reference }) => reference?.kind ?? []));
    return {
      naming,
      kinds,
      referring: new Map(kinds.size > 0 ? [['Endpoints', kinds]] : []),
      referrers: new Set(references.length > 0 ? ['Endpoints'] : []),
      exported: new Set(exported),
    };
  }

  rulesNow(): SyncOptions['rules'] {
    const { references = [toSecret, toConfigMap], settings, mapping } = this.given;
    const compiled = compilePatchSet(
      references.map((one, index) => ({ index, entry: one })),
      endpointsKind,
    );
    if (compiled.kind === 'faults') throw new Error(JSON.stringify(compiled.faults));
    const { patcher } = openPatcher({
      settings: { virtualClusterName: 'vc', hostNamespace: 'vcluster-vc', vcluster: {} },
      set: compiled.set,
      mappings: undefined,
      openSandbox: (setup) => new InProcessSandbox(setup),
      clock: this.clock,
      references: this.references.names,
    });
    return createRules(endpointsKind, { ...defaultSettings, ...settings }, { mapping, patcher });
  }

  override async run(over: Partial<SyncOptions> = {}): Promise<this> {
    const open = (name: string, server: FakeWorld['host'], project: (object: KubeObject) => unknown) => {
      const window = new FakeWindow<never>(server, name.split(' ')[1] ?? '', project as never);
      this.contentWindows.set(name, window);
      return window as never;
    };
    this.metrics = createMetrics();
    const queue = new WorkQueue(this.clock);
    this.references = new References({
      queue,
      settings: this.settings,
      openWindows: ({ resource: { resource } }) => ({
        virtual: open(`virtual ${resource}`, this.virtual, projectVirtualContent),
        copies: open(`copies ${resource}`, this.host, (object) => projectCopy(object, 'vc')),
        importable: open(`importable ${resource}`, this.host, (object) => projectImportable(object, 'vc')),
      }),
      findCopies: async ({ resource: { resource } }) => this.given.search?.() ?? this.#copiesOf(resource),
      findImports: async ({ resource: { resource } }) => this.given.searchImports?.() ?? this.#importsOf(resource),
      clock: this.clock,
      random: () => 0.5,
      log: this.given.log ?? silentLog,
      metrics: this.metrics,
    });
    return super.run({
      queue,
      rules: this.rulesNow(),
      references: this.references,
      log: this.given.log ?? silentLog,
      metrics: this.metrics,
      ...over,
    });
  }

  #copiesOf(resource: string): SearchAnswer<FoundCopy> {
    return { kind: 'found', objects: this.host.list(resource).flatMap((object) => projectCopy(object, 'vc') ?? []) };
  }

  #importsOf(resource: string): SearchAnswer<FoundImport> {
    const labelled = this.virtual
      .list(resource)
      .filter(({ metadata }) => metadata.labels?.['hostward.dev/imported'] === 'true');
    return { kind: 'found', objects: labelled.map(projectVirtualContent) };
  }

  /** The configuration changes while the daemon runs. */
  async reconfigure(change: Partial<ReferenceOptions>): Promise<void> {
    this.given = { ...this.given, ...change };
    await this.references.take(this.settings);
    this.sync.setRules(this.rulesNow());
    await this.quiet();
  }

  override async quiet(): Promise<void> {
    for (let turn = 0; turn < 200; turn++) {
      await settle(3);
      if (this.sync.queue.isIdle && this.references.isIdle && !this.sync.world.isOwnerInDoubt) return;
    }
  }

  /** The tenant's Endpoints, which refers to a Secret (k) or a ConfigMap (c). */
  refer(annotations: Record<string, string>, name = 'web', namespace = 'default'): void {
    putPair(this, name, '10.0.0.1', { namespace, annotations });
  }

  said(key: 'k' | 'c' = 'k', name = 'web', namespace = 'default'): string | undefined {
    const place = this.given.mapping ? { namespace: 'team', name } : undefined;
    const copy = place ? this.host.get('endpoints', place.namespace, place.name) : this.copy(name, namespace);
    return copy?.metadata.annotations?.[key];
  }

  exported(name: string, namespace = 'default', resource = 'secrets'): KubeObject | undefined {
    return this.host.get(resource, 'vcluster-vc', generatedName({ name, namespace }, 'vc'));
  }

  imported(name: string, namespace = 'default'): KubeObject | undefined {
    return this.virtual.get('secrets', namespace, name);
  }

  contentWrites(): string[] {
    const all = [
      ...this.host.writes.map((one) => `host ${one}`),
      ...this.virtual.writes.map((one) => `virtual ${one}`),
    ];
    return all.filter((one) => / (secrets|configmaps) /.test(one));
  }
}

export function secret(name: string, value = 'djE=', metadata: Partial<KubeObject['metadata']> = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'default', ...metadata },
    type: 'Opaque',
    data: { value },
  };
}

/** A Secret of the host's people, which tenants may have. */
export function hostSecret(name: string, value = 'aG9zdA==', labels: Record<string, string> = importable): KubeObject {
  return secret(name, value, { namespace: 'vcluster-vc', labels });
}

export const importable = { 'hostward.dev/importable': 'true' };
