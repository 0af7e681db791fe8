// An item as two texts, because ten thousand parsed objects cost three times the memory of their texts: its metadata, which
// seldom change and are then kept as they are, and its version with its payload. Its key, under which it is kept, is in
// neither. Pure.
import { type Key, splitKey } from '../../object/meta/object.ts';
import type { Item } from './window.ts';

export interface PackedItem {
  /** `["<mark>",{…}]`: all of the item but its key, its version and its payload. */
  metadata: string;
  /** `["<resource version>",{…}]`. */
  payload: string;
}

/** Fields that are the payload; the others are metadata. */
export type PayloadFields = readonly string[];

/** `known`: as the item was before; what is still the same of it is shared. */
export function packItem(item: Item, fields: PayloadFields, known: PackedItem | undefined): PackedItem {
  const { namespace, name, resourceVersion, mark } = item;
  const parts = item as unknown as Record<string, unknown>;
  const payload: Record<string, unknown> = {};
  // Not deleted: that would make a slow object of it.
  parts['namespace'] = undefined;
  parts['name'] = undefined;
  parts['resourceVersion'] = undefined;
  if (mark !== undefined) item.mark = undefined;
  for (const field of fields) {
    if (parts[field] === undefined) continue;
    payload[field] = parts[field];
    parts[field] = undefined;
  }
  const text = JSON.stringify([mark ?? '', item]);
  item.namespace = namespace;
  item.name = name;
  item.resourceVersion = resourceVersion;
  if (mark !== undefined) item.mark = mark;
  for (const field in payload) parts[field] = payload[field];
  return {
    metadata: known?.metadata === text ? known.metadata : text,
    payload: JSON.stringify([resourceVersion, payload]),
  };
}

export function unpackItem<T extends Item>(key: Key, packed: PackedItem): T {
  const [mark, item] = JSON.parse(packed.metadata) as [string, T];
  const [resourceVersion, payload] = JSON.parse(packed.payload) as [string, Partial<T>];
  const { namespace, name } = splitKey(key);
  Object.assign(item, payload);
  item.namespace = namespace;
  item.name = name;
  item.resourceVersion = resourceVersion;
  if (mark !== '') item.mark = mark;
  return item;
}

export function versionOf({ payload }: PackedItem): string {
  return payload.slice(2, payload.indexOf('"', 2));
}

export function markOf({ metadata }: PackedItem): string {
  // Nothing of our own is ever escaped; what others wrote may be.
  const to = metadata.indexOf('"', 2);
  const isPlain = metadata.startsWith('",{', to) && !metadata.slice(2, to).includes('\\');
  return isPlain ? metadata.slice(2, to) : (JSON.parse(metadata) as [string, string])[0];
}

/** Whether two differ in their version at most. */
export function isSameContent(a: PackedItem, b: PackedItem): boolean {
  if (a.metadata !== b.metadata) return false;
  const fromA = a.payload.indexOf('"', 2);
  const fromB = b.payload.indexOf('"', 2);
  return a.payload.length - fromA === b.payload.length - fromB && a.payload.slice(fromA) === b.payload.slice(fromB);
}
