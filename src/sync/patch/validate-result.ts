// Whether what patches made of a host object is still an Endpoints that the API server will take. Found here, a wrong
// result is a failed patch with a name; found there, it would be a refusal that nobody can place. Pure.
import { parseAddress } from '../../object/ip.ts';
import { isRecord } from '../../object/json.ts';
import { annotationBytes, maxAnnotationBytes } from '../../object/meta-validation.ts';
import {
  dnsLabelProblems,
  dnsSubdomainProblems,
  labelKeyProblems,
  labelValueProblems,
} from '../../object/qualified-name.ts';
import type { Draft } from '../draft.ts';
import type { Part } from './dirty.ts';
import { type Place, shownKey } from './excerpt.ts';
import { shapeOf } from './view.ts';

/** What is wrong and where; the message names the place too. */
export interface ResultProblem {
  place: Place;
  message: string;
}

/** Nobody has so many; looking at more of them would keep all other objects waiting. */
const maxKeys = 10_000;
const maxLabelBytes = maxAnnotationBytes;
/** Labels and annotations stand two levels below a whole object. */
const mapDepth = 2;

const fields = {
  subset: new Set(['addresses', 'notReadyAddresses', 'ports']),
  address: new Set(['ip', 'hostname', 'nodeName', 'targetRef']),
  port: new Set(['name', 'port', 'protocol', 'appProtocol']),
  targetRef: new Set(['apiVersion', 'kind', 'name', 'namespace', 'uid', 'resourceVersion', 'fieldPath']),
};

/** Most addresses look like this, and there can be thousands; whatever does not is read with care. */
const plainV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

const protocols = ['TCP', 'UDP', 'SCTP'];

/** The first thing that is wrong; undefined when nothing is. What is the draft's own was right already. */
export function problemOfResult(
  { labels, annotations, payload }: Pick<Draft, Part>,
  draft?: Draft,
): ResultProblem | undefined {
  const problem =
    (labels === draft?.labels ? undefined : problemOfLabels(labels)) ??
    (annotations === draft?.annotations ? undefined : problemOfAnnotations(annotations));
  if (problem !== undefined) return problem;
  return payload === draft?.payload ? undefined : problemOfSubsets(payload['subsets'] ?? []);
}

/** Of results for maps and whole objects, asked before anything else is done with them: a count costs little, a look a lot. */
export function problemOfKeyCount(results: readonly unknown[], depth = 0): string | undefined {
  for (const result of results) {
    if (!isRecord(result)) continue;
    const parts = Object.values(result);
    if (parts.length > maxKeys) return `the result holds an object of ${parts.length} keys, and may hold ${maxKeys}`;
    const problem = depth < mapDepth ? problemOfKeyCount(parts, depth + 1) : undefined;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function inMetadata(map: string, problem: string): ResultProblem {
  return { place: ['metadata', map], message: `metadata.${map} ${problem}` };
}

/** In words without the value, which may be a secret: what the rules of metadata say would quote it whole. */
function problemOfLabels(labels: ReadonlyMap<string, string>): ResultProblem | undefined {
  const tooMuch = problemOfSize('labels', labels, maxLabelBytes);
  if (tooMuch !== undefined) return tooMuch;
  for (const [key, value] of labels) {
    const place = ['metadata', 'labels', key];
    const [ofKey] = labelKeyProblems(key);
    if (ofKey !== undefined)
      return { place, message: `metadata.labels: a key of ${key.length} characters is none: ${ofKey}` };
    const [ofValue] = labelValueProblems(value);
    if (ofValue !== undefined) return { place, message: `metadata.labels["${shownKey(key)}"]: ${ofValue}` };
  }
  return undefined;
}

function problemOfAnnotations(annotations: ReadonlyMap<string, string>): ResultProblem | undefined {
  const tooMuch = problemOfSize('annotations', annotations, maxAnnotationBytes);
  if (tooMuch !== undefined) return tooMuch;
  for (const key of annotations.keys()) {
    const [problem] = labelKeyProblems(key.toLowerCase());
    if (problem === undefined) continue;
    const message = `metadata.annotations: a key of ${key.length} characters is none: ${problem}`;
    return { place: ['metadata', 'annotations', key], message };
  }
  return undefined;
}

function problemOfSize(map: string, texts: ReadonlyMap<string, string>, maxBytes: number): ResultProblem | undefined {
  if (texts.size > maxKeys) return inMetadata(map, `must have at most ${maxKeys} keys, got ${texts.size}`);
  const bytes = annotationBytes(Object.fromEntries(texts));
  return bytes <= maxBytes ? undefined : inMetadata(map, `must have at most ${maxBytes} bytes, got ${bytes}`);
}

function problemOfSubsets(subsets: unknown): ResultProblem | undefined {
  return problemOfList(subsets, ['subsets'], (subset, place) => {
    if (!isRecord(subset)) return at(place, `must be an object, got ${shapeOf(subset)}`);
    const unknown = problemOfFields(subset, fields.subset, place);
    if (unknown !== undefined) return unknown;
    const ports = subset['ports'] ?? [];
    const needsName = Array.isArray(ports) && ports.length > 1;
    return (
      problemOfAddresses(subset['addresses'], [...place, 'addresses']) ??
      problemOfAddresses(subset['notReadyAddresses'], [...place, 'notReadyAddresses']) ??
      problemOfList(ports, [...place, 'ports'], (port, of) => problemOfPort(port, of, { needsName }))
    );
  });
}

function problemOfAddresses(addresses: unknown, place: Place): ResultProblem | undefined {
  if (addresses === undefined || addresses === null) return undefined;
  return problemOfList(addresses, place, problemOfAddress);
}

function problemOfAddress(address: unknown, place: Place): ResultProblem | undefined {
  if (!isRecord(address)) return at(place, `must be an object, got ${shapeOf(address)}`);
  const { ip, hostname, nodeName, targetRef } = address;
  if (typeof ip !== 'string') return at([...place, 'ip'], `must be a string, got ${shapeOf(ip)}`);
  const parsed = plainV4.test(ip) ? undefined : parseAddress(ip);
  if (parsed?.kind === 'invalid') return at([...place, 'ip'], `must be an IP address, but ${parsed.reason}`);
  const isUnnamed = hostname === undefined || hostname === '';
  if (!isUnnamed && (typeof hostname !== 'string' || dnsLabelProblems(hostname).length > 0))
    return at([...place, 'hostname'], 'must be a DNS label');
  if (nodeName !== undefined && typeof nodeName !== 'string')
    return at([...place, 'nodeName'], `must be a string, got ${shapeOf(nodeName)}`);
  if (nodeName !== undefined && dnsSubdomainProblems(nodeName).length > 0)
    return at([...place, 'nodeName'], 'must be a DNS subdomain, or left out');
  if (targetRef !== undefined && !isTextMap(targetRef))
    return at([...place, 'targetRef'], 'must be an object of strings');
  const ofReference = targetRef && problemOfFields(targetRef, fields.targetRef, [...place, 'targetRef']);
  return ofReference ?? problemOfFields(address, fields.address, place);
}

function problemOfPort(port: unknown, place: Place, { needsName }: { needsName: boolean }): ResultProblem | undefined {
  if (!isRecord(port)) return at(place, `must be an object, got ${shapeOf(port)}`);
  const { port: number, protocol, name, appProtocol } = port;
  if (!Number.isInteger(number) || (number as number) < 1 || (number as number) > 65_535) {
    const got = typeof number === 'number' ? number : shapeOf(number);
    return at([...place, 'port'], `must be a whole number from 1 to 65535, got ${got}`);
  }
  if (protocol !== undefined && !protocols.includes(protocol as string))
    return at([...place, 'protocol'], 'must be TCP, UDP or SCTP');
  const isUnnamed = name === undefined || name === '';
  if (isUnnamed && needsName) return at([...place, 'name'], 'is required beside other ports');
  if (!isUnnamed && (typeof name !== 'string' || dnsLabelProblems(name).length > 0))
    return at([...place, 'name'], 'must be a DNS label');
  if (appProtocol !== undefined && typeof appProtocol !== 'string')
    return at([...place, 'appProtocol'], 'must be a string');
  // The rule of label keys, says the API server.
  if (appProtocol !== undefined && labelKeyProblems(appProtocol).length > 0)
    return at([...place, 'appProtocol'], 'must be a name, with a DNS subdomain and "/" before it if any, or left out');
  return problemOfFields(port, fields.port, place);
}

function problemOfList(
  list: unknown,
  place: Place,
  judge: (item: unknown, place: Place) => ResultProblem | undefined,
): ResultProblem | undefined {
  if (!Array.isArray(list)) return at(place, `must be an array, got ${shapeOf(list)}`);
  for (const [index, item] of list.entries()) {
    const problem = judge(item, [...place, index]);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function at(place: Place, problem: string): ResultProblem {
  const text = place
    .map((key, index) => (typeof key === 'number' ? `[${key}]` : index === 0 ? key : `.${key}`))
    .join('');
  return { place, message: `${text} ${problem}` };
}

/** The API server drops them without a word, and what it stores would never be what is wanted. */
function problemOfFields(value: object, known: ReadonlySet<string>, place: Place): ResultProblem | undefined {
  for (const key in value)
    if (!known.has(key)) return at(place, `has a field "${shownKey(key)}", which Endpoints do not know`);
  return undefined;
}

function isTextMap(value: unknown): value is Record<string, string> {
  return isRecord(value) && Object.values(value).every((text) => typeof text === 'string');
}
