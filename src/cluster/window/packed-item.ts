// Stores an item as two texts, because ten thousand parsed objects need three times the memory of their texts. The first text
// is the metadata: it seldom changes, and an unchanged text is kept. The second text is the version and the payload. Neither
// text holds the key, because the cache already stores the item under its key. Pure.
import { type Key, splitKey } from '../../object/meta/object.ts';
import type { Item } from './window.ts';

export interface PackedItem {
  /** `["<mark>",{…}]`: the item without its key, its version and its payload. */
  metadata: string;
  /** `["<resource version>",{…}]`. */
  payload: string;
  /** The start of the last list whose head of this object was equal, in whole monotonic milliseconds. */
  provenMs: number | undefined;
}

/** The fields of the payload; all other fields are metadata. */
export type PayloadFields = readonly string[];

/** `known` is the packed item before the change: an equal metadata text is shared, not stored twice. */
export function packItem(item: Item, fields: PayloadFields, known: PackedItem | undefined): PackedItem {
  const { namespace, name, resourceVersion, mark } = item;
  const members = item as unknown as Record<string, unknown>;
  const payload: Record<string, unknown> = {};
  // A deleted member would turn the item into a slow hash table, so the members are set to undefined.
  members['namespace'] = undefined;
  members['name'] = undefined;
  members['resourceVersion'] = undefined;
  if (mark !== undefined) item.mark = undefined;
  for (const field of fields) {
    if (members[field] === undefined) continue;
    payload[field] = members[field];
    members[field] = undefined;
  }
  const text = JSON.stringify([mark ?? '', item]);
  item.namespace = namespace;
  item.name = name;
  item.resourceVersion = resourceVersion;
  if (mark !== undefined) item.mark = mark;
  for (const field in payload) members[field] = payload[field];
  return {
    metadata: known?.metadata === text ? known.metadata : text,
    payload: JSON.stringify([resourceVersion, payload]),
    provenMs: undefined,
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
  // Our own marks need no escapes, but a mark made from a tenant's text may have them.
  const to = metadata.indexOf('"', 2);
  const isPlain = metadata.startsWith('",{', to) && !metadata.slice(2, to).includes('\\');
  return isPlain ? metadata.slice(2, to) : (JSON.parse(metadata) as [string, string])[0];
}

/** Whether the item is the version of the object that a list names. */
export function hasHead(packed: PackedItem, head: { uid: string; resourceVersion: string }): boolean {
  return versionOf(packed) === head.resourceVersion && packed.metadata.includes(`"uid":${JSON.stringify(head.uid)}`);
}

/** Whether two packed items are equal apart from their versions. */
export function isSameContent(a: PackedItem, b: PackedItem): boolean {
  if (a.metadata !== b.metadata) return false;
  const fromA = a.payload.indexOf('"', 2);
  const fromB = b.payload.indexOf('"', 2);
  return a.payload.length - fromA === b.payload.length - fromB && a.payload.slice(fromA) === b.payload.slice(fromB);
}
