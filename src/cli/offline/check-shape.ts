// Checks the shape of an Endpoints from a file. In: an object. Out: the faults that would make an API server refuse the object,
// each with its path. The check runs before any translation.
import { isRecord } from '../../object/text/json.ts';

/** Every fault as `path: wanted …, found …`. */
export function shapeFaults(object: Record<string, unknown>): string[] {
  const faults: string[] = [];
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
  return faults;
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
