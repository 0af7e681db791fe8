// A configuration as a tree whose nodes know their positions. Trees of several files are merged as in Helm, and every node
// keeps the position in the file that won.
import type { SettingsPath } from './settings-path.ts';
import type { SourceText } from './source-text.ts';

/** The position of a node: offsets in the text of its file. */
export interface Span {
  source: SourceText;
  start: number;
  end: number;
}

export type ScalarStyle = 'plain' | 'single' | 'double' | 'literal' | 'folded';

export interface ScalarNode {
  kind: 'scalar';
  span: Span;
  style: ScalarStyle;
  /** The value according to YAML 1.1. */
  value: string | number | boolean | null;
  /** The text before the conversion to a number or a boolean. */
  text: string;
}

export interface ListNode {
  kind: 'list';
  span: Span;
  items: readonly TreeNode[];
}

export interface MapEntry {
  key: Span;
  /** The key as written, e.g. `on`, which YAML 1.1 reads as true. */
  written: string;
  node: TreeNode;
}

export interface MapNode {
  kind: 'map';
  span: Span;
  entries: ReadonlyMap<string, MapEntry>;
}

export type TreeNode = ScalarNode | ListNode | MapNode;

export function isNull(node: TreeNode): boolean {
  return node.kind === 'scalar' && node.value === null;
}

/** The node below a key; undefined when it is absent or null, because a null removes a setting. */
export function child(node: TreeNode | undefined, key: string): TreeNode | undefined {
  const entry = node?.kind === 'map' ? node.entries.get(key) : undefined;
  return entry === undefined || isNull(entry.node) ? undefined : entry.node;
}

export function find(root: TreeNode | undefined, path: SettingsPath): TreeNode | undefined {
  let node = root;
  for (const part of path) {
    if (typeof part === 'string') node = child(node, part);
    else node = node?.kind === 'list' ? node.items[part] : undefined;
  }
  return node;
}

/** Merges maps deeply and replaces all other values. A null is kept, because it also removes a default. */
export function overlay(lower: TreeNode, upper: TreeNode): TreeNode {
  if (lower.kind !== 'map' || upper.kind !== 'map') return upper;
  const entries = new Map(lower.entries);
  for (const [key, entry] of upper.entries) {
    const below = entries.get(key);
    entries.set(key, below === undefined ? entry : { ...entry, node: overlay(below.node, entry.node) });
  }
  return { kind: 'map', span: upper.span, entries };
}

/** An object without a prototype, because a file may contain the key __proto__. */
export type PlainObject = Record<string, unknown>;

export function plainObject(): PlainObject {
  return Object.create(null) as PlainObject;
}

/** The value without positions. Null entries of a map are left out, as in Helm. */
export function toPlain(node: TreeNode): unknown {
  switch (node.kind) {
    case 'scalar':
      return node.value;
    case 'list':
      return node.items.map(toPlain);
    case 'map': {
      const object = plainObject();
      for (const [key, entry] of node.entries) if (!isNull(entry.node)) object[key] = toPlain(entry.node);
      return object;
    }
    default:
      return node satisfies never;
  }
}

/** The value without positions, merged over the defaults; a null removes a default. */
export function toPlainOver(defaults: unknown, node: TreeNode | undefined): unknown {
  if (node === undefined) return defaults;
  if (node.kind !== 'map' || typeof defaults !== 'object' || defaults === null || Array.isArray(defaults))
    return toPlain(node);
  const object = plainObject();
  for (const [key, value] of Object.entries(defaults)) object[key] = value;
  for (const [key, entry] of node.entries) {
    if (isNull(entry.node)) delete object[key];
    else object[key] = toPlainOver(object[key], entry.node);
  }
  return object;
}
