// What the sync engine asks of a kind. Endpoints and EndpointSlices implement it. A kind is pure: it judges, translates and
// compares; it never acts.
import type { Item } from '../../cluster/window/window.ts';
import type { ResourceRef } from '../../cluster/wire/scope.ts';
import type { Key, KubeObject, OwnerReference } from '../../object/meta/object.ts';
import type { ObjectPath } from './excerpt.ts';
import { annotatedKeyOf } from './ownership.ts';
import type { HostPlace, Placement } from './placement.ts';

export interface VirtualItem extends Item {
  creationTimestamp: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  /** The tenant's object has a controller; our owner reference on the host copies this flag. */
  hasController?: true;
}

/** A host object. Its `mark` is the virtual key that its annotations name. */
export interface HostItem extends Item {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  isDeleting?: true;
  /** The last field manager other than ours, to name it when an object is contested. */
  lastManager?: string;
}

export interface ServiceItem extends Item {
  hasSelector?: true;
  isDeleting?: true;
}

/** A Service of the host, with the virtual Service that it is a copy of. */
export interface HostServiceItem extends ServiceItem {
  /** Key of the virtual Service that its annotations name; undefined for a Service of the host itself. */
  isCopyOf?: Key;
}

export type OwnKey = [key: string, value: string | undefined];

export type EligibilityVerdict = { kind: 'eligible' } | { kind: 'ineligible'; reason: string; sentence: string };

/** The fields of an object besides metadata. */
export type Payload = Record<string, unknown>;

/** An object that a payload refers to, with its place on each side. */
export interface Renamed {
  kind: string;
  virtual: HostPlace;
  host: HostPlace;
}

/** What a field may hold, to tell a path that can never match from a path that does not match today. */
export type Shape =
  | { kind: 'object'; fields: ReadonlyMap<string, Shape> }
  | { kind: 'list'; of: Shape }
  /** The tenant chooses the keys. */
  | { kind: 'map'; of: Shape }
  | { kind: 'scalar' };

/** What is wrong with the result of patches, and where; the message names the place too. */
export interface ResultProblem {
  place: ObjectPath;
  message: string;
}

/** An object of any synced kind. */
export interface ObjectRef {
  kind: string;
  key: Key;
}

/** What an object needs to know of other keys. */
export interface Needs {
  /** The Service that decides about it; undefined for an object that names none. */
  service: Key | undefined;
  /** The object of another kind that it was made from, when it may be on the host only together with that one. */
  source?: ObjectRef | undefined;
}

export interface SyncedKind<V extends VirtualItem = VirtualItem, H extends HostItem = HostItem> {
  readonly apiVersion: string;
  readonly kind: string;
  /** Value of the object-kind annotation, in vCluster's spelling. */
  readonly kindAnnotation: string;
  readonly resource: ResourceRef;
  /** Where the configuration has the settings of this kind. */
  readonly settingsPath: string;
  /** What vCluster calls its own syncer of this kind. */
  readonly syncerName: string;
  /** Fields that payloadOf() and translate() read, and that patches may touch; the other fields are metadata. */
  readonly payloadFields: readonly string[];
  /** What each payload field may hold. */
  readonly payloadShape: ReadonlyMap<string, Shape>;
  /** A small valid payload, to try expressions on before there is any object. */
  readonly samplePayload: Payload;
  /** The host's own controller writes this label on an object when it takes the object over: our view of the virtual side is late. */
  readonly controllerLabel: { key: string; value: string };
  /** Keys with these prefixes belong to the controllers of the side that has them. */
  readonly controllerKeyPrefixes: readonly string[];
  /** Only objects with these labels are synced; the others are most objects of the kind, so they are not watched. */
  readonly virtualSelector?: string;
  /** Payload fields that no patch may touch. */
  readonly protectedFields: readonly string[];
  /** Label keys that the kind computes for each host copy: they cross in neither direction, and drift is mended. */
  readonly ownLabels: readonly string[];
  /** Whether a native object at our name may be taken over in place. */
  readonly takesOverNatives: boolean;
  projectVirtual(object: KubeObject): V;
  projectHost(object: KubeObject): H;
  /**
   * What must be known of other keys to judge an object: the engine wakes the object when they change. A kind without this method
   * names its objects like their Services, and needs nothing else.
   */
  needs?(virtual: V): Needs;
  /** The host name of the Service that a host copy serves; for a kind with needs(). */
  hostServiceOf?(host: H): string | undefined;
  /** Values of `ownLabels` on the host copy, and annotations of ours; undefined = the copy must not have the key. */
  ownKeys?(virtual: V, placement: Placement): { labels: OwnKey[]; annotations: OwnKey[] };
  judge(
    key: Key,
    facts: { virtual: V | undefined; service: ServiceItem | undefined; isPlaced: boolean },
  ): EligibilityVerdict;
  /** The host payload before patches, from the virtual object alone. */
  translate(virtual: V, placement: Placement): Payload;
  /** The references that translate() renamed, so that a patch can find the tenant's name of each. */
  renamedBy(virtual: V, placement: Placement): Iterable<Renamed>;
  payloadOf(host: H): Payload;
  /** The path that a person meant who wrote a path of another kind; `*` means every element. */
  meantPath?(keys: readonly string[]): string | undefined;
  /** The first reason why the API server would refuse this payload. */
  problemOf(payload: Payload): ResultProblem | undefined;
  /** How the API server will store a valid payload that a patch made. */
  asStored(payload: Payload): Payload;
  /** Members of a merge patch that turn the host's payload into the desired one; undefined when both are equal. */
  payloadChange(desired: Payload, host: Payload, options: { ignoreOrder: boolean }): Payload | undefined;
  /** Why the API server refuses to turn the host's payload into the desired one, so that the copy must be deleted and made again. */
  whyRemake?(desired: Payload, host: Payload): string | undefined;
  /** Two payloads that differ, and only in order or grouping. */
  isSameButForOrder(one: Payload, other: Payload): boolean;
  addressesOf(payload: Payload): Iterable<string>;
}

export function needsOf(kind: SyncedKind, key: Key, virtual: VirtualItem | undefined): Needs {
  if (kind.needs === undefined) return { service: key };
  return virtual === undefined ? { service: undefined } : kind.needs(virtual);
}

/** The virtual Service that decides about the object behind a key. */
export function serviceKeyOf(kind: SyncedKind, key: Key, virtual: VirtualItem | undefined): Key | undefined {
  return kind.needs === undefined ? key : virtual && kind.needs(virtual).service;
}

export function isTakenByController(host: HostItem, { controllerLabel }: SyncedKind): boolean {
  return host.labels?.[controllerLabel.key] === controllerLabel.value;
}

/**
 * Whether the copy's label tells that Kubernetes has written it. It does not where the copy has the label from the tenant's object: Kubernetes
 * leaves it on an Endpoints whose Service has lost its selector.
 */
export function isWrittenByController(
  host: HostItem,
  draftLabels: ReadonlyMap<string, string>,
  kind: SyncedKind,
): boolean {
  return isTakenByController(host, kind) && draftLabels.get(kind.controllerLabel.key) !== kind.controllerLabel.value;
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
