// The payload of an Endpoints: how subsets look on the host, and when two lists of subsets mean the same. Pure.
import { equalJson } from '../../../object/text/json.ts';
import type { Renamed } from '../../plan/kind.ts';
import { canonicalText, mapped } from '../payload/canonical.ts';
import {
  type ObjectReference,
  type PlaceOfPod,
  renamedPod,
  storedReference,
  translatePodReference,
} from '../payload/pod-reference.ts';
import type { EndpointAddress, EndpointPort, EndpointSubset } from './items.ts';

/** The tenant's subsets for the host: references to Pods get their host names, all other fields stay. */
export function translateSubsets(
  subsets: readonly EndpointSubset[] | undefined,
  placeOfPod: PlaceOfPod,
): readonly EndpointSubset[] {
  const translateAddress = (address: EndpointAddress): EndpointAddress =>
    address.targetRef?.kind === 'Pod'
      ? { ...address, targetRef: translatePodReference(withoutIdentity(address.targetRef), placeOfPod) }
      : address;
  return mapped(normalizeSubsets(subsets), (subset) => withLists(subset, { address: translateAddress, port: same }));
}

/** uid and resourceVersion belong to the tenant's Pod and would point nowhere on the host. */
function withoutIdentity({ uid: _uid, resourceVersion: _rv, ...kept }: ObjectReference): ObjectReference {
  return kept;
}

/** The Pods that translateSubsets renames. */
export function* renamedPods(
  subsets: readonly EndpointSubset[] | undefined,
  placeOfPod: PlaceOfPod,
): Generator<Renamed> {
  for (const { addresses, notReadyAddresses } of subsets ?? []) {
    for (const { targetRef } of [...(addresses ?? []), ...(notReadyAddresses ?? [])]) {
      const renamed = renamedPod(targetRef, placeOfPod);
      if (renamed !== undefined) yield renamed;
    }
  }
}

/** As the API server stores subsets: no empty lists, no subset without an address, the default protocol written out. */
export function normalizeSubsets(subsets: readonly EndpointSubset[] | undefined): readonly EndpointSubset[] {
  const kept = subsets ?? [];
  // Subsets from an API server are normal already; those from a patch or a file may not be.
  if (kept.every(isNormal)) return kept;
  const normal: EndpointSubset[] = [];
  for (const subset of kept) {
    const addresses = filled(subset.addresses);
    const notReadyAddresses = filled(subset.notReadyAddresses);
    if (addresses === undefined && notReadyAddresses === undefined) continue;
    const ports = filled(subset.ports);
    normal.push({
      ...(addresses && { addresses }),
      ...(notReadyAddresses && { notReadyAddresses }),
      ...(ports && { ports: ports.map(withDefaultProtocol) }),
    });
  }
  return normal;
}

function isNormal(subset: EndpointSubset): boolean {
  let hasAddresses = false;
  for (const name in subset) {
    const list = subset[name as keyof EndpointSubset];
    if (!Array.isArray(list) || list.length === 0) return false;
    if (name === 'ports') {
      if (!(list as EndpointPort[]).every(({ protocol }) => protocol)) return false;
    } else if (name === 'addresses' || name === 'notReadyAddresses') hasAddresses = true;
    else return false;
  }
  return hasAddresses;
}

/** As normalizeSubsets(), for the result of a patch: the API server also drops empty names and empty fields of references. */
export function storedSubsets(subsets: readonly EndpointSubset[]): readonly EndpointSubset[] {
  const change = { address: storedAddress, port: storedPort };
  return mapped(normalizeSubsets(subsets), (subset) => withLists(subset, change));
}

interface Change {
  address: (address: EndpointAddress) => EndpointAddress;
  port: (port: EndpointPort) => EndpointPort;
}

/** Returns the subset itself when nothing in it changes, as is common, so that no copy is made. */
function withLists(subset: EndpointSubset, change: Change): EndpointSubset {
  const addresses = subset.addresses && mapped(subset.addresses, change.address);
  const notReadyAddresses = subset.notReadyAddresses && mapped(subset.notReadyAddresses, change.address);
  const ports = subset.ports && mapped(subset.ports, change.port);
  const isSame =
    addresses === subset.addresses && notReadyAddresses === subset.notReadyAddresses && ports === subset.ports;
  return isSame
    ? subset
    : {
        ...(addresses && { addresses }),
        ...(notReadyAddresses && { notReadyAddresses }),
        ...(ports && { ports }),
      };
}

function same<T>(item: T): T {
  return item;
}

function storedAddress(address: EndpointAddress): EndpointAddress {
  const { targetRef, hostname } = address;
  if (hostname === '') {
    const { hostname: _, ...kept } = address;
    return storedAddress(kept);
  }
  const stored = targetRef && storedReference(targetRef);
  return stored === undefined || stored === targetRef ? address : { ...address, targetRef: stored };
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

/** Equal JSON apart from the order of keys. The caller has normalized both lists. */
export function isSameSubsets(one: readonly EndpointSubset[], other: readonly EndpointSubset[]): boolean {
  return equalJson(one, other);
}

/** Same addresses, ports and readiness in any order and grouping: old API servers repack the subsets that they store. */
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

/** All addresses, for the address policy. */
export function addressesOf(subsets: readonly EndpointSubset[]): string[] {
  const texts: string[] = [];
  for (const { addresses, notReadyAddresses } of subsets) {
    for (const { ip } of addresses ?? []) texts.push(ip);
    for (const { ip } of notReadyAddresses ?? []) texts.push(ip);
  }
  return texts;
}
