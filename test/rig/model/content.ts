// What references name (DESIGN 4.12): copies of Secrets and ConfigMaps on the host, imports on the virtual side, and their names.

import { type NameOnHost, strangersReferences } from './claims.ts';
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
import type { Settings } from './words/settings.ts';
import type { ExpectedObject, PlainKind, PlainObject } from './words/types.ts';

export type ContentKind = 'Secret' | 'ConfigMap';
export const isContent = (kind: string): kind is ContentKind => kind === 'Secret' || kind === 'ConfigMap';

const TOKEN = 'kubernetes.io/service-account-token';

export const openMarks = [BASE, MANAGED_ANNOTATIONS].map((one) => ({
  path: ['metadata', 'annotations', one],
  mayLack: true as const,
}));

export type Source = 'tenant' | 'host' | 'nowhere';

/** Everything that the patches of one calm point have asked the name of. */
export class References {
  private readonly history: History;
  private readonly settings: Settings;
  /** True: what asked for it is written; false: it may be that nothing counts it. */
  private readonly asked = new Map<string, boolean>();

  constructor(history: History, configurations: readonly Settings[]) {
    this.history = history;
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

  importableKey(key: string): string {
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

  isAsked(key: string): boolean {
    return this.asked.has(key);
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

  rendered(virtual: PlainObject, place: Place, kind: ContentKind): ExpectedObject['object'] {
    const { history, settings } = this;
    const { naming } = settings;
    const { namespace } = virtual.metadata;
    const hostKey = keyOf(kind, place.namespace, place.name);
    const labels: { [key: string]: string } = {};
    for (const [label, value] of Object.entries(labelsOf(virtual))) {
      const hostLabel = naming.labelKey(label);
      if (hostLabel !== undefined && !settings.isExcludedLabel(label)) labels[hostLabel] = value;
    }
    // DESIGN 3.9: what people of the host put on a copy is theirs, reserved or not; what the tenant has taken away goes.
    const given = history.versions('virtual', objectKey(virtual)).flatMap((one) => Object.keys(labelsOf(one)));
    const tenants = new Set(given.map((label) => naming.labelKey(label)));
    const last = history.last('host', hostKey);
    const now = history.now('host', hostKey);
    for (const [label, value] of Object.entries(last?.metadata.uid === now?.metadata.uid ? labelsOf(last) : {}))
      if (!tenants.has(label) && own(labelsOf(now), label) === value) labels[label] ??= value;
    const annotations: { [key: string]: string } = { ...sixOf(virtual, place) };
    if (naming.isMapped) annotations[INSTANCE] = instanceOf(naming);
    const { apiVersion: _a, kind: _k, metadata: _m, ...payload } = virtual as unknown as JsonMap;
    const metadata = {
      name: place.name,
      namespace: place.namespace,
      labels: { ...labels, ...markerLabels(namespace, naming) },
      annotations,
      ownerReferences: this.owners(virtual, now, last),
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
    const isCounted = this.asked.get(key) === true;
    // In step only while something counted refers to it (DESIGN 4.12): else as it was, or as its source was since.
    const now = this.history.now('virtual', key);
    const versions = [
      ...this.history.versions('virtual', key),
      ...this.history.versions('host', this.importableKey(key)),
    ];
    const stands = !isCounted && now !== undefined && versions.some((one) => payloadOf(one) === payloadOf(now));
    const { apiVersion: _v, kind: _n, metadata: _o, ...standing } = (now ?? host) as unknown as JsonMap;
    const object = { apiVersion: host.apiVersion, kind: host.kind, metadata, ...(stands ? standing : payload) };
    const open = [{ path: ['metadata', 'labels'], mayLack: true as const }];
    return {
      side: 'virtual',
      object: object as ExpectedObject['object'],
      open,
      exists: isCounted ? 'must' : 'may',
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

  /** Without a reference it goes, also when its export is off: only Hostward's own switches mean that nothing is touched (DESIGN 3.2). */
  isOwnCopy(host: PlainObject): boolean {
    if (!isContent(host.kind)) return false;
    const { naming } = this.settings;
    const annotations = annotationsOf(host);
    const namespace = own(annotations, 'vcluster.loft.sh/object-namespace') ?? '';
    const name = own(annotations, 'vcluster.loft.sh/object-name') ?? '';
    if (name === '' || host.metadata.name !== naming.referenceName(namespace, name)) return false;
    if (!naming.isMapped && host.metadata.namespace !== naming.hostNamespace) return false;
    return ownerOf(host, { namespace, name }, naming) === 'ours';
  }
}
