// Checks the shape and values of an Endpoints or EndpointSlice from a file. In: an object. Out: the faults that would make an API
// server refuse the object, each with its path. The check runs before any translation.
import { validateAnnotations, validateLabels } from '../../object/meta/meta-validation.ts';
import { dnsSubdomainProblems } from '../../object/meta/qualified-name.ts';
import { isRecord } from '../../object/text/json.ts';
import { problemOfPayload } from '../../sync/kinds/endpointslices/validate-payload.ts';

/** What kube-apiserver takes in one request. */
const maxObjectBytes = 3 * 1024 * 1024;

/** Every fault as `path: wanted …, found …`. */
export function shapeFaults(object: Record<string, unknown>): string[] {
  const faults: string[] = [];
  const wanted = object['kind'] === 'EndpointSlice' ? 'discovery.k8s.io/v1' : 'v1';
  if (!isMissing(object['apiVersion']) && object['apiVersion'] !== wanted)
    faults.push(faultText('apiVersion', `"${wanted}"`, object['apiVersion']));
  const metadata = object['metadata'] as Record<string, unknown>;
  for (const field of ['name', 'namespace', 'uid']) text(metadata[field], `metadata.${field}`, faults);
  for (const field of ['labels', 'annotations']) {
    for (const [key, value] of entries(metadata[field], `metadata.${field}`, faults)) {
      if (typeof value !== 'string') {
        const fix = typeof value === 'object' ? '' : '; put it in quotes';
        faults.push(`${faultText(`metadata.${field}["${key}"]`, 'a text', value)}${fix}`);
      }
    }
  }
  list(metadata['ownerReferences'], 'metadata.ownerReferences', faults);
  if (object['kind'] === 'EndpointSlice') sliceFaults(object, faults);
  else subsetFaults(object, faults);
  // Values are judged only where every shape is right.
  if (faults.length === 0 && object['kind'] === 'EndpointSlice') sliceValueFaults(object, faults);
  return faults;
}

function sliceValueFaults(object: Record<string, unknown>, faults: string[]): void {
  const { name, labels, annotations } = object['metadata'] as SliceMeta;
  for (const problem of dnsSubdomainProblems(name ?? '')) faults.push(`metadata.name: ${problem}`);
  const errors = [
    ...validateLabels(labels ?? {}, 'metadata.labels'),
    ...validateAnnotations(annotations ?? {}, 'metadata.annotations'),
  ];
  for (const { path, message } of errors) faults.push(`${path}: ${message}`);
  const problem = problemOfPayload(object);
  if (problem !== undefined) faults.push(problem.message);
  const bytes = Buffer.byteLength(JSON.stringify(object));
  if (bytes > maxObjectBytes) faults.push(`wanted at most ${maxObjectBytes} bytes, found ${bytes}`);
}

interface SliceMeta {
  name?: string | null;
  labels?: Record<string, string> | null;
  annotations?: Record<string, string> | null;
}

function subsetFaults(object: Record<string, unknown>, faults: string[]): void {
  for (const [subset, path] of list(object['subsets'], 'subsets', faults)) {
    for (const field of ['addresses', 'notReadyAddresses']) {
      for (const [address, at] of list(subset[field], `${path}.${field}`, faults)) {
        if (typeof address['ip'] !== 'string') faults.push(faultText(`${at}.ip`, 'an IP address', address['ip']));
        entries(address['targetRef'], `${at}.targetRef`, faults);
      }
    }
    for (const [port, at] of list(subset['ports'], `${path}.ports`, faults)) {
      if (!Number.isInteger(port['port'])) faults.push(faultText(`${at}.port`, 'a number', port['port']));
    }
  }
}

function sliceFaults(object: Record<string, unknown>, faults: string[]): void {
  const { addressType } = object;
  if (!['IPv4', 'IPv6', 'FQDN'].includes(addressType as string))
    faults.push(faultText('addressType', 'IPv4, IPv6 or FQDN', addressType));
  for (const [endpoint, path] of list(object['endpoints'], 'endpoints', faults)) {
    const { addresses } = endpoint;
    if (!Array.isArray(addresses) || !addresses.every((one) => typeof one === 'string'))
      faults.push(faultText(`${path}.addresses`, 'a list of texts', addresses));
    entries(endpoint['targetRef'], `${path}.targetRef`, faults);
    entries(endpoint['conditions'], `${path}.conditions`, faults);
  }
  for (const [port, at] of list(object['ports'], 'ports', faults)) {
    if (!isMissing(port['port']) && !Number.isInteger(port['port']))
      faults.push(faultText(`${at}.port`, 'a number', port['port']));
  }
}

function isMissing(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

function text(value: unknown, path: string, faults: string[]): void {
  if (!isMissing(value) && typeof value !== 'string') faults.push(faultText(path, 'a text', value));
}

function entries(value: unknown, path: string, faults: string[]): [string, unknown][] {
  if (isMissing(value)) return [];
  if (typeof value === 'object' && !Array.isArray(value)) return Object.entries(value);
  faults.push(faultText(path, 'a map', value));
  return [];
}

function list(value: unknown, path: string, faults: string[]): [Record<string, unknown>, string][] {
  if (isMissing(value)) return [];
  if (!Array.isArray(value)) {
    faults.push(faultText(path, 'a list', value));
    return [];
  }
  return value.flatMap((item: unknown, index): [Record<string, unknown>, string][] => {
    if (isRecord(item)) return [[item, `${path}[${index}]`]];
    faults.push(faultText(`${path}[${index}]`, 'a map', item));
    return [];
  });
}

function faultText(path: string, wanted: string, found: unknown): string {
  return `${path}: wanted ${wanted}, found ${found === undefined ? 'nothing' : JSON.stringify(found)?.slice(0, 60)}`;
}
