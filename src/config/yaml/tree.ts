// A configuration as a tree that remembers where everything stands. Trees of several files are laid over each other as
// Helm does it, and every node keeps the place of the file that won.
import type { SettingsPath } from './settings-path.ts';
import type { SourceText } from './source-text.ts';

/** Where a node stands: offsets into the text of its file. */
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
  /** What YAML 1.1 makes of it. */
  value: string | number | boolean | null;
  /** The text before it was made a number or a boolean. */
  text: string;
}

export interface ListNode {
  kind: 'list';
  span: Span;
  items: readonly TreeNode[];
}

export interface MapEntry {
  key: Span;
  /** The key as written: `on`, where YAML 1.1 reads true. */
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

/** The node below a key; undefined where there is none, or where it is null: a null takes a setting away. */
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

/** Maps deeply, everything else replaced by what comes later; a null stays, because it also removes a default. */
export function overlay(lower: TreeNode, upper: TreeNode): TreeNode {
  if (lower.kind !== 'map' || upper.kind !== 'map') return upper;
  const entries = new Map(lower.entries);
  for (const [key, entry] of upper.entries) {
    const below = entries.get(key);
    entries.set(key, below === undefined ? entry : { ...entry, node: overlay(below.node, entry.node) });
  }
  return { kind: 'map', span: upper.span, entries };
}

/** A null-prototype object: keys come from a file that may say __proto__. */
export type PlainObject = Record<string, unknown>;

export function plainObject(): PlainObject {
  return Object.create(null) as PlainObject;
}

/** The bare value; map entries that are null are left out, as Helm leaves them out. */
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

/** The bare value over the given defaults; a null takes the default away. */
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
