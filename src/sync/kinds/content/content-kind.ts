// Describes the two kinds whose content may cross, Secret and ConfigMap: how an object is kept in memory, and how two contents
// compare. Values of Secrets go from here into requests and nowhere else. Tenants may have many large objects that nothing
// refers to, so only a digest of each is kept; a write reads the object again.
import { createHash } from 'node:crypto';
import type { Item } from '../../../cluster/window/window.ts';
import type { ResourceRef } from '../../../cluster/wire/scope.ts';
import type { KubeObject, OwnerReference } from '../../../object/meta/object.ts';
import { mapOfKeys } from '../../plan/keys/key-rules.ts';
import { importableLabel, importedFromKey, isReserved, markerLabel } from '../../plan/keys/reserved-keys.ts';
import { identityOf, isFilled } from '../../plan/kind.ts';
import { packedSizes } from './key-sizes.ts';

export interface ContentKind {
  kind: 'Secret' | 'ConfigMap';
  kindAnnotation: string;
  resource: ResourceRef;
  /** The name of its setting: sync.toHost.<this>.enabled. */
  switch: 'secrets' | 'configMaps';
}

export const contentKinds: readonly ContentKind[] = [
  {
    kind: 'Secret',
    kindAnnotation: '/v1, Kind=Secret',
    resource: { path: 'api/v1', resource: 'secrets', kind: 'Secret' },
    switch: 'secrets',
  },
  {
    kind: 'ConfigMap',
    kindAnnotation: '/v1, Kind=ConfigMap',
    resource: { path: 'api/v1', resource: 'configmaps', kind: 'ConfigMap' },
    switch: 'configMaps',
  },
];

export interface Content {
  /** Secrets only. */
  type?: string;
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
}

interface Carrier extends Item {
  labels?: Record<string, string>;
  isDeleting?: true;
  /** The API server allows changes of metadata only. */
  isImmutable?: true;
}

export interface VirtualContent extends Carrier {
  /** The uid of the host object that an annotation names as the origin; undefined for the tenant's own objects. */
  importedFrom?: string;
  /** Secrets only. */
  type?: string;
  /** Digest of data and binary data. */
  digest: string;
  /** Its keys with the sizes of their values, packed. */
  sizes: string;
  /** Present only when it was read for a write. */
  content?: Content;
}

export interface HostContent extends Carrier {
  content: Content;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
}

/** An API server writes credentials of its own cluster into a Secret of this type, so it crosses in neither direction. */
const tokenType = 'kubernetes.io/service-account-token';

export function isToken({ type }: { type?: string }): boolean {
  return type === tokenType;
}

export function projectVirtualContent(object: KubeObject): VirtualContent {
  const importedFrom = object.metadata.annotations?.[importedFromKey];
  const content = contentOf(object);
  return {
    ...carrierOf(object),
    ...(importedFrom && { importedFrom }),
    ...(content.type !== undefined && { type: content.type }),
    digest: isToken(content) ? '' : digestOf(content),
    sizes: packedSizes(content),
  };
}

/** Projects the object together with its content, which the write that follows needs. */
export function readVirtualContent(object: KubeObject): VirtualContent {
  return { ...projectVirtualContent(object), content: keptContentOf(object) };
}

export function digestOf({ data, binaryData }: Content): string {
  const parts = [data, binaryData].map((map) => Object.entries(map ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)));
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64');
}

export function projectHostContent(object: KubeObject): HostContent {
  const { annotations, ownerReferences } = object.metadata;
  const kept = Object.fromEntries(Object.entries(annotations ?? {}).filter(([key]) => isReserved(key)));
  return {
    ...carrierOf(object),
    content: keptContentOf(object),
    ...(isFilled(kept) && { annotations: kept }),
    ...(ownerReferences && ownerReferences.length > 0 && { ownerReferences }),
  };
}

/** Selects the copies of this virtual cluster, both ours and those of vCluster's own syncer. */
export function projectCopy(object: KubeObject, virtualCluster: string): HostContent | undefined {
  return object.metadata.labels?.[markerLabel] === virtualCluster ? projectHostContent(object) : undefined;
}

/** Whether tenants may import the host object. A copy of a tenant's own object is never imported again. */
export function projectImportable(object: KubeObject, virtualCluster: string): HostContent | undefined {
  const { labels } = object.metadata;
  if (labels?.[importableLabel] !== 'true' || labels[markerLabel] === virtualCluster) return undefined;
  const item = projectHostContent(object);
  return isToken(item.content) ? undefined : item;
}

function carrierOf(object: KubeObject): Carrier {
  const { labels, deletionTimestamp } = object.metadata;
  return {
    ...identityOf(object),
    ...(isFilled(labels) && { labels }),
    ...(deletionTimestamp !== undefined && { isDeleting: true as const }),
    ...(object['immutable'] === true && { isImmutable: true as const }),
  };
}

/** Tokens never cross, so their data is not kept in memory. */
function keptContentOf(object: KubeObject): Content {
  const content = contentOf(object);
  return isToken(content) ? { type: tokenType } : content;
}

function contentOf(object: KubeObject): Content {
  const { type, data, binaryData } = object as { type?: string; data?: object; binaryData?: object };
  return {
    ...(type !== undefined && { type }),
    ...(isFilled(data as Record<string, string>) && { data: data as Record<string, string> }),
    ...(isFilled(binaryData as Record<string, string>) && { binaryData: binaryData as Record<string, string> }),
  };
}

/** What makes a copy equal to its origin. */
export type ContentChange =
  | { kind: 'same' }
  /** Members of a merge patch. */
  | { kind: 'patch'; members: Record<string, unknown> }
  /** The API server changes neither a type nor immutable data: the object has to be deleted and created. */
  | { kind: 'replace' }
  /** The tenant's content has to be read first. */
  | { kind: 'unread' };

/** The copy is on the host, or, for an import, in the virtual cluster: the comparison is the same with the sides swapped. */
export function changeOf(origin: VirtualContent | HostContent, copy: VirtualContent | HostContent): ContentChange {
  const [wantedType, foundType] = [typeOf(origin), typeOf(copy)];
  if (wantedType !== undefined && wantedType !== foundType) return { kind: 'replace' };
  if (digestIn(origin) === digestIn(copy)) return { kind: 'same' };
  if (copy.isImmutable) return { kind: 'replace' };
  if (origin.content === undefined || copy.content === undefined) return { kind: 'unread' };
  return dataChange(origin.content, copy.content);
}

function typeOf(item: VirtualContent | HostContent): string | undefined {
  return 'digest' in item ? item.type : item.content.type;
}

function digestIn(item: VirtualContent | HostContent): string {
  return 'digest' in item ? item.digest : digestOf(item.content);
}

function dataChange(wanted: Content, found: Content): ContentChange {
  const changeIn = (map: 'data' | 'binaryData') =>
    mapChange(mapOfKeys(wanted[map]), mapOfKeys(found[map]), mapOfKeys(found[map]).keys());
  const [data, binaryData] = [changeIn('data'), changeIn('binaryData')];
  if (data === undefined && binaryData === undefined) return { kind: 'same' };
  return { kind: 'patch', members: { ...(data && { data }), ...(binaryData && { binaryData }) } };
}

/** What a merge patch says to make a map equal; of `leftovers`, those that are not wanted go, and all others stay. */
export function mapChange(
  wanted: ReadonlyMap<string, string>,
  found: ReadonlyMap<string, string>,
  leftovers: Iterable<string>,
): Record<string, string | null> | undefined {
  const changes = new Map<string, string | null>();
  for (const [key, value] of wanted) if (found.get(key) !== value) changes.set(key, value);
  for (const key of leftovers) if (found.has(key) && !wanted.has(key)) changes.set(key, null);
  return changes.size === 0 ? undefined : Object.fromEntries(changes);
}
