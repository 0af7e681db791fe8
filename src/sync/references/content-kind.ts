// What references need of the two kinds whose content may cross: Secret and ConfigMap. Projections for the windows, and the
// comparison of contents. Values of Secrets pass through here and go nowhere but into requests.
import type { Item } from '../../cluster/window.ts';
import type { ResourceRef } from '../../cluster/writer.ts';
import { equalJson } from '../../object/json.ts';
import type { KubeObject, OwnerReference } from '../../object/object.ts';
import { identityOf, isFilled } from '../kind.ts';
import { importableLabel, importedFromKey, markerLabel } from '../words.ts';

export interface ContentKind {
  kind: 'Secret' | 'ConfigMap';
  kindAnnotation: string;
  resource: ResourceRef;
  /** Its switch in the configuration: sync.toHost.<this>.enabled. */
  switch: 'secrets' | 'configMaps';
}

export const contentKinds: readonly ContentKind[] = [
  {
    kind: 'Secret',
    kindAnnotation: '/v1, Kind=Secret',
    resource: { path: 'api/v1', resource: 'secrets' },
    switch: 'secrets',
  },
  {
    kind: 'ConfigMap',
    kindAnnotation: '/v1, Kind=ConfigMap',
    resource: { path: 'api/v1', resource: 'configmaps' },
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
  /** Nothing but metadata can be changed in it. */
  isImmutable?: true;
  content: Content;
}

export interface VirtualContent extends Carrier {
  /** The host object that it says it is a copy of. */
  importedFrom?: string;
}

export interface HostContent extends Carrier {
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
}

/** A host would mint credentials of its own into a Secret of this type, and a virtual cluster likewise. */
const tokenType = 'kubernetes.io/service-account-token';

export function isToken(content: Content): boolean {
  return content.type === tokenType;
}

export function projectVirtualContent(object: KubeObject): VirtualContent {
  const importedFrom = object.metadata.annotations?.[importedFromKey];
  return { ...carrierOf(object), ...(importedFrom && { importedFrom }) };
}

export function projectHostContent(object: KubeObject): HostContent {
  const { annotations, ownerReferences } = object.metadata;
  const kept = Object.fromEntries(Object.entries(annotations ?? {}).filter(([key]) => isBookkeeping(key)));
  return {
    ...carrierOf(object),
    ...(isFilled(kept) && { annotations: kept }),
    ...(ownerReferences && ownerReferences.length > 0 && { ownerReferences }),
  };
}

/** Copies of this virtual cluster, ours and those of vCluster's own syncer. */
export function projectCopy(object: KubeObject, virtualCluster: string): HostContent | undefined {
  return object.metadata.labels?.[markerLabel] === virtualCluster ? projectHostContent(object) : undefined;
}

/** What the host lets tenants have; a copy of a tenant's own object is not the host's to give. */
export function projectImportable(object: KubeObject, virtualCluster: string): HostContent | undefined {
  const { labels } = object.metadata;
  if (labels?.[importableLabel] !== 'true' || labels[markerLabel] === virtualCluster) return undefined;
  const item = projectHostContent(object);
  return isToken(item.content) ? undefined : item;
}

function isBookkeeping(key: string): boolean {
  return key.startsWith('vcluster.loft.sh/') || key.startsWith('hostward.dev/');
}

function carrierOf(object: KubeObject): Carrier {
  const { labels, deletionTimestamp } = object.metadata;
  const content = contentOf(object);
  return {
    ...identityOf(object),
    ...(isFilled(labels) && { labels }),
    ...(deletionTimestamp !== undefined && { isDeleting: true as const }),
    ...(object['immutable'] === true && { isImmutable: true as const }),
    // Nobody may have it, so nobody needs it in memory.
    content: isToken(content) ? { type: tokenType } : content,
  };
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
  /** The API changes neither a type nor what is immutable: the object has to be made anew. */
  | { kind: 'replace' };

export function contentChange(wanted: Content, found: Carrier): ContentChange {
  if (wanted.type !== undefined && wanted.type !== found.content.type) return { kind: 'replace' };
  const data = mapChange(wanted.data, found.content.data);
  const binaryData = mapChange(wanted.binaryData, found.content.binaryData);
  if (data === undefined && binaryData === undefined) return { kind: 'same' };
  if (found.isImmutable) return { kind: 'replace' };
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
