// Translates a virtual object into its host object, without looking at the host. The result is a draft, a plain value:
// patches change it, update-patch compares it with the host, and `render` prints it.

import type { Item } from '../../cluster/window/window.ts';
import { areWithin, maxAnnotationBytes } from '../../object/meta/meta-validation.ts';
import type { KubeObject, OwnerReference } from '../../object/meta/object.ts';
import { type Base, type BaseEntry, baseEntry, formatBase, uncrossedName, unknownPatches } from './keys/base.ts';
import { type KeyRules, mapOfKeys } from './keys/key-rules.ts';
import type { KeyOwner } from './keys/merge-keys.ts';
import {
  baseKey,
  instanceKey,
  managedAnnotationsKey,
  markerLabel,
  namespaceLabel,
  objectKeys,
} from './keys/reserved-keys.ts';
import type { OwnKey, Payload, SyncedKind, VirtualItem } from './kind.ts';
import type { HostPlace, Placement } from './placement.ts';

/** The rules that turn a virtual object into a host object; one value per configuration. */
export interface Translation {
  kind: SyncedKind;
  placement: Placement;
  labels: KeyRules;
  annotations: KeyRules;
  /** Digest of the patch set, '' without patches. */
  patchDigest: string;
}

export interface Draft {
  place: HostPlace;
  /** Translated labels and annotations of the tenant, in host spelling, without our own keys. */
  labels: ReadonlyMap<string, string>;
  annotations: ReadonlyMap<string, string>;
  payload: Payload;
  /** Digest of the patches that touched a key, in host spelling, '' without. Undefined without patches, as is ownerOf. */
  patchesOf?: (map: 'labels' | 'annotations', hostKey: string) => string;
  /** The side that owns a patched key, in host spelling. */
  ownerOf?: (map: 'labels' | 'annotations', hostKey: string) => KeyOwner;
}

export function draftHost(virtual: VirtualItem, place: HostPlace, translation: Translation): Draft {
  const { kind, placement } = translation;
  return {
    place,
    labels: translateKeys(mapOfKeys(virtual.labels), translation.labels),
    annotations: translateKeys(mapOfKeys(virtual.annotations), translation.annotations),
    payload: kind.translate(virtual, placement),
  };
}

/** Labels or annotations of the tenant in host spelling, without those that do not cross. */
export function translateKeys(virtual: ReadonlyMap<string, string>, rules: KeyRules): Map<string, string> {
  const host = new Map<string, string>();
  for (const [key, value] of virtual) {
    const hostKey = rules.toHost(key);
    if (hostKey !== undefined) host.set(hostKey, value);
  }
  return host;
}

/** Labels of every host copy; they are repaired whenever they drift. */
export function fixedLabels<V extends Item>(virtual: V, { kind, placement }: FixedBy<V>): OwnKey[] {
  return [
    [markerLabel, placement.virtualCluster],
    [namespaceLabel, virtual.namespace],
    ...(kind.ownKeys?.(virtual, placement).labels ?? []),
  ];
}

interface FixedBy<V> {
  kind: {
    kindAnnotation: string;
    ownKeys?(virtual: V, placement: Placement): { labels: OwnKey[]; annotations: OwnKey[] };
  };
  placement: Placement;
}

/** The six, and in mapped mode the instance, because plain names do not identify the owner. */
export function fixedAnnotations<V extends Item>(
  virtual: V,
  place: HostPlace,
  { kind, placement }: FixedBy<V>,
): OwnKey[] {
  const fixed: OwnKey[] = [
    [objectKeys.name, virtual.name],
    [objectKeys.namespace, virtual.namespace],
    [objectKeys.uid, virtual.uid],
    [objectKeys.kind, kind.kindAnnotation],
    [objectKeys.hostName, place.name],
    [objectKeys.hostNamespace, place.namespace],
  ];
  if (placement.mode === 'mapped') fixed.push([instanceKey, placement.instance]);
  fixed.push(...(kind.ownKeys?.(virtual, placement).annotations ?? []));
  return fixed;
}

/** The fixed keys that a copy has, without those that it must not have. */
export function present(keys: readonly OwnKey[]): [string, string][] {
  return keys.filter((one): one is [string, string] => one[1] !== undefined);
}

/** Written at create and frozen afterwards, as vCluster does; undefined when no annotation was copied. */
export function managedAnnotations(draft: Draft, virtual: VirtualItem): string | undefined {
  const tenants = virtual.annotations ?? {};
  const copied = [...draft.annotations.keys()].filter((key) => Object.hasOwn(tenants, key)).sort();
  return copied.length > 0 ? copied.join('\n') : undefined;
}

export function renderCreate(
  virtual: VirtualItem,
  draft: Draft,
  options: { translation: Translation; owner: OwnerReference | undefined },
): KubeObject {
  const { translation, owner } = options;
  const { kind } = translation;
  const annotations = new Map(draft.annotations);
  const managed = managedAnnotations(draft, virtual);
  if (managed !== undefined) annotations.set(managedAnnotationsKey, managed);
  for (const [key, value] of present(fixedAnnotations(virtual, draft.place, translation))) annotations.set(key, value);
  const base = formatBase(baseOf(virtual, draft, translation));
  annotations.set(baseKey, base);
  if (!areWithin(annotations, maxAnnotationBytes)) annotations.delete(baseKey);
  const labels = new Map([...draft.labels, ...present(fixedLabels(virtual, translation))]);
  return {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: {
      name: draft.place.name,
      namespace: draft.place.namespace,
      labels: Object.fromEntries(labels),
      annotations: Object.fromEntries(annotations),
      ...(owner && { ownerReferences: [owner] }),
    },
    ...withoutEmpty(draft.payload),
  };
}

/** The base of a host object that equals the draft. */
export function baseOf(virtual: VirtualItem, draft: Draft, translation: Translation): Base {
  return {
    patchDigest: translation.patchDigest,
    labels: freshEntries('labels', virtual, draft, translation),
    annotations: freshEntries('annotations', virtual, draft, translation),
  };
}

function freshEntries(
  map: 'labels' | 'annotations',
  item: VirtualItem,
  draft: Draft,
  translation: Translation,
): Map<string, BaseEntry> {
  const virtual = mapOfKeys(item[map]);
  const host = draft[map];
  const rules = translation[map];
  const keys = new Set([...virtual.keys()].filter((key) => rules.toHost(key) !== undefined));
  const entries = new Map<string, BaseEntry>();
  for (const [hostKey, value] of host) {
    const key = rules.toVirtual(hostKey);
    if (key !== undefined) keys.add(key);
    else
      entries.set(
        uncrossedName(hostKey),
        baseEntry(
          { virtual: undefined, host: value, desired: value },
          { patches: draft.patchesOf?.(map, hostKey) || unknownPatches },
        ),
      );
  }
  for (const key of keys) {
    const hostKey = rules.toHost(key) as string;
    const hostValue = host.get(hostKey);
    const patches = draft.patchesOf?.(map, hostKey) ?? '';
    entries.set(key, baseEntry({ virtual: virtual.get(key), host: hostValue, desired: hostValue }, { patches }));
  }
  return entries;
}

function withoutEmpty(payload: Payload): Payload {
  return Object.fromEntries(
    Object.entries(payload).filter(([, value]) => value !== null && !(Array.isArray(value) && value.length === 0)),
  );
}
