// The seam between what sync does for any kind and what is special to one: Endpoints stand behind it, EndpointSlices will.
// A kind is pure: it judges, translates and compares; it never acts.
import type { Item } from '../../cluster/window/window.ts';
import type { ResourceRef } from '../../cluster/wire/scope.ts';
import type { Key, KubeObject, OwnerReference } from '../../object/meta/object.ts';
import type { Place as FieldPlace } from './excerpt.ts';
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

/** The fields of an object besides metadata. */
export type Payload = Record<string, unknown>;

/** An object that a payload refers to, on both sides. */
export interface Renamed {
  kind: string;
  virtual: Place;
  host: Place;
}

/** What may stand at a field, to tell a path that can never match from a path that does not match today. */
export type Shape =
  | { kind: 'object'; fields: ReadonlyMap<string, Shape> }
  | { kind: 'list'; of: Shape }
  /** The tenant chooses the keys. */
  | { kind: 'map'; of: Shape }
  | { kind: 'scalar' };

/** What is wrong with the result of patches, and where; the message names the place too. */
export interface ResultProblem {
  place: FieldPlace;
  message: string;
}

export interface SyncedKind<V extends VirtualItem = VirtualItem, H extends HostItem = HostItem> {
  readonly apiVersion: string;
  readonly kind: string;
  /** Value of the object-kind annotation, as vCluster spells it. */
  readonly kindAnnotation: string;
  readonly resource: ResourceRef;
  /** Where the configuration has the settings of this kind. */
  readonly settingsPath: string;
  /** What vCluster calls its own syncer of this kind. */
  readonly syncerName: string;
  /** Fields that payloadOf() and translate() read, and that patches may touch; the other fields are metadata. */
  readonly payloadFields: readonly string[];
  /** What may stand in each payload field. */
  readonly payloadShape: ReadonlyMap<string, Shape>;
  /** A small valid payload, to try expressions on before there is any object. */
  readonly samplePayload: Payload;
  /** The host's own controller writes this label on objects that it has taken over: our view of the virtual side is behind. */
  readonly controllerLabel: { key: string; value: string };
  /** Beginnings of keys that belong to the controllers of the side where the keys stand. */
  readonly controllerKeyPrefixes: readonly string[];
  projectVirtual(object: KubeObject): V;
  projectHost(object: KubeObject): H;
  judge(key: Key, facts: { virtual: V | undefined; service: ServiceItem | undefined; isPlaced: boolean }): Verdict;
  /** The host payload by the virtual side alone, before patches. */
  translate(virtual: V, placement: Placement): Payload;
  /** What translate() has renamed in the payload, so that a patch can know it by the tenant's name. */
  renamedBy(virtual: V, placement: Placement): Iterable<Renamed>;
  payloadOf(host: H): Payload;
  /** The first reason why the API server would refuse this payload. */
  problemOf(payload: Payload): ResultProblem | undefined;
  /** A valid payload that a patch made, as the API server will store it. */
  asStored(payload: Payload): Payload;
  /** Members of a merge patch that turn the host's payload into the desired one; undefined when they say the same. */
  payloadChange(desired: Payload, host: Payload, options: { ignoreOrder: boolean }): Payload | undefined;
  /** Two payloads that differ, and only in order or grouping. */
  isSameButForOrder(one: Payload, other: Payload): boolean;
  addressesOf(payload: Payload): Iterable<string>;
}

export function isTakenByController(host: HostItem, { controllerLabel }: SyncedKind): boolean {
  return host.labels?.[controllerLabel.key] === controllerLabel.value;
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
