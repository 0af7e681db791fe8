// Describes the two kinds whose content may cross, Secret and ConfigMap: how an object is kept in memory, and how two contents
// compare. Values of Secrets go from here into requests and nowhere else. Tenants may have many large objects that nothing
// refers to, so only a digest of each is kept; a write reads the object again.
import { createHash } from 'node:crypto';
import type { Item } from '../../../cluster/window/window.ts';
import type { ResourceRef } from '../../../cluster/wire/scope.ts';
import type { KubeObject, OwnerReference } from '../../../object/meta/object.ts';
import { equalJson } from '../../../object/text/json.ts';
import { importableLabel, importedFromKey, isReserved, markerLabel } from '../../plan/keys/reserved-keys.ts';
import { identityOf, isFilled } from '../../plan/kind.ts';

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
  };
}

/** With its content, for the write that follows. */
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

export type ContentChange =
  | { kind: 'same' }
  /** Members of a merge patch. */
  | { kind: 'patch'; members: Record<string, unknown> }
  /** The API server changes neither a type nor immutable data: the object has to be deleted and created. */
  | { kind: 'replace' };

/** The difference between content and copy, or that the tenant's content has to be read first. */
export type NeededChange = ContentChange | { kind: 'unread' };

export function changeOfCopy(virtual: VirtualContent, copy: HostContent): NeededChange {
  if (virtual.type !== undefined && virtual.type !== copy.content.type) return { kind: 'replace' };
  if (virtual.digest === digestOf(copy.content)) return { kind: 'same' };
  if (copy.isImmutable) return { kind: 'replace' };
  return virtual.content === undefined ? { kind: 'unread' } : dataChange(virtual.content, copy.content);
}

export function changeOfImport({ content }: HostContent, virtual: VirtualContent): NeededChange {
  if (content.type !== undefined && content.type !== virtual.type) return { kind: 'replace' };
  if (virtual.digest === digestOf(content)) return { kind: 'same' };
  if (virtual.isImmutable) return { kind: 'replace' };
  return virtual.content === undefined ? { kind: 'unread' } : dataChange(content, virtual.content);
}

function dataChange(wanted: Content, found: Content): ContentChange {
  const data = mapChange(wanted.data, found.data);
  const binaryData = mapChange(wanted.binaryData, found.binaryData);
  if (data === undefined && binaryData === undefined) return { kind: 'same' };
  return { kind: 'patch', members: { ...(data && { data }), ...(binaryData && { binaryData }) } };
}

function mapChange(
  wanted: Record<string, string> | undefined,
  found: Record<string, string> | undefined,
): Record<string, string | null> | undefined {
  if (equalJson(wanted ?? {}, found ?? {})) return undefined;
  const [before, after] = [new Map(Object.entries(found ?? {})), new Map(Object.entries(wanted ?? {}))];
  const changes = new Map<string, string | null>();
  for (const [key, value] of after) if (before.get(key) !== value) changes.set(key, value);
  for (const key of before.keys()) if (!after.has(key)) changes.set(key, null);
  return Object.fromEntries(changes);
}
