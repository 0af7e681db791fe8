// Stores an item as text, because ten thousand parsed objects need three times the memory of their texts. The text lacks the key,
// because the cache already stores the item under its key. An item keeps the values of its text; the outline around them, and the values
// that many items have, are shared. Pure.
import { type Key, splitKey } from '../../object/meta/object.ts';
import { cutText, gap, joinText, joinValues, type Outline, type Outlines } from './text/outline.ts';
import type { Item } from './window.ts';

export interface PackedItem {
  /** Of `["<resource version>","<mark>","<uid>",{…}]`. */
  values: string;
  outline: Outline;
  /** The start of the last list whose head of this object was equal, in whole monotonic milliseconds. */
  provenMs: number | undefined;
}

/** The version, the mark and the uid are read without the outline. */
const wholeValues = 3;

/** `known` is the packed item before the change: an equal text is shared, not stored twice. */
export function packItem(item: Item, outlines: Outlines, known: PackedItem | undefined): PackedItem {
  const { namespace, name, uid, resourceVersion, mark } = item;
  // A deleted member would turn the item into a slow hash table, so the members are set to undefined.
  Object.assign(item, unnamed);
  if (mark !== undefined) item.mark = undefined;
  const cut = cutText(JSON.stringify([resourceVersion, mark ?? '', uid, item]));
  item.namespace = namespace;
  item.name = name;
  item.uid = uid;
  item.resourceVersion = resourceVersion;
  if (mark !== undefined) item.mark = mark;
  const outline = outlines.shared(cut);
  const values = joinValues(cut.values, outline, wholeValues);
  return { values: known?.values === values ? known.values : values, outline, provenMs: undefined };
}

const unnamed = { namespace: undefined, name: undefined, uid: undefined, resourceVersion: undefined };

export function unpackItem<T extends Item>(key: Key, packed: PackedItem): T {
  const [resourceVersion, mark, uid, item] = JSON.parse(textOf(packed)) as [string, string, string, T];
  const { namespace, name } = splitKey(key);
  item.namespace = namespace;
  item.name = name;
  item.uid = uid;
  item.resourceVersion = resourceVersion;
  if (mark !== '') item.mark = mark;
  return item;
}

/** A version needs no escapes. */
export function versionOf({ values }: PackedItem): string {
  return values.slice(1, values.indexOf('"', 1));
}

export function markOf({ values }: PackedItem): string {
  return textAt(values, values.indexOf(gap) + 1);
}

function uidOf({ values }: PackedItem): string {
  return textAt(values, values.indexOf(gap, values.indexOf(gap) + 1) + 1);
}

/** Our own marks need no escapes, but a mark made from a tenant's text may have them. */
function textAt(values: string, start: number): string {
  const end = values.indexOf(gap, start);
  const value = values.slice(start, end < 0 ? undefined : end);
  return value.includes('\\') ? (JSON.parse(value) as string) : value.slice(1, -1);
}

/** Whether the item is the version of the object that a list names. */
export function hasHead(packed: PackedItem, head: { uid: string; resourceVersion: string }): boolean {
  return versionOf(packed) === head.resourceVersion && uidOf(packed) === head.uid;
}

/** Whether two packed items are equal apart from their versions. */
export function isSameContent(a: PackedItem, b: PackedItem): boolean {
  if (a.outline.text !== b.outline.text) return false;
  // An outline that was forgotten in between has another sample.
  if (a.outline !== b.outline) return afterVersion(textOf(a)) === afterVersion(textOf(b));
  return afterVersion(a.values) === afterVersion(b.values);
}

function textOf({ outline, values }: PackedItem): string {
  return joinText(outline, values);
}

/** A version needs no escapes, and the text before it is a bracket and a quote at most. */
function afterVersion(text: string): string {
  return text.slice(text.indexOf('"', 2));
}
