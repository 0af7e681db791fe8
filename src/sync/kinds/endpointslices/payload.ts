// The payload of an EndpointSlice: how it looks on the host, and when two payloads mean the same. Pure.
import { equalJson } from '../../../object/text/json.ts';
import type { Payload, Renamed } from '../../plan/kind.ts';
import { canonicalText, mapped } from '../payload/canonical.ts';
import { type PlaceOfPod, renamedPod, storedReference, translatePodReference } from '../payload/pod-reference.ts';
import type { SliceEndpoint, SlicePayload, SlicePort } from './items.ts';

/** Every member is present, lists may be empty. */
export interface NormalPayload extends Payload {
  addressType: string;
  endpoints: readonly SliceEndpoint[];
  ports: readonly SlicePort[];
}

/** As the API server stores a payload: lists that are there, conditions that are there, default names and protocols. */
export function normalPayload({ addressType, endpoints, ports }: SlicePayload): NormalPayload {
  return {
    addressType: addressType ?? '',
    endpoints: mapped(endpoints ?? [], withConditions),
    ports: mapped(ports ?? [], withDefaults),
  };
}

function withConditions(endpoint: SliceEndpoint): SliceEndpoint {
  return endpoint.conditions ? endpoint : { ...endpoint, conditions: {} };
}

function withDefaults(port: SlicePort): SlicePort {
  if (port.protocol && typeof port.name === 'string' && port.port !== null) return port;
  const { port: number, ...kept } = port;
  return { ...kept, ...(number != null && { port: number }), name: port.name ?? '', protocol: port.protocol || 'TCP' };
}

export interface TranslateOptions {
  placeOfPod: PlaceOfPod;
  /** The nodes of the tenant are not those of the host. */
  dropsNodeName: boolean;
}

/** The tenant's payload for the host: references to Pods get their host names. */
export function translatePayload(
  virtual: SlicePayload,
  { placeOfPod, dropsNodeName }: TranslateOptions,
): NormalPayload {
  const normal = normalPayload(virtual);
  const translate = (endpoint: SliceEndpoint): SliceEndpoint => {
    const { nodeName: _, ...others } = endpoint;
    const kept = dropsNodeName && endpoint.nodeName !== undefined ? others : endpoint;
    const { targetRef } = kept;
    return targetRef?.kind === 'Pod' ? { ...kept, targetRef: translatePodReference(targetRef, placeOfPod) } : kept;
  };
  return { ...normal, endpoints: mapped(normal.endpoints, translate) };
}

/** The Pods that translatePayload() renames. */
export function* renamedPods({ endpoints }: SlicePayload, placeOfPod: PlaceOfPod): Generator<Renamed> {
  for (const { targetRef } of endpoints ?? []) {
    const renamed = renamedPod(targetRef, placeOfPod);
    if (renamed !== undefined) yield renamed;
  }
}

/** Like normalPayload(), for the result of a patch: the API server also drops empty fields. */
export function storedPayload(payload: SlicePayload): NormalPayload {
  const normal = normalPayload(payload);
  return { ...normal, endpoints: mapped(normal.endpoints, storedEndpoint), ports: mapped(normal.ports, storedPort) };
}

function storedEndpoint(endpoint: SliceEndpoint): SliceEndpoint {
  const { targetRef, hints } = endpoint;
  const reference = targetRef && storedReference(targetRef);
  const isSame = reference === targetRef && !hasNull(endpoint) && !hasNull(endpoint.conditions) && !hasEmpty(hints);
  if (isSame) return endpoint;
  const { addresses, conditions, ...others } = endpoint;
  const keptHints = hints && withoutEmpty(hints);
  return {
    ...(withoutNull(others) as Omit<SliceEndpoint, 'addresses'>),
    addresses,
    conditions: withoutNull(conditions ?? {}) as Record<string, boolean>,
    ...(reference && { targetRef: reference }),
    ...(keptHints && { hints: keptHints }),
  };
}

function storedPort(port: SlicePort): SlicePort {
  return hasNull(port) ? (withoutNull(port) as SlicePort) : port;
}

function hasNull(value: object | undefined): boolean {
  return Object.values(value ?? {}).some((member) => member === null);
}

function withoutNull(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null && member !== undefined));
}

function hasEmpty(hints: SliceEndpoint['hints']): boolean {
  return Object.values(hints ?? {}).some((list) => !list?.length);
}

function withoutEmpty(hints: NonNullable<SliceEndpoint['hints']>): NonNullable<SliceEndpoint['hints']> {
  return Object.fromEntries(Object.entries(hints).filter(([, list]) => list?.length > 0));
}

/** Members of a merge patch, without addressType, which no update can change. */
export function payloadChange(
  desired: SlicePayload,
  host: SlicePayload,
  { ignoreOrder }: { ignoreOrder: boolean },
): Payload | undefined {
  const wanted = normalPayload(desired);
  const found = normalPayload(host);
  const change: Payload = {};
  for (const field of ['endpoints', 'ports'] as const) {
    if (equalJson(wanted[field], found[field])) continue;
    if (ignoreOrder && isSameSet(wanted[field], found[field])) continue;
    change[field] = wanted[field].length > 0 ? wanted[field] : null;
  }
  return Object.keys(change).length > 0 ? change : undefined;
}

export function isSameButForOrder(one: SlicePayload, other: SlicePayload): boolean {
  const left = normalPayload(one);
  const right = normalPayload(other);
  if (left.addressType !== right.addressType || payloadChange(left, right, { ignoreOrder: false }) === undefined)
    return false;
  return isSameSet(left.endpoints, right.endpoints) && isSameSet(left.ports, right.ports);
}

function isSameSet(one: readonly unknown[], other: readonly unknown[]): boolean {
  const left = new Set(one.map(canonicalText));
  const right = new Set(other.map(canonicalText));
  return left.size === right.size && [...left].every((text) => right.has(text));
}

/** Without a name yet, a slice of names has its type in their place, so that the address policy judges it like every slice of names. */
export function addressesOf({ addressType, endpoints }: SlicePayload): string[] {
  const addresses = (endpoints ?? []).flatMap((endpoint) => endpoint.addresses ?? []);
  return addressType === 'FQDN' && addresses.length === 0 ? ['fqdn'] : addresses;
}
