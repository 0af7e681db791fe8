// The payload of an Endpoints: how subsets look on the host, and when two of them say the same. Pure.
import { equalJson } from '../../object/json.ts';
import type { Renamed } from '../kind.ts';
import type { Place } from '../placement.ts';
import type { EndpointAddress, EndpointPort, EndpointSubset, ObjectReference } from './items.ts';

/** The tenant's subsets as they stand on the host: Pod references renamed, everything else as it is. */
export function translateSubsets(
  subsets: readonly EndpointSubset[] | undefined,
  placeOfPod: (pod: Place) => Place | undefined,
): EndpointSubset[] {
  const translateAddress = (address: EndpointAddress): EndpointAddress =>
    address.targetRef?.kind === 'Pod'
      ? { ...address, targetRef: translatePodReference(address.targetRef, placeOfPod) }
      : address;
  return normalizeSubsets(subsets).map((subset) => ({
    ...subset,
    ...(subset.addresses && { addresses: subset.addresses.map(translateAddress) }),
    ...(subset.notReadyAddresses && { notReadyAddresses: subset.notReadyAddresses.map(translateAddress) }),
  }));
}

/** uid and resourceVersion belong to the tenant's Pod and would point nowhere on the host. */
function translatePodReference(
  reference: ObjectReference,
  placeOfPod: (pod: Place) => Place | undefined,
): ObjectReference {
  const { uid: _uid, resourceVersion: _rv, name = '', namespace = '', ...kept } = reference;
  const place = placeOfPod({ name, namespace }) ?? { name: '', namespace: '' };
  return {
    ...kept,
    ...(place.name !== '' && { name: place.name }),
    ...(place.namespace !== '' && { namespace: place.namespace }),
  };
}

/** The Pods that translateSubsets renames. */
export function* renamedPods(
  subsets: readonly EndpointSubset[] | undefined,
  placeOfPod: (pod: Place) => Place | undefined,
): Generator<Renamed> {
  for (const { addresses, notReadyAddresses } of subsets ?? []) {
    for (const { targetRef } of [...(addresses ?? []), ...(notReadyAddresses ?? [])]) {
      if (targetRef?.kind !== 'Pod') continue;
      const virtual = { name: targetRef.name ?? '', namespace: targetRef.namespace ?? '' };
      const host = placeOfPod(virtual);
      if (host !== undefined) yield { kind: 'Pod', virtual, host };
    }
  }
}

/** As the API server stores them: no empty lists, no subset without an address, the default protocol spelled out. */
export function normalizeSubsets(subsets: readonly EndpointSubset[] | undefined): EndpointSubset[] {
  const kept: EndpointSubset[] = [];
  for (const subset of subsets ?? []) {
    const addresses = filled(subset.addresses);
    const notReadyAddresses = filled(subset.notReadyAddresses);
    if (addresses === undefined && notReadyAddresses === undefined) continue;
    const ports = filled(subset.ports);
    kept.push({
      ...(addresses && { addresses }),
      ...(notReadyAddresses && { notReadyAddresses }),
      ...(ports && { ports: ports.map(withDefaultProtocol) }),
    });
  }
  return kept;
}

/** The same for what a patch may have made: an empty name, and an empty part of a reference, are stored as none. */
export function storedSubsets(subsets: readonly EndpointSubset[]): EndpointSubset[] {
  return normalizeSubsets(subsets).map((subset) => ({
    ...subset,
    ...(subset.addresses && { addresses: subset.addresses.map(storedAddress) }),
    ...(subset.notReadyAddresses && { notReadyAddresses: subset.notReadyAddresses.map(storedAddress) }),
    ...(subset.ports && { ports: subset.ports.map(storedPort) }),
  }));
}

function storedAddress(address: EndpointAddress): EndpointAddress {
  const { targetRef, hostname } = address;
  if (hostname === '') {
    const { hostname: _, ...kept } = address;
    return storedAddress(kept);
  }
  if (targetRef === undefined || !Object.values(targetRef).includes('')) return address;
  const kept = Object.entries(targetRef).filter(([, value]) => value !== '');
  return { ...address, targetRef: Object.fromEntries(kept) };
}

function storedPort(port: EndpointPort): EndpointPort {
  if (port.name !== '') return port;
  const { name: _, ...kept } = port;
  return kept;
}

function withDefaultProtocol(port: EndpointPort): EndpointPort {
  return port.protocol ? port : { ...port, protocol: 'TCP' };
}

function filled<T>(list: T[] | undefined | null): T[] | undefined {
  return list && list.length > 0 ? list : undefined;
}

/** Same bytes apart from the order of keys; both sides normalized by the caller. */
export function isSameSubsets(one: readonly EndpointSubset[], other: readonly EndpointSubset[]): boolean {
  return equalJson(one, other);
}

/** Same addresses, ports and readiness, whatever the order and grouping: old API servers repack what they store. */
export function isSameEndpoints(one: readonly EndpointSubset[], other: readonly EndpointSubset[]): boolean {
  const left = flatten(one);
  const right = flatten(other);
  return left.size === right.size && [...left].every((entry) => right.has(entry));
}

function flatten(subsets: readonly EndpointSubset[]): Set<string> {
  const entries = new Set<string>();
  const add = (address: EndpointAddress, isReady: boolean, ports: readonly EndpointPort[] | undefined): void => {
    const where = canonicalText(address);
    for (const port of ports?.length ? ports : [undefined]) entries.add(`${isReady} ${where} ${canonicalText(port)}`);
  };
  for (const subset of subsets) {
    for (const address of subset.addresses ?? []) add(address, true, subset.ports);
    for (const address of subset.notReadyAddresses ?? []) add(address, false, subset.ports);
  }
  return entries;
}

function canonicalText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(JSON.stringify(value));
  if (Array.isArray(value)) return `[${value.map(canonicalText).join()}]`;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalText(member)}`).join()}}`;
}

/** Every address text with where it stands, for the address policy. */
export function* addressesOf(subsets: readonly EndpointSubset[]): Generator<string> {
  for (const subset of subsets) {
    for (const address of subset.addresses ?? []) yield address.ip;
    for (const address of subset.notReadyAddresses ?? []) yield address.ip;
  }
}
