// What a virtual object becomes on the host before any patch (DESIGN 3.1 and 3.18): the whole object, computed from nothing else.

import { annotationsOf, copyOf, isMap, type JsonMap, labelsOf, listBelow, own } from '../words/json.ts';
import {
  INSTANCE,
  instanceOf,
  LEADER,
  MANAGED_BY,
  markerLabels,
  SERVICE_NAME,
  SLICE_MANAGER,
  sixOf,
} from '../words/marks.ts';
import { isReserved, type Naming, type Place } from '../words/names.ts';
import type { Settings } from '../words/settings.ts';
import type { Json, PlainObject } from '../words/types.ts';

/** The labels and annotations that people may patch, the ones that nobody may, and what is not metadata. */
export interface Translated {
  readonly place: Place;
  readonly labels: { [key: string]: string };
  readonly annotations: { [key: string]: string };
  readonly fixedLabels: { readonly [key: string]: string };
  readonly fixedAnnotations: { readonly [key: string]: string };
  readonly payload: JsonMap;
}

export function translate(virtual: PlainObject, place: Place, settings: Settings): Translated {
  const { naming } = settings;
  const fixedLabels: { [key: string]: string } = { ...markerLabels(virtual.metadata.namespace, naming) };
  const fixedAnnotations: { [key: string]: string } = { ...sixOf(virtual, place) };
  if (naming.isMapped) fixedAnnotations[INSTANCE] = instanceOf(naming);
  const labels: { [key: string]: string } = {};
  for (const [key, value] of Object.entries(labelsOf(virtual))) {
    const hostKey = naming.labelKey(key);
    if (hostKey !== undefined && !settings.isExcludedLabel(key)) labels[hostKey] = value;
  }
  const annotations: { [key: string]: string } = {};
  for (const [key, value] of Object.entries(annotationsOf(virtual))) {
    if (key !== LEADER && !isReserved(key) && !settings.isExcludedAnnotation(key)) annotations[key] = value;
  }
  if (virtual.kind === 'EndpointSlice') {
    const service = own(labelsOf(virtual), SERVICE_NAME) ?? '';
    const manager = own(labelsOf(virtual), MANAGED_BY);
    delete labels[SERVICE_NAME];
    delete labels[MANAGED_BY];
    fixedLabels[SERVICE_NAME] = naming.place(virtual.metadata.namespace, service)?.name ?? '';
    fixedLabels[MANAGED_BY] = 'hostward.dev';
    if (manager !== undefined) fixedAnnotations[SLICE_MANAGER] = manager;
  }
  const payload = virtual.kind === 'Endpoints' ? subsetsOf(virtual, naming) : sliceOf(virtual, settings);
  return { place, labels, annotations, fixedLabels, fixedAnnotations, payload };
}

/** A Pod keeps its new name only; every other reference stays as it is. */
function translateTarget(target: Json | undefined, naming: Naming, keepsUid: boolean): Json | undefined {
  if (!isMap(target) || target['kind'] !== 'Pod') return target;
  const { name, namespace, uid, resourceVersion, ...rest } = target;
  const kept = keepsUid
    ? { ...(uid === undefined ? {} : { uid }), ...(resourceVersion === undefined ? {} : { resourceVersion }) }
    : {};
  if (typeof name !== 'string' || name === '') return { ...rest, ...kept };
  const from = typeof namespace === 'string' ? namespace : '';
  const place = naming.place(from, name);
  if (place === undefined) return { ...rest, ...kept, name };
  return { ...rest, ...kept, name: place.name, ...(from === '' ? {} : { namespace: place.namespace }) };
}

const withTarget = (address: JsonMap, naming: Naming, keepsUid: boolean): JsonMap => {
  const target = translateTarget(address['targetRef'], naming, keepsUid);
  return target === undefined ? address : { ...address, targetRef: target };
};

/** Empty lists and subsets without an address are as good as none, and a port without protocol is a TCP port. */
export function tidySubsets(subsets: unknown): Json[] {
  if (!Array.isArray(subsets)) return [];
  return subsets.filter(isMap).flatMap((subset): Json[] => {
    const tidy: JsonMap = {};
    for (const field of ['addresses', 'notReadyAddresses']) {
      const list = listBelow(subset, field);
      if (list.length > 0) tidy[field] = copyOf(list) as Json;
    }
    if (Object.keys(tidy).length === 0) return [];
    const ports = listBelow(subset, 'ports').filter(isMap);
    if (ports.length > 0) tidy['ports'] = ports.map((port): Json => ({ ...port, protocol: port['protocol'] ?? 'TCP' }));
    return [tidy];
  });
}

function subsetsOf(virtual: PlainObject, naming: Naming): JsonMap {
  const subsets = tidySubsets(virtual['subsets']).filter(isMap);
  for (const subset of subsets) {
    for (const field of ['addresses', 'notReadyAddresses']) {
      const list = listBelow(subset, field).filter(isMap);
      if (list.length > 0) subset[field] = list.map((address) => withTarget(address, naming, false));
    }
  }
  return { subsets };
}

function sliceOf(virtual: PlainObject, settings: Settings): JsonMap {
  const endpoints = listBelow(virtual, 'endpoints')
    .filter(isMap)
    .map((endpoint) => {
      const made = copyOf(withTarget(endpoint, settings.naming, true));
      if (settings.dropsNodeName) delete made['nodeName'];
      return made;
    });
  const payload: JsonMap = { addressType: (virtual['addressType'] ?? null) as Json, endpoints };
  if (Array.isArray(virtual['ports'])) payload['ports'] = copyOf(virtual['ports']) as Json;
  return payload;
}
