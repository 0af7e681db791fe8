// Whether what patches made of a host object is still an Endpoints that the API server will take. Found here, a wrong
// result is a failed patch with a name; found there, it would be a refusal that nobody can place. Pure.
import { parseAddress } from '../../object/ip.ts';
import { annotationBytes, maxAnnotationBytes } from '../../object/meta-validation.ts';
import { dnsLabelProblems, labelKeyProblems, labelValueProblems } from '../../object/qualified-name.ts';
import type { Payload } from '../kind.ts';
import { isPlainObject, shapeOf } from './view.ts';

const protocols = ['TCP', 'UDP', 'SCTP'];

/** The first thing that is wrong, with its path; undefined when nothing is. */
export function problemOfResult(result: {
  labels: ReadonlyMap<string, string>;
  annotations: ReadonlyMap<string, string>;
  payload: Payload;
}): string | undefined {
  const problem = problemOfLabels(result.labels) ?? problemOfAnnotations(result.annotations);
  if (problem !== undefined) return problem;
  return problemOfSubsets(result.payload['subsets'] ?? []);
}

/** In words without the value, which may be a secret: what the rules of metadata say would quote it whole. */
function problemOfLabels(labels: ReadonlyMap<string, string>): string | undefined {
  for (const [key, value] of labels) {
    const [ofKey] = labelKeyProblems(key);
    if (ofKey !== undefined) return `metadata.labels: a key of ${key.length} characters is none: ${ofKey}`;
    const [ofValue] = labelValueProblems(value);
    if (ofValue !== undefined) return `metadata.labels["${key}"]: ${ofValue}`;
  }
  return undefined;
}

function problemOfAnnotations(annotations: ReadonlyMap<string, string>): string | undefined {
  for (const key of annotations.keys()) {
    const [problem] = labelKeyProblems(key.toLowerCase());
    if (problem !== undefined) return `metadata.annotations: a key of ${key.length} characters is none: ${problem}`;
  }
  const bytes = annotationBytes(Object.fromEntries(annotations));
  if (bytes <= maxAnnotationBytes) return undefined;
  return `metadata.annotations must have at most ${maxAnnotationBytes} bytes, got ${bytes}`;
}

function problemOfSubsets(subsets: unknown): string | undefined {
  if (!Array.isArray(subsets)) return `subsets must be an array, got ${shapeOf(subsets)}`;
  return firstProblem(subsets, 'subsets', (subset, path) => {
    if (!isPlainObject(subset)) return `${path} must be an object, got ${shapeOf(subset)}`;
    const ports = subset['ports'] ?? [];
    return (
      problemOfAddresses(subset['addresses'], `${path}.addresses`) ??
      problemOfAddresses(subset['notReadyAddresses'], `${path}.notReadyAddresses`) ??
      (Array.isArray(ports)
        ? firstProblem(ports, `${path}.ports`, (port, at) => problemOfPort(port, at, { needsName: ports.length > 1 }))
        : `${path}.ports must be an array, got ${shapeOf(ports)}`)
    );
  });
}

function problemOfAddresses(addresses: unknown, path: string): string | undefined {
  if (addresses === undefined || addresses === null) return undefined;
  if (!Array.isArray(addresses)) return `${path} must be an array, got ${shapeOf(addresses)}`;
  return firstProblem(addresses, path, (address, at) => {
    if (!isPlainObject(address)) return `${at} must be an object, got ${shapeOf(address)}`;
    const { ip, hostname, nodeName, targetRef } = address;
    if (typeof ip !== 'string') return `${at}.ip must be a string, got ${shapeOf(ip)}`;
    const parsed = parseAddress(ip);
    if (parsed.kind === 'invalid') return `${at}.ip must be an IP address, but ${parsed.reason}`;
    if (hostname !== undefined && (typeof hostname !== 'string' || dnsLabelProblems(hostname).length > 0)) {
      return `${at}.hostname must be a DNS label`;
    }
    if (nodeName !== undefined && typeof nodeName !== 'string')
      return `${at}.nodeName must be a string, got ${shapeOf(nodeName)}`;
    if (targetRef !== undefined && !isTextMap(targetRef)) return `${at}.targetRef must be an object of strings`;
    return undefined;
  });
}

function problemOfPort(port: unknown, path: string, { needsName }: { needsName: boolean }): string | undefined {
  if (!isPlainObject(port)) return `${path} must be an object, got ${shapeOf(port)}`;
  const { port: number, protocol, name, appProtocol } = port;
  if (!Number.isInteger(number) || (number as number) < 1 || (number as number) > 65_535) {
    return `${path}.port must be a whole number from 1 to 65535, got ${typeof number === 'number' ? number : shapeOf(number)}`;
  }
  if (protocol !== undefined && !protocols.includes(protocol as string))
    return `${path}.protocol must be TCP, UDP or SCTP`;
  if (name === undefined || name === '') return needsName ? `${path}.name is required beside other ports` : undefined;
  if (typeof name !== 'string' || dnsLabelProblems(name).length > 0) return `${path}.name must be a DNS label`;
  if (appProtocol !== undefined && typeof appProtocol !== 'string') return `${path}.appProtocol must be a string`;
  return undefined;
}

function firstProblem(
  list: readonly unknown[],
  path: string,
  judge: (item: unknown, path: string) => string | undefined,
): string | undefined {
  for (const [at, item] of list.entries()) {
    const problem = judge(item, `${path}[${at}]`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function isTextMap(value: unknown): boolean {
  return isPlainObject(value) && Object.values(value).every((text) => typeof text === 'string');
}
