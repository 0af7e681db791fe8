// The seam between what sync does for any kind and what is special to one: Endpoints stand behind it, EndpointSlices will.
// A kind is pure: it judges, translates and compares; it never acts.
import type { Item } from '../../cluster/window/window.ts';
import type { ResourceRef } from '../../cluster/wire/scope.ts';
import type { Key, KubeObject, OwnerReference } from '../../object/meta/object.ts';
import { annotatedKeyOf } from './ownership.ts';
import type { Place, Placement } from './placement.ts';

export interface VirtualItem extends Item {
  creationTimestamp: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  /** The tenant's object has a controller of its own; our owner reference on the host says so too. */
  hasController?: true;
}

/** Its mark is the virtual key that it says it is a copy of. */
export interface HostItem extends Item {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  isDeleting?: true;
  /** Whoever wrote last, unless it was us; named when an object is contested. */
  lastManager?: string;
}

export interface ServiceItem extends Item {
  hasSelector?: true;
  isDeleting?: true;
}

/** A Service of the host: what counts is whose copy it is. */
export interface HostServiceItem extends ServiceItem {
  /** The virtual Service that it says it is a copy of; undefined for one of the host's own people. */
  isCopyOf?: Key;
}

export type Verdict = { kind: 'eligible' } | { kind: 'ineligible'; reason: string; sentence: string };

/** What a kind carries besides metadata, e.g. `{ subsets }`. */
export type Payload = Record<string, unknown>;

/** An object that a payload refers to, on both sides. */
export interface Renamed {
  kind: string;
  virtual: Place;
  host: Place;
}

export interface SyncedKind<V extends VirtualItem = VirtualItem, H extends HostItem = HostItem> {
  readonly apiVersion: string;
  readonly kind: string;
  /** Value of the object-kind annotation, as vCluster spells it. */
  readonly kindAnnotation: string;
  readonly resource: ResourceRef;
  /** Fields of an item that payloadOf() and translate() read; the others are metadata. */
  readonly payloadFields: readonly string[];
  projectVirtual(object: KubeObject): V;
  projectHost(object: KubeObject): H;
  judge(key: Key, facts: { virtual: V | undefined; service: ServiceItem | undefined; isPlaced: boolean }): Verdict;
  /** The host payload by the virtual side alone, before patches. */
  translate(virtual: V, placement: Placement): Payload;
  /** What translate() has renamed in the payload, so that a patch can know it by the tenant's name. */
  renamedBy(virtual: V, placement: Placement): Iterable<Renamed>;
  payloadOf(host: H): Payload;
  /** A valid payload that a patch made, as the API server will store it. */
  asStored(payload: Payload): Payload;
  /** Members of a merge patch that turn the host's payload into the desired one; undefined when they say the same. */
  payloadChange(desired: Payload, host: Payload, options: { ignoreOrder: boolean }): Payload | undefined;
  /** The same endpoints in another order or grouping. */
  isSameButForOrder(one: Payload, other: Payload): boolean;
  addressesOf(payload: Payload): Iterable<string>;
  /** The host's own controller has taken this object over: our view of the virtual side is behind. */
  isTakenByController(host: H): boolean;
}

export function projectService(object: KubeObject): ServiceItem {
  const selector = (object['spec'] as { selector?: Record<string, string> } | undefined)?.selector;
  return {
    ...identityOf(object),
    ...(isFilled(selector) && { hasSelector: true as const }),
    ...(object.metadata.deletionTimestamp !== undefined && { isDeleting: true as const }),
  };
}

export function projectHostService(object: KubeObject): HostServiceItem {
  const isCopyOf = annotatedKeyOf({ ...identityOf(object), annotations: object.metadata.annotations ?? {} });
  return { ...projectService(object), ...(isCopyOf !== undefined && { isCopyOf }) };
}

export function identityOf(object: KubeObject): Item {
  const { namespace = '', name = '', uid = '', resourceVersion = '' } = object.metadata;
  return { namespace, name, uid, resourceVersion };
}

export function isFilled(map: Record<string, string> | undefined | null): map is Record<string, string> {
  return map !== undefined && map !== null && Object.keys(map).length > 0;
}
