// Checks the shape and values of an object from a file. In: an object. Out: the faults that would make an API server refuse the object,
// each with its place. The check runs before any translation.
import { areWithin, maxAnnotationBytes } from '../../object/meta/meta-validation.ts';
import {
  dnsLabelProblems,
  dnsSubdomainProblems,
  labelKeyProblems,
  labelValueProblems,
  withoutPattern,
} from '../../object/meta/qualified-name.ts';
import { inQuotes } from '../../object/text/in-quotes.ts';
import { isRecord } from '../../object/text/json.ts';
import { problemOfSubsets } from '../../sync/kinds/endpoints/validate-subsets.ts';
import { withoutTopology } from '../../sync/kinds/endpointslices/items.ts';
import { problemOfPayload } from '../../sync/kinds/endpointslices/validate-payload.ts';
import { placeText } from '../../sync/kinds/payload/problem.ts';
import { isOfflineKind } from './offline-kinds.ts';

/** What kube-apiserver takes in one request. */
const maxObjectBytes = 3 * 1024 * 1024;
/** A file of one mistake in each line helps nobody who reads more of them. */
const mostFaults = 100;

type ShapePath = readonly (string | number)[];

export interface ShapeFault {
  /** The keys that lead to the value. */
  place: ShapePath;
  /** The last of the keys is at fault, not its value. */
  isOfKey?: boolean;
  /** Begins with the place in words: `metadata.name: …`. */
  text: string;
}

export function shapeFaults(object: Record<string, unknown>): ShapeFault[] {
  const faults = isOfflineKind(object) ? typeFaults(object) : metaFaults(object);
  // Values are judged only where every shape is right.
  const all = faults.length > 0 ? faults : valueFaults(object);
  return all.slice(0, mostFaults);
}

/** The fields that every kind has. */
function metaFaults({ metadata }: Record<string, unknown>): ShapeFault[] {
  const faults: ShapeFault[] = [];
  const { name, namespace, uid, labels, annotations, ownerReferences } = metadata as Record<string, unknown>;
  for (const [field, value] of Object.entries({ name, namespace, uid }))
    if (!isMissing(value) && typeof value !== 'string') faults.push(wrongType(['metadata', field], 'a text', value));
  for (const [field, value] of Object.entries({ labels, annotations })) {
    for (const [key, text] of entries(value, ['metadata', field], faults)) {
      if (typeof text === 'string') continue;
      const fault = wrongType(['metadata', field, key], 'a text', text);
      faults.push(typeof text === 'object' ? fault : { ...fault, text: `${fault.text}; put it in quotes` });
    }
  }
  list(ownerReferences, ['metadata', 'ownerReferences'], faults);
  return faults;
}

function typeFaults(object: Record<string, unknown>): ShapeFault[] {
  const isSlice = object['kind'] === 'EndpointSlice';
  const wanted = isSlice ? 'discovery.k8s.io/v1' : 'v1';
  const { apiVersion } = object;
  const faults =
    !isMissing(apiVersion) && apiVersion !== wanted ? [wrongType(['apiVersion'], `"${wanted}"`, apiVersion)] : [];
  faults.push(...metaFaults(object));
  if (isSlice) sliceFaults(object, faults);
  else subsetFaults(object, faults);
  return faults;
}

function valueFaults(object: Record<string, unknown>): ShapeFault[] {
  const { name, namespace, labels, annotations } = object['metadata'] as Metadata;
  const faults = [
    ...nameFaults('name', name, nameRules[String(object['kind'])] ?? (() => [])),
    ...nameFaults('namespace', namespace, dnsLabelProblems),
    ...Object.entries(labels ?? {}).flatMap(([key, value]) => [
      ...keyFaults('labels', key, labelKeyProblems(key)),
      ...labelValueProblems(value).map((problem) => faultAt(['metadata', 'labels', key], said(value, problem))),
    ]),
    // Unlike a label key, an annotation key may have upper case letters in its domain.
    ...Object.keys(annotations ?? {}).flatMap((key) =>
      keyFaults('annotations', key, labelKeyProblems(key.toLowerCase())),
    ),
  ];
  if (!areWithin(Object.entries(annotations ?? {}), maxAnnotationBytes))
    faults.push(faultAt(['metadata', 'annotations'], `must have at most ${maxAnnotationBytes} bytes together`));
  if (isOfflineKind(object)) faults.push(...payloadFaults(object));
  const bytes = Buffer.byteLength(JSON.stringify(object));
  if (bytes > maxObjectBytes)
    faults.push({ place: [], text: `wanted at most ${maxObjectBytes} bytes, found ${bytes}` });
  return faults;
}

/** Other kinds have rules of their own. */
const nameRules: Readonly<Record<string, (name: string) => string[]>> = {
  Endpoints: dnsSubdomainProblems,
  EndpointSlice: dnsSubdomainProblems,
  Service: dnsLabelProblems,
};

interface Metadata {
  name?: string | null;
  namespace?: string | null;
  labels?: Record<string, string> | null;
  annotations?: Record<string, string> | null;
}

function nameFaults(
  field: string,
  value: string | null | undefined,
  problemsOf: (name: string) => string[],
): ShapeFault[] {
  const problems = value === undefined || value === null || value === '' ? [] : problemsOf(value);
  return problems.map((problem) => faultAt(['metadata', field], said(value as string, problem)));
}

function keyFaults(map: string, key: string, problems: readonly string[]): ShapeFault[] {
  return problems.map((problem) => ({ ...faultAt(['metadata', map, key], said(key, problem)), isOfKey: true }));
}

function said(value: string, problem: string): string {
  return `${inQuotes(value.length > 100 ? `${value.slice(0, 100)}…` : value)}: ${withoutPattern(problem)}`;
}

/** The judges of a payload tell the first problem; asked for each part alone, they tell the first one of each. */
function payloadFaults(found: Record<string, unknown>): ShapeFault[] {
  const isSlice = found['kind'] === 'EndpointSlice';
  const { endpoints } = found;
  const object = isSlice && Array.isArray(endpoints) ? { ...found, endpoints: withoutTopology(endpoints) } : found;
  const problemOf = (payload: Record<string, unknown>) =>
    isSlice ? problemOfPayload(payload) : problemOfSubsets(payload['subsets'] ?? []);
  const faults = new Map<string, ShapeFault>();
  for (const { payload, place } of [{ payload: object, place: [] }, ...(isSlice ? sliceParts : subsetParts)(object)]) {
    const problem = problemOf(payload);
    if (problem === undefined) continue;
    const whole = problem.place.map((key, at) => place[at] ?? key);
    const words = problem.message.slice(placeText(problem.place).length + 1);
    const name = placeText(whole);
    if (!faults.has(name)) faults.set(name, { place: whole, text: `${name} ${words}` });
  }
  return [...faults.values()];
}

interface Part {
  payload: Record<string, unknown>;
  /** Where it is in the object, in place of its place in the payload. */
  place: ShapePath;
}

function subsetParts({ subsets }: Record<string, unknown>): Part[] {
  return recordsIn(subsets).flatMap((subset, at) =>
    ['addresses', 'notReadyAddresses', 'ports'].flatMap((field) =>
      recordsIn(subset[field]).map((one, index) => ({
        payload: { subsets: [{ [field]: [one] }] },
        place: ['subsets', at, field, index],
      })),
    ),
  );
}

function sliceParts({ addressType, endpoints, ports }: Record<string, unknown>): Part[] {
  return Object.entries({ endpoints, ports }).flatMap(([field, all]) =>
    recordsIn(all).map((one, index) => ({ payload: { addressType, [field]: [one] }, place: [field, index] })),
  );
}

function recordsIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value : [];
}

function subsetFaults(object: Record<string, unknown>, faults: ShapeFault[]): void {
  for (const [subset, place] of list(object['subsets'], ['subsets'], faults)) {
    for (const field of ['addresses', 'notReadyAddresses']) {
      for (const [address, at] of list(subset[field], [...place, field], faults)) {
        if (typeof address['ip'] !== 'string') faults.push(wrongType([...at, 'ip'], 'an IP address', address['ip']));
        entries(address['targetRef'], [...at, 'targetRef'], faults);
      }
    }
    for (const [port, at] of list(subset['ports'], [...place, 'ports'], faults)) {
      if (!Number.isInteger(port['port'])) faults.push(wrongType([...at, 'port'], 'a number', port['port']));
    }
  }
}

function sliceFaults(object: Record<string, unknown>, faults: ShapeFault[]): void {
  const { addressType } = object;
  if (!['IPv4', 'IPv6', 'FQDN'].includes(addressType as string))
    faults.push(wrongType(['addressType'], 'IPv4, IPv6 or FQDN', addressType));
  for (const [endpoint, place] of list(object['endpoints'], ['endpoints'], faults)) {
    const { addresses } = endpoint;
    if (!Array.isArray(addresses) || !addresses.every((one) => typeof one === 'string'))
      faults.push(wrongType([...place, 'addresses'], 'a list of texts', addresses));
    entries(endpoint['targetRef'], [...place, 'targetRef'], faults);
    entries(endpoint['conditions'], [...place, 'conditions'], faults);
  }
  for (const [port, at] of list(object['ports'], ['ports'], faults)) {
    if (!isMissing(port['port']) && !Number.isInteger(port['port']))
      faults.push(wrongType([...at, 'port'], 'a number', port['port']));
  }
}

function isMissing(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

function entries(value: unknown, place: ShapePath, faults: ShapeFault[]): [string, unknown][] {
  if (isMissing(value)) return [];
  if (typeof value === 'object' && !Array.isArray(value)) return Object.entries(value);
  faults.push(wrongType(place, 'a map', value));
  return [];
}

function list(value: unknown, place: ShapePath, faults: ShapeFault[]): [Record<string, unknown>, ShapePath][] {
  if (isMissing(value)) return [];
  if (!Array.isArray(value)) {
    faults.push(wrongType(place, 'a list', value));
    return [];
  }
  return value.flatMap((item: unknown, index): [Record<string, unknown>, ShapePath][] => {
    if (isRecord(item)) return [[item, [...place, index]]];
    faults.push(wrongType([...place, index], 'a map', item));
    return [];
  });
}

function wrongType(place: ShapePath, wanted: string, found: unknown): ShapeFault {
  return faultAt(
    place,
    `wanted ${wanted}, found ${found === undefined ? 'nothing' : JSON.stringify(found)?.slice(0, 60)}`,
  );
}

/** People choose the keys of labels and annotations. */
function faultAt(place: ShapePath, words: string): ShapeFault {
  const [, map, key] = place;
  const isKey = (map === 'labels' || map === 'annotations') && typeof key === 'string';
  const name = isKey ? `${placeText(place.slice(0, 2))}["${key.slice(0, 100)}"]` : placeText(place);
  return { place, text: `${name}: ${words}` };
}
