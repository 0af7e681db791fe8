// What references name (DESIGN 4.12): copies of Secrets and ConfigMaps on the host, imports on the virtual side, and their names.

import { type Claim, type NameOnHost, render, strangersReferences } from './claims.ts';
import { adoptLeftImports, payloadOf } from './left-imports.ts';
import type { History } from './words/history.ts';
import { annotationsOf, canonical, type JsonMap, keyOf, labelsOf, listBelow, objectKey, own } from './words/json.ts';
import {
  BASE,
  IMPORTABLE,
  IMPORTED_FROM,
  INSTANCE,
  instanceOf,
  MANAGED_ANNOTATIONS,
  markerLabels,
  ownerOf,
  ownerReference,
  sixOf,
} from './words/marks.ts';
import { longName, type Place } from './words/names.ts';
import type { PatchEntry, Settings, SyncedKind } from './words/settings.ts';
import type { ExpectedObject, PlainKind, PlainObject } from './words/types.ts';

export type ContentKind = 'Secret' | 'ConfigMap';
export const isContent = (kind: string): kind is ContentKind => kind === 'Secret' || kind === 'ConfigMap';

const TOKEN = 'kubernetes.io/service-account-token';

const syncedKinds: readonly SyncedKind[] = ['Endpoints', 'EndpointSlice'];
const openMarks = [BASE, MANAGED_ANNOTATIONS].map((one) => ({
  path: ['metadata', 'annotations', one],
  mayLack: true as const,
}));

const canName = (entries: readonly PatchEntry[], kind: ContentKind): boolean =>
  entries.some(
    ({ reference }) => reference !== undefined && (reference.kind === kind || reference.kindPath !== undefined),
  );

export type Source = 'tenant' | 'host' | 'nowhere';

/** Everything that the patches of one calm point have asked the name of. */
export class References {
  private readonly history: History;
  private readonly settings: Settings;
  /** True: what asked for it is written; false: it may be that nothing counts it. */
  private readonly asked = new Map<string, boolean>();

  private readonly configurations: readonly Settings[];

  constructor(history: History, configurations: readonly Settings[]) {
    this.history = history;
    this.configurations = configurations;
    this.settings = configurations.at(-1) as Settings;
    adoptLeftImports(history, (key) => this.importableKey(key));
  }

  readonly counted: NameOnHost = (kind, namespace, name, entry) => {
    if (isContent(kind)) this.asked.set(keyOf(kind, namespace, name), true);
    return this.name(kind, namespace, name, entry);
  };

  readonly doubted: NameOnHost = (kind, namespace, name, entry) => {
    const key = keyOf(kind as PlainKind, namespace, name);
    if (isContent(kind) && !this.asked.has(key)) this.asked.set(key, false);
    return this.name(kind, namespace, name, entry);
  };

  readonly name: NameOnHost = (kind, namespace, name, entry) => {
    const { naming } = this.settings;
    if (isContent(kind)) {
      const key = keyOf(kind, namespace, name);
      return this.sourceOf(key) === 'host' ? name : naming.referenceName(namespace, name);
    }
    const isLong =
      (entry.reference?.naming ?? (this.settings.longReferences ? 'vcluster' : 'generated')) === 'vcluster';
    const place = naming.place(namespace, name);
    return isLong && !naming.isMapped
      ? longName(name, namespace, naming.virtualCluster)
      : this.plain(namespace, name, place);
  };

  private plain(namespace: string, name: string, place: Place | undefined): string {
    return place?.name === name ? name : this.settings.naming.referenceName(namespace, name);
  }

  get all(): readonly { readonly key: string; readonly kind: ContentKind }[] {
    return [...this.asked.keys()].map((key) => ({ key, kind: key.split(' ')[0] as ContentKind }));
  }

  /** The host object that an import of this key would be a copy of. */
  importable(key: string): PlainObject | undefined {
    return this.history.last('host', this.importableKey(key));
  }

  private importableKey(key: string): string {
    const { naming } = this.settings;
    const [kind, rest = ''] = key.split(' ') as [PlainKind, string];
    const [namespace = '', name = ''] = rest.split('/');
    const place = naming.place(namespace, name);
    const hostNamespace = naming.isMapped ? (place?.namespace ?? naming.hostNamespace) : naming.hostNamespace;
    return keyOf(kind, hostNamespace, name);
  }

  private isImportable(host: PlainObject | undefined): host is PlainObject {
    return (
      host !== undefined && own(labelsOf(host), IMPORTABLE) === 'true' && host.metadata.deletionTimestamp === undefined
    );
  }

  /** Who has the content: the tenant's own object, or the host's that may be imported. */
  sourceOf(key: string): Source {
    const host = this.importable(key);
    const last = this.history.last('virtual', key);
    const mark = own(annotationsOf(last), IMPORTED_FROM);
    const isImport = mark !== undefined && host?.metadata.uid === mark && this.isImportable(host);
    if (last !== undefined && mark === undefined) return 'tenant';
    if (isImport || (last === undefined && this.isImportable(host))) return 'host';
    return last === undefined ? 'nowhere' : 'tenant';
  }

  /** The copy of a tenant's object on the host, undefined where none may be. */
  copyOf(key: string, kind: ContentKind): ExpectedObject | undefined {
    const { history, settings } = this;
    const { naming } = settings;
    const virtual = history.last('virtual', key);
    if (virtual === undefined || this.sourceOf(key) !== 'tenant' || !settings.exports[kind]) return undefined;
    if (virtual['type'] === TOKEN) return undefined;
    const { namespace, name } = virtual.metadata;
    const at = naming.place(namespace, name);
    if (at === undefined) return undefined;
    const place: Place = { namespace: at.namespace, name: naming.referenceName(namespace, name) };
    const hostKey = keyOf(kind, place.namespace, place.name);
    const last = history.last('host', hostKey);
    if (last !== undefined && ownerOf(last, virtual.metadata, naming) !== 'ours') {
      return { side: 'host', object: last, open: [], exists: 'must', because: 'DESIGN 4.12 and 3.4: not ours' };
    }
    const object = this.rendered(virtual, place, kind);
    const isOwned = !settings.setsOwner || this.ownerService() !== undefined;
    const isSure = this.asked.get(key) === true && (last !== undefined || isOwned);
    const exists = isSure ? 'must' : 'may';
    return { side: 'host', object, open: openMarks, exists, because: 'DESIGN 4.12: exported' };
  }

  private rendered(virtual: PlainObject, place: Place, kind: ContentKind): ExpectedObject['object'] {
    const { history, settings } = this;
    const { naming } = settings;
    const { namespace } = virtual.metadata;
    const hostKey = keyOf(kind, place.namespace, place.name);
    const labels: { [key: string]: string } = {};
    for (const [label, value] of Object.entries(labelsOf(virtual))) {
      const hostLabel = naming.labelKey(label);
      if (hostLabel !== undefined && !settings.isExcludedLabel(label)) labels[hostLabel] = value;
    }
    const annotations: { [key: string]: string } = { ...sixOf(virtual, place) };
    if (naming.isMapped) annotations[INSTANCE] = instanceOf(naming);
    const { apiVersion: _a, kind: _k, metadata: _m, ...payload } = virtual as unknown as JsonMap;
    const metadata = {
      name: place.name,
      namespace: place.namespace,
      labels: { ...labels, ...markerLabels(namespace, naming) },
      annotations,
      ownerReferences: this.owners(virtual, history.now('host', hostKey), history.last('host', hostKey)),
    };
    return { apiVersion: virtual.apiVersion, kind, metadata, ...payload } as ExpectedObject['object'];
  }

  private ownerService(): PlainObject | undefined {
    const { hostNamespace, virtualCluster } = this.settings.naming;
    return this.history.last('host', keyOf('Service', hostNamespace, virtualCluster));
  }

  private owners(
    virtual: PlainObject,
    now: PlainObject | undefined,
    last: PlainObject | undefined,
  ): readonly unknown[] {
    const service = this.ownerService();
    const stands = listBelow(now, 'metadata', 'ownerReferences');
    if (this.settings.setsOwner && service === undefined) return stands;
    const strangers = strangersReferences(last, this.settings.naming.virtualCluster);
    const list =
      this.settings.setsOwner && service !== undefined ? [ownerReference(service, virtual), ...strangers] : strangers;
    const sorted = (references: readonly unknown[]): string => canonical(references.map(canonical).sort());
    return sorted(list) === sorted(stands) ? stands : list;
  }

  /** What is on the virtual side for a reference whose content the host has. */
  importOf(key: string): ExpectedObject | undefined {
    const host = this.importable(key);
    if (this.sourceOf(key) !== 'host' || host === undefined) return undefined;
    const [, rest = ''] = key.split(' ');
    const [namespace = '', name = ''] = rest.split('/');
    const { apiVersion: _a, kind: _k, metadata: _m, ...payload } = host as unknown as JsonMap;
    const metadata = { name, namespace, annotations: { [IMPORTED_FROM]: host.metadata.uid } };
    const object = { apiVersion: host.apiVersion, kind: host.kind, metadata, ...payload };
    const open = [{ path: ['metadata', 'labels'], mayLack: true as const }];
    return {
      side: 'virtual',
      object: object as ExpectedObject['object'],
      open,
      exists: this.asked.get(key) === true ? 'must' : 'may',
      because: 'DESIGN 4.12: imported',
    };
  }

  /** An object of the virtual side that the daemon brought there, and that no reference and no label holds any longer. */
  isSpentImport(virtual: PlainObject): boolean {
    const mark = own(annotationsOf(virtual), IMPORTED_FROM);
    if (mark === undefined) return false;
    const host = this.importable(objectKey(virtual));
    if (host === undefined || host.metadata.uid !== mark) return false;
    return !this.isImportable(host) || !this.asked.has(objectKey(virtual));
  }

  /**
   * DESIGN 3.2 and 4.12 together: what a switched-off kind left on the host is not touched and may name content, so content goes with its last
   * reference only when every kind whose patches can name it is switched on.
   */
  mayBeNamedUntouched(kind: ContentKind): boolean {
    return syncedKinds.some((synced) => !this.settings.isOn[synced] && canName(this.settings.patches[synced], kind));
  }

  /**
   * A copy that may stay without a reference: as it was at the last calm point or as its source was at a moment since then. None that nothing
   * has asked for since it was not there.
   */
  keptCopyOf(host: PlainObject, failing: readonly Claim[]): ExpectedObject | undefined {
    if (!isContent(host.kind) || !this.isOwnCopy(host)) return undefined;
    const annotations = annotationsOf(host);
    const name = own(annotations, 'vcluster.loft.sh/object-name') ?? '';
    const key = keyOf(host.kind, own(annotations, 'vcluster.loft.sh/object-namespace') ?? '', name);
    if (!this.mayBeNamedBy(failing, key, host.metadata.name) && !this.mayBeNamedUntouched(host.kind)) return undefined;
    const last = this.history.last('host', objectKey(host));
    if (last === undefined && !this.wasAskedFor(key) && !this.wasNamedOnHost(name)) return undefined;
    const sources = this.history.versions('virtual', key);
    const made = sources.map((source) => this.rendered(source, host.metadata, host.kind as ContentKind));
    const choices = last === undefined ? made : [last, ...made];
    const object = choices.find((one) => payloadOf(one) === payloadOf(host)) ?? choices[0];
    const because = 'DESIGN 3.2 and 4.12: what is not touched may name it';
    return object && { side: 'host', object, open: openMarks, exists: 'may', because };
  }

  /**
   * Imports that may stay without a reference, for the same reason; and while an object fails, since its old copy stays (DESIGN 4.9) and goes on
   * naming what it named.
   */
  keptImports(failing: readonly Claim[]): readonly ExpectedObject[] {
    return this.history.keysOf('virtual').flatMap((key): ExpectedObject[] => {
      const now = this.history.now('virtual', key);
      if (now === undefined || !isContent(now.kind) || this.asked.has(key)) return [];
      const mark = own(annotationsOf(now), IMPORTED_FROM);
      const isOfNow = mark !== undefined && this.importable(key)?.metadata.uid === mark;
      const isOpen = this.mayBeNamedBy(failing, key, now.metadata.name) || this.mayBeNamedUntouched(now.kind);
      if (!isOfNow || !isOpen) return [];
      const wasThere = own(annotationsOf(this.history.start('virtual', key)), IMPORTED_FROM) === mark;
      const expected = wasThere || this.wasAskedFor(key) ? this.importOf(key) : undefined;
      return expected === undefined ? [] : [{ ...expected, exists: 'may' }];
    });
  }

  /** The host may have written the name, which then has flowed back, and another one after it: of what the daemon writes, only the last is known. */
  private wasNamedOnHost(name: string): boolean {
    return this.history
      .everKeysOf('host')
      .filter((key) => syncedKinds.some((kind) => key.startsWith(`${kind} `)))
      .flatMap((key) => this.history.versions('host', key))
      .some((host) => Object.values(annotationsOf(host)).includes(name));
  }

  /** By its old copy, or by the patches that do not fail (DESIGN 4.9). */
  private mayBeNamedBy(failing: readonly Claim[], key: string, hostName: string): boolean {
    return failing.some(({ virtual, hostKey }) => {
      const copies = [...this.history.versions('host', hostKey), this.history.now('host', hostKey)];
      if (copies.some((copy) => Object.values(annotationsOf(copy)).includes(hostName))) return true;
      return this.wasAskedFor(key, [objectKey(virtual)]);
    });
  }

  /** Whether an object that was there at some moment since the last calm point names it, under a configuration of that time. */
  private wasAskedFor(key: string, by = this.history.everKeysOf('virtual')): boolean {
    let isAsked = false;
    const nameOnHost: NameOnHost = (kind, namespace, name, entry) => {
      isAsked ||= keyOf(kind as PlainKind, namespace, name) === key;
      return this.name(kind, namespace, name, entry);
    };
    for (const settings of this.configurations)
      for (const objectKind of syncedKinds)
        for (const virtualKey of by)
          if (settings.isOn[objectKind] && virtualKey.startsWith(`${objectKind} `))
            for (const virtual of this.history.versions('virtual', virtualKey))
              for (const patches of [settings.patches, ...eachAlone(settings.patches, objectKind)])
                render({ settings: { ...settings, patches }, virtual, host: undefined, nameOnHost });
    return isAsked;
  }

  /** A copy of ours whose last reference has gone, or whose export is off: only Hostward's own switches mean that nothing is touched. */
  isSpentCopy(host: PlainObject): boolean {
    return isContent(host.kind) && this.isOwnCopy(host);
  }

  private isOwnCopy(host: PlainObject): boolean {
    const { naming } = this.settings;
    const annotations = annotationsOf(host);
    const namespace = own(annotations, 'vcluster.loft.sh/object-namespace') ?? '';
    const name = own(annotations, 'vcluster.loft.sh/object-name') ?? '';
    if (name === '' || host.metadata.name !== naming.referenceName(namespace, name)) return false;
    if (!naming.isMapped && host.metadata.namespace !== naming.hostNamespace) return false;
    return ownerOf(host, { namespace, name }, naming) === 'ours';
  }
}

/** DESIGN 4.9 does not say whether an object names what stands behind the patch that fails, so either is right. */
function eachAlone(patches: Settings['patches'], kind: SyncedKind): Settings['patches'][] {
  return patches[kind].map((entry) => ({ ...patches, [kind]: [entry] }));
}
