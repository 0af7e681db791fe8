// Whether what patches made of a host object is still an Endpoints that the API server will take. Found here, a wrong
// result is a failed patch with a name; found there, it would be a refusal that nobody can place. Pure.

import { areWithin, entryBytes, maxAnnotationBytes } from '../../../object/meta/meta-validation.ts';
import {
  dnsLabelProblems,
  dnsSubdomainProblems,
  labelKeyProblems,
  labelValueProblems,
} from '../../../object/meta/qualified-name.ts';
import { parseAddress, plainV4Of } from '../../../object/text/ip.ts';
import { isRecord } from '../../../object/text/json.ts';
import type { Draft } from '../../plan/draft.ts';
import { type ObjectPath, shownKey } from '../../plan/excerpt.ts';
import type { Part } from '../set/changed-parts.ts';
import { shapeOf } from '../set/view.ts';

/** What is wrong and where; the message names the place too. */
export interface ResultProblem {
  place: ObjectPath;
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

const protocols = ['TCP', 'UDP', 'SCTP'];

/** The first thing that is wrong; undefined when nothing is. What is the draft's own was right already. */
export function problemOfResult(
  { labels, annotations, payload }: Pick<Draft, Part>,
  draft?: Draft,
): ResultProblem | undefined {
  const problem =
    (labels === draft?.labels ? undefined : problemOfLabels(labels, draft?.labels)) ??
    (annotations === draft?.annotations ? undefined : problemOfAnnotations(annotations, draft?.annotations));
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

type Texts = ReadonlyMap<string, string>;

/** In words without the value, which may be a secret: what the rules of metadata say would quote it whole. */
function problemOfLabels(labels: Texts, right: Texts | undefined): ResultProblem | undefined {
  const tooMuch = problemOfSize('labels', labels, maxLabelBytes);
  if (tooMuch !== undefined) return tooMuch;
  for (const key of labels.keys()) {
    const value = labels.get(key) as string;
    if (right?.get(key) === value) continue;
    const place = ['metadata', 'labels', key];
    const [ofKey] = labelKeyProblems(key);
    if (ofKey !== undefined)
      return { place, message: `metadata.labels: a key of ${key.length} characters is none: ${ofKey}` };
    const [ofValue] = labelValueProblems(value);
    if (ofValue !== undefined) return { place, message: `metadata.labels["${shownKey(key)}"]: ${ofValue}` };
  }
  return undefined;
}

function problemOfAnnotations(annotations: Texts, right: Texts | undefined): ResultProblem | undefined {
  const tooMuch = problemOfSize('annotations', annotations, maxAnnotationBytes);
  if (tooMuch !== undefined) return tooMuch;
  for (const key of annotations.keys()) {
    if (right?.has(key)) continue;
    // Upper case is allowed in the whole key, unlike in labels.
    const [problem] = labelKeyProblems(key.toLowerCase());
    if (problem === undefined) continue;
    const message = `metadata.annotations: a key of ${key.length} characters is none: ${problem}`;
    return { place: ['metadata', 'annotations', key], message };
  }
  return undefined;
}

function problemOfSize(map: string, texts: Texts, maxBytes: number): ResultProblem | undefined {
  if (texts.size > maxKeys) return inMetadata(map, `must have at most ${maxKeys} keys, got ${texts.size}`);
  if (areWithin(texts, maxBytes)) return undefined;
  return inMetadata(map, `must have at most ${maxBytes} bytes, got ${entryBytes(texts)}`);
}

/** A problem somewhere below what was looked at; the way to it is put together on the way back, when there is one. */
interface Below {
  place: ObjectPath;
  said: string;
}

function problemOfSubsets(subsets: unknown): ResultProblem | undefined {
  const found = problemOfList(subsets, problemOfSubset);
  if (found === undefined) return undefined;
  const place = ['subsets', ...found.place];
  const text = place
    .map((key, index) => (typeof key === 'number' ? `[${key}]` : index === 0 ? key : `.${key}`))
    .join('');
  return { place, message: `${text} ${found.said}` };
}

function problemOfSubset(subset: unknown): Below | undefined {
  if (!isRecord(subset)) return here(`must be an object, got ${shapeOf(subset)}`);
  const { addresses, notReadyAddresses } = subset;
  const ports = subset['ports'] ?? [];
  const needsName = Array.isArray(ports) && ports.length > 1;
  return (
    problemOfFields(subset, fields.subset) ??
    under('addresses', problemOfAddresses(addresses)) ??
    under('notReadyAddresses', problemOfAddresses(notReadyAddresses)) ??
    under(
      'ports',
      problemOfList(ports, (port) => problemOfPort(port, needsName)),
    )
  );
}

function problemOfAddresses(addresses: unknown): Below | undefined {
  return addresses === undefined || addresses === null ? undefined : problemOfList(addresses, problemOfAddress);
}

function problemOfAddress(address: unknown): Below | undefined {
  if (!isRecord(address)) return here(`must be an object, got ${shapeOf(address)}`);
  const { ip, hostname, nodeName, targetRef } = address;
  if (typeof ip !== 'string') return at('ip', `must be a string, got ${shapeOf(ip)}`);
  const parsed = plainV4Of(ip) >= 0 ? undefined : parseAddress(ip);
  if (parsed?.kind === 'invalid') return at('ip', `must be an IP address, but ${parsed.reason}`);
  const isUnnamed = hostname === undefined || hostname === '';
  if (!isUnnamed && (typeof hostname !== 'string' || dnsLabelProblems(hostname).length > 0))
    return at('hostname', 'must be a DNS label');
  if (nodeName !== undefined && typeof nodeName !== 'string')
    return at('nodeName', `must be a string, got ${shapeOf(nodeName)}`);
  if (nodeName !== undefined && dnsSubdomainProblems(nodeName).length > 0)
    return at('nodeName', 'must be a DNS subdomain, or left out');
  if (targetRef !== undefined && !isTextMap(targetRef)) return at('targetRef', 'must be an object of strings');
  const ofReference = targetRef && under('targetRef', problemOfFields(targetRef, fields.targetRef));
  return ofReference ?? problemOfFields(address, fields.address);
}

function problemOfPort(port: unknown, needsName: boolean): Below | undefined {
  if (!isRecord(port)) return here(`must be an object, got ${shapeOf(port)}`);
  const { port: number, protocol, name, appProtocol } = port;
  if (!Number.isInteger(number) || (number as number) < 1 || (number as number) > 65_535) {
    const got = typeof number === 'number' ? number : shapeOf(number);
    return at('port', `must be a whole number from 1 to 65535, got ${got}`);
  }
  if (protocol !== undefined && !protocols.includes(protocol as string))
    return at('protocol', 'must be TCP, UDP or SCTP');
  const isUnnamed = name === undefined || name === '';
  if (isUnnamed && needsName) return at('name', 'is required beside other ports');
  if (!isUnnamed && (typeof name !== 'string' || dnsLabelProblems(name).length > 0))
    return at('name', 'must be a DNS label');
  if (appProtocol !== undefined && typeof appProtocol !== 'string') return at('appProtocol', 'must be a string');
  // The rule of label keys, says the API server.
  if (appProtocol !== undefined && labelKeyProblems(appProtocol).length > 0)
    return at('appProtocol', 'must be a name, with a DNS subdomain and "/" before it if any, or left out');
  return problemOfFields(port, fields.port);
}

function problemOfList(list: unknown, judge: (item: unknown) => Below | undefined): Below | undefined {
  if (!Array.isArray(list)) return here(`must be an array, got ${shapeOf(list)}`);
  for (let index = 0; index < list.length; index++) {
    const problem = judge(list[index]);
    if (problem !== undefined) return under(index, problem);
  }
  return undefined;
}

function here(said: string): Below {
  return { place: [], said };
}

function at(key: string, said: string): Below {
  return { place: [key], said };
}

function under(key: string | number, problem: Below | undefined): Below | undefined {
  return problem && { ...problem, place: [key, ...problem.place] };
}

/** The API server drops them without a word, and what it stores would never be what is wanted. */
function problemOfFields(value: object, known: ReadonlySet<string>): Below | undefined {
  for (const key in value)
    if (!known.has(key)) return here(`has a field "${shownKey(key)}", which Endpoints do not know`);
  return undefined;
}

function isTextMap(value: unknown): value is Record<string, string> {
  return isRecord(value) && Object.values(value).every((text) => typeof text === 'string');
}
