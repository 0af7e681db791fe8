// Opens the windows onto both clusters. In: settings and mappings. Out: windows for sync and for references, each with a name
// that people can read.

import { type CombinedNamespaces, combineWindows, narrowWindow } from '../../cluster/window/combined-window.ts';
import { openWindow } from '../../cluster/window/open-window.ts';
import type { Item, Window } from '../../cluster/window/window.ts';
import type { Connection } from '../../cluster/wire/connection.ts';
import { type ResourceRef, servicesResource } from '../../cluster/wire/scope.ts';
import { isWide, namedHostNamespaces } from '../../config/settings/host-namespaces.ts';
import type { CompiledMappings } from '../../config/settings/namespace-mappings.ts';
import type { Settings } from '../../config/settings/settings.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import type { ContentKind } from '../../sync/kinds/content/content-kind.ts';
import type { ContentWindows } from '../../sync/loop/content/content-world.ts';
import { markerLabel } from '../../sync/plan/keys/reserved-keys.ts';
import {
  type HostItem,
  type HostServiceItem,
  projectHostService,
  projectService,
  type SyncedKind,
  type VirtualItem,
} from '../../sync/plan/kind.ts';
import type { Windows } from '../../sync/world/sources.ts';
import type { DaemonOptions } from '../options/daemon-options.ts';
import { type ContentScope, openContentWindows } from './references.ts';
import { isOfInstance, StrayNamespaces } from './stray-namespaces.ts';

/**
 * Watches the Services of mapped host namespaces, because there a Service of the host may already use a name. In its own
 * namespace a virtual cluster shares no names.
 */
function openHostServices(
  mappings: CompiledMappings | undefined,
  options: {
    hostNamespace: string;
    open: (
      scope: { namespace?: string; showsNamespace?: (namespace: string) => boolean },
      project: (object: KubeObject) => HostServiceItem | undefined,
    ) => Window<HostServiceItem>;
  },
): Window<HostServiceItem> | undefined {
  const { hostNamespace, open } = options;
  if (mappings === undefined) return undefined;
  const namespaces = mappings.windows.namespaces.filter((namespace) => namespace !== hostNamespace);
  const isMapped = matcherOf(mappings, namespaces);
  // The projection drops foreign Services, so that the thousands of Services of a large host take no memory.
  if (isWide(mappings))
    return open({ showsNamespace: isMapped }, (object) =>
      isMapped(object.metadata.namespace ?? '') ? projectHostService(object) : undefined,
    );
  if (namespaces.length === 0) return undefined;
  return combineWindows(new Map(namespaces.map((namespace) => [namespace, open({ namespace }, projectHostService)])));
}

function matcherOf(mappings: CompiledMappings | undefined, namespaces: readonly string[]): (name: string) => boolean {
  const prefixes = (mappings?.windows.prefixes ?? []).map((prefix) => prefix.replace(/\*$/, ''));
  return (name) => namespaces.includes(name) || prefixes.some((prefix) => name.startsWith(prefix));
}

type Keeps = (object: KubeObject) => boolean;

function openHostWindow<T extends Item>(
  mappings: CompiledMappings | undefined,
  options: {
    namespaces: readonly string[];
    virtualClusterName: string;
    openHost: (scope: { namespace?: string; labelSelector?: string }, isKept?: Keeps) => Window<T>;
    /** Finds our copies outside of these namespaces too. */
    strays?: { isOurs: Keeps; search: (window: CombinedNamespaces<T>, open: (namespace: string) => Window<T>) => void };
  },
): Window<T> {
  const { namespaces, openHost, strays } = options;
  const labelSelector = `${markerLabel}=${options.virtualClusterName}`;
  if (isWide(mappings)) {
    const isMapped = matcherOf(mappings, namespaces);
    if (strays === undefined) return narrowWindow(openHost({ labelSelector }), isMapped);
    return openHost({ labelSelector }, (object) => isMapped(object.metadata.namespace ?? '') || strays.isOurs(object));
  }
  const [only] = namespaces;
  if (strays === undefined && namespaces.length === 1 && only !== undefined) return openHost({ namespace: only });
  const combined = combineWindows(new Map(namespaces.map((namespace) => [namespace, openHost({ namespace })])));
  strays?.search(combined, (namespace) => openHost({ namespace, labelSelector }, strays.isOurs));
  return combined;
}

export interface OpenedWindow {
  name: string;
  /** Absent where it shows several. */
  namespace?: string;
  window: Window<Item>;
}

type WindowsOptions = Pick<DaemonOptions, 'settings' | 'clock' | 'random' | 'log' | 'metrics' | 'isDryRun'>;

export class DaemonWindows {
  readonly opened: OpenedWindow[] = [];
  /** Host namespaces that no mapping names any more, and that hold copies of ours. */
  readonly strayNamespaces: StrayNamespaces;
  readonly #options: WindowsOptions;
  readonly #connections: () => { virtual: Connection; host: Connection } | undefined;
  readonly #mappings: CompiledMappings | undefined;
  /** The Services are the same for every kind. */
  #shared: Pick<Windows, 'services' | 'hostServices' | 'owner'> | undefined;

  constructor(
    options: WindowsOptions,
    connections: () => { virtual: Connection; host: Connection } | undefined,
    mappings: CompiledMappings | undefined,
  ) {
    this.#options = options;
    this.#connections = connections;
    this.#mappings = mappings;
    this.strayNamespaces = new StrayNamespaces({ ...options, host: () => connections()?.host });
  }

  /** Both clusters must have been reached. */
  openSync(kind: SyncedKind, { hostNamespace, virtualClusterName, setOwner }: WindowSettings): Windows {
    const openHost = (scope: ContentScope, isKept?: (object: KubeObject) => boolean): Window<HostItem> =>
      this.#open('host', kind.resource, scope, (object) =>
        isKept === undefined || isKept(object) ? kind.projectHost(object) : undefined,
      );
    const namespaces = namedHostNamespaces(this.#mappings, hostNamespace);
    const owner = { namespace: hostNamespace, fieldSelector: `metadata.name=${virtualClusterName}` };
    const needsOwner = this.#mappings === undefined && setOwner;
    const shared = this.#shared ?? {
      services: this.#open('virtual', servicesResource, {}, projectService),
      hostServices: openHostServices(this.#mappings, {
        hostNamespace,
        open: (scope, project) => this.#open('host', servicesResource, scope, project),
      }),
      owner: needsOwner ? this.#open('host', servicesResource, owner, projectService) : undefined,
    };
    this.#shared = shared;
    const { virtualSelector: labelSelector } = kind;
    const virtualScope = labelSelector === undefined ? {} : { labelSelector };
    return {
      ...shared,
      virtual: this.#open<VirtualItem>('virtual', kind.resource, virtualScope, (object) => kind.projectVirtual(object)),
      host: openHostWindow(this.#mappings, {
        namespaces,
        virtualClusterName,
        openHost,
        strays: this.#straysOf(kind.resource, { hostNamespace, virtualClusterName }, namespaces),
      }),
      showsMarkedOnly: isWide(this.#mappings),
    };
  }

  /** Copies that a former mapping left behind must go, so a window shows them even where nothing is mapped now. */
  #straysOf(
    ref: ResourceRef,
    of: Pick<Settings, 'hostNamespace' | 'virtualClusterName'>,
    namespaces: readonly string[],
  ) {
    return {
      isOurs: (object: KubeObject): boolean => isOfInstance(object, of),
      search: <T extends Item>(window: CombinedNamespaces<T>, open: (namespace: string) => Window<T>): void =>
        this.strayNamespaces.search({
          ref,
          namespaces,
          isStopped: () => window.state === 'stopped',
          watch: (namespace) => void window.join(namespace, open(namespace)),
        }),
    };
  }

  /** Opens the windows for one kind that reference patches name. Both clusters must have been reached. */
  openContent(kind: ContentKind, { hostNamespace, virtualClusterName }: WindowSettings): ContentWindows {
    const namespaces = namedHostNamespaces(this.#mappings, hostNamespace);
    return openContentWindows(kind, {
      virtualClusterName,
      open: {
        virtual: (ref, project) => this.#open('virtual', ref, {}, project),
        host: (ref, labelSelector, project, what) =>
          openHostWindow(this.#mappings, {
            namespaces,
            virtualClusterName,
            openHost: (scope, isKept = () => true) =>
              this.#open('host', ref, { ...scope, labelSelector }, (object) =>
                isKept(object) ? project(object) : undefined,
              ),
            ...(what === 'copies' && {
              strays: this.#straysOf(ref, { hostNamespace, virtualClusterName }, namespaces),
            }),
          }),
      },
    });
  }

  #open<T extends Item>(
    side: 'virtual' | 'host',
    ref: ResourceRef,
    scope: ContentScope,
    project: (object: KubeObject) => T | undefined,
  ): Window<T> {
    const { clock, random, log, metrics } = this.#options;
    const connection = (this.#connections() as Record<typeof side, Connection>)[side];
    const { proofIntervalMs } = this.#options.settings;
    const window = openWindow({ connection, ref, ...scope, project, clock, random, log, metrics, proofIntervalMs });
    const chosen = scope.labelSelector === undefined ? '' : ` with ${scope.labelSelector}`;
    const where = scope.namespace === undefined ? chosen : ` in ${scope.namespace}${chosen}`;
    this.opened.push({
      name: `${connection.name} ${ref.resource}${where}`,
      ...(scope.namespace !== undefined && { namespace: scope.namespace }),
      window: window as unknown as Window<Item>,
    });
    return window;
  }
}

type WindowSettings = Pick<Settings, 'hostNamespace' | 'virtualClusterName' | 'setOwner'>;
