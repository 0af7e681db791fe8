// One virtual cluster as a value: its windows, rules, patches, references and engine. In: its settings, connections and writers,
// and what several virtual clusters may share: queue, sandbox, host connection, clock. Out: an engine with a sync for each kind.
// Nothing here may be one for the whole process.
import type { Connection } from '../../cluster/wire/connection.ts';
import type { Writer } from '../../cluster/write/writer.ts';
import { copyNamespaces, mappingsOf } from '../../config/settings/host-namespaces.ts';
import type { CompiledMappings } from '../../config/settings/namespace-mappings.ts';
import type { Settings } from '../../config/settings/settings.ts';
import type { WorkQueue } from '../../queue/work-queue.ts';
import type { ContentKind } from '../../sync/kinds/content/content-kind.ts';
import type { LeftObject } from '../../sync/loop/content/left-objects.ts';
import type { SearchAnswer } from '../../sync/loop/content/leftovers.ts';
import { References } from '../../sync/loop/content/references.ts';
import { Engine } from '../../sync/loop/engine.ts';
import type { Sync } from '../../sync/loop/sync.ts';
import type { DaemonOptions } from '../options/daemon-options.ts';
import { type RegisteredKind, registeredKinds } from './kinds.ts';
import { RunningPatches } from './patches.ts';
import { findCopies, findImports, type LeftoverSearch, referenceSettings } from './references.ts';
import { type Begun, RunningKind } from './running-kind.ts';
import { DaemonWindows } from './windows.ts';

export interface SyncedClusterOptions
  extends Pick<
    DaemonOptions,
    'patches' | 'isDryRun' | 'clock' | 'random' | 'log' | 'metrics' | 'nodePath' | 'openSandbox'
  > {
  /** By default all that a daemon syncs. */
  kinds?: readonly RegisteredKind[];
  queue: WorkQueue;
  /** The newest ones: what they switch off is not written from then on, even before take() was called. */
  settings: () => Settings;
  /** Undefined until both clusters are reached. */
  connections: () => { virtual: Connection; host: Connection } | undefined;
  /** Called when the sync cannot go on. */
  end: (why: string) => void;
}

export interface ReachedSides {
  connections: { virtual: Connection; host: Connection };
  virtualWriter: Writer;
  hostWriter: Writer;
  isHostRecent: boolean;
  /** Whether this process holds the lease, where one is needed. */
  isLeading: () => boolean;
  /** Who writes instead of this process. */
  standbyBehind?: () => string | undefined;
  /** Why nobody is known to write. */
  leaderless?: () => string | undefined;
}

export class SyncedCluster {
  readonly references: References;
  readonly patches: RunningPatches;
  readonly windows: DaemonWindows;
  readonly #options: SyncedClusterOptions;
  readonly #mappings: CompiledMappings | undefined;
  readonly #kinds: readonly RunningKind[];
  readonly #stopping = new AbortController();
  #begun: Begun | undefined;

  constructor(options: SyncedClusterOptions) {
    const settings = options.settings();
    this.#options = options;
    this.#mappings = mappingsOf(settings);
    this.windows = new DaemonWindows({ ...options, settings }, options.connections, this.#mappings);
    this.references = new References({
      ...options,
      settings: referenceSettings(settings, options.patches),
      openWindows: (kind) => this.windows.openContent(kind, options.settings()),
      findCopies: (kind) => this.#search(findCopies, kind),
      findImports: (kind) => this.#search(findImports, kind),
    });
    this.patches = new RunningPatches(options, { mappings: this.#mappings, references: this.references.names });
    const parts = {
      options,
      windows: this.windows,
      patches: this.patches,
      mappings: this.#mappings,
      settings: options.settings,
      end: options.end,
    };
    this.#kinds = (options.kinds ?? registeredKinds).map((kind) => new RunningKind(kind, parts));
  }

  /** The syncs of all kinds that have begun. */
  get syncs(): readonly Sync[] {
    return this.#begun?.engine.syncs ?? [];
  }

  kind(registered: RegisteredKind): RunningKind | undefined {
    return this.#kinds.find((one) => one.registered === registered);
  }

  get hasBegun(): boolean {
    return this.#begun !== undefined;
  }

  /** Host namespaces that may hold copies; undefined stands for all of them. */
  get copyNamespaces(): readonly (string | undefined)[] {
    return copyNamespaces(this.#mappings, this.#options.settings().hostNamespace);
  }

  /** Resolves once the patches of the settings can run. */
  async prepare(settings: Settings, patches: DaemonOptions['patches']): Promise<void> {
    await this.patches.take(settings, patches);
    await this.references.take(referenceSettings(settings, patches));
  }

  async begin({ isLeading, connections, ...reached }: ReachedSides): Promise<void> {
    const engine = new Engine({ ...this.#options, ...reached, references: this.references });
    this.#begun = { engine, isLeading, connections, copyNamespaces: this.copyNamespaces };
    await this.#takeKinds(this.#begun);
  }

  /** All of them begin in one turn, so that no kind waits for the lists of another one before it asks for its rights. */
  async #takeKinds(begun: Begun): Promise<void> {
    // Which of several Services gets a host name is decided with all kinds that are about to begin.
    if (this.#lacksKind) for (const kind of this.#kinds) if (kind.isAwaited) begun.engine.await(kind.name);
    await Promise.all(this.#kinds.map((kind) => kind.take(begun)));
  }

  /** Whether a kind that waits to begin must have its rights at the start: the others can begin later. */
  get #lacksKind(): boolean {
    return this.#kinds.some(({ isAwaited, registered }) => isAwaited && registered.rights === undefined);
  }

  /** `checkRights` is awaited before a kind begins that was switched off before. */
  async take(settings: Settings, patches: DaemonOptions['patches'], checkRights: () => Promise<void>): Promise<void> {
    await this.prepare(settings, patches);
    if (this.#begun === undefined) return;
    if (this.#lacksKind) await checkRights();
    await this.#takeKinds(this.#begun);
  }

  async #search<T extends LeftObject>(
    find: (kind: ContentKind, search: LeftoverSearch) => Promise<SearchAnswer<T>>,
    kind: ContentKind,
  ): Promise<SearchAnswer<T>> {
    const connections = this.#options.connections();
    if (connections === undefined) return { kind: 'failed' };
    const { virtualClusterName } = this.#options.settings();
    const { copyNamespaces } = this;
    return find(kind, { ...connections, virtualClusterName, copyNamespaces, signal: this.#stopping.signal });
  }

  async stop(withinMs: number): Promise<void> {
    this.#stopping.abort();
    this.windows.strayNamespaces.stop();
    for (const kind of this.#kinds) kind.stop();
    await this.#begun?.engine.stop(withinMs);
    await this.patches.stop();
  }
}
