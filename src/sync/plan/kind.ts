// The interface between the generic sync and one kind of object, such as Endpoints. A kind is pure: it judges, translates and
// compares objects, and never acts.
import type { Item } from '../../cluster/window/window.ts';
import type { ResourceRef } from '../../cluster/wire/scope.ts';
import type { Key, KubeObject, OwnerReference } from '../../object/meta/object.ts';
import { annotatedKeyOf } from './ownership.ts';
import type { Place, Placement } from './placement.ts';

export interface VirtualItem extends Item {
  creationTimestamp: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  /** The tenant's object has a controller; our owner reference on the host copies this flag. */
  hasController?: true;
}

/** `mark` is the virtual key in the annotations of the copy. */
export interface HostItem extends Item {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  isDeleting?: true;
  /** The field manager of the last write by another client; named when an object is contested. */
  lastManager?: string;
}

export interface ServiceItem extends Item {
  hasSelector?: true;
  isDeleting?: true;
}

export interface HostServiceItem extends ServiceItem {
  /** The virtual Service in the annotations of the copy; undefined for a Service of the host itself. */
  isCopyOf?: Key;
}

export type Verdict = { kind: 'eligible' } | { kind: 'ineligible'; reason: string; sentence: string };

/** The fields of an object besides metadata, such as `{ subsets }`. */
export type Payload = Record<string, unknown>;

/** The places of an object that a payload refers to, on both sides. */
export interface Renamed {
  kind: string;
  virtual: Place;
  host: Place;
}

export interface SyncedKind<V extends VirtualItem = VirtualItem, H extends HostItem = HostItem> {
  readonly apiVersion: string;
  readonly kind: string;
  /** Value of the object-kind annotation, in vCluster's spelling. */
  readonly kindAnnotation: string;
  readonly resource: ResourceRef;
  /** Fields of an item that payloadOf() and translate() read; the others are metadata. */
  readonly payloadFields: readonly string[];
  projectVirtual(object: KubeObject): V;
  projectHost(object: KubeObject): H;
  judge(key: Key, facts: { virtual: V | undefined; service: ServiceItem | undefined; isPlaced: boolean }): Verdict;
  translate(virtual: V, placement: Placement): Payload;
  /** Objects that translate() renamed in the payload, so that a patch can find them by the tenant's names. */
  renamedBy(virtual: V, placement: Placement): Iterable<Renamed>;
  payloadOf(host: H): Payload;
  /** The form in which the API server will store a valid payload that a patch made. */
  asStored(payload: Payload): Payload;
  /** Members of a merge patch that turn the host's payload into the desired one; undefined when they are equal. */
  payloadChange(desired: Payload, host: Payload, options: { ignoreOrder: boolean }): Payload | undefined;
  isSameButForOrder(one: Payload, other: Payload): boolean;
  addressesOf(payload: Payload): Iterable<string>;
  /** The host's own controller has taken over this object, so our view of the virtual Service is outdated. */
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
