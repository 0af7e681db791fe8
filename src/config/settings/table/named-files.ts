// Lists the files and folders that the settings name, each with its setting and its position. In: the tree of our own settings. Out: values;
// reading the files is for others, since a configuration may be checked on another machine than the one that has them.
import type { Position } from '../../fault.ts';
import { type SettingsPath, showPath } from '../../yaml/settings-path.ts';
import { isNull, type TreeNode } from '../../yaml/tree.ts';
import { scalarText } from '../../yaml/yaml-scalar.ts';
import { positionOfNode, type Slot, slotTree } from './check.ts';
import type { FileContent } from './rows/setting.ts';

export interface NamedFile {
  /** The setting, as in messages. */
  path: string;
  file: string;
  at: Position;
  /** What the file must hold; `folder` where the setting names a folder. */
  holds: FileContent | 'folder' | undefined;
}

/** `place` is the path of `own`. Defaults are not listed: nobody named them. */
export function namedFiles(own: TreeNode | undefined, place: SettingsPath): NamedFile[] {
  const slot = slotTree().children.get('hostward');
  return own === undefined || slot === undefined ? [] : filesBelow(own, slot, place);
}

/**
 * The setting that names a file or folder; `block` is a checked value, and `path` its place. Two settings may name one file, so
 * `member`, the last key of the setting, decides where it is known.
 */
export function settingNaming(file: string, block: unknown, path: SettingsPath, member?: string): string | undefined {
  if (block === file) return member === undefined || path.at(-1) === member ? showPath(path) : undefined;
  if (typeof block !== 'object' || block === null) return undefined;
  for (const [key, below] of Object.entries(block)) {
    const found = settingNaming(file, below, [...path, Array.isArray(block) ? Number(key) : key], member);
    if (found !== undefined) return found;
  }
  return undefined;
}

function filesBelow(node: TreeNode, slot: Slot, path: SettingsPath): NamedFile[] {
  if (node.kind === 'map')
    return [...node.entries].flatMap(([key, entry]) => {
      const below = slot.children.get(key);
      return below === undefined ? [] : filesBelow(entry.node, below, [...path, key]);
    });
  if (node.kind === 'list') {
    const item = slot.children.get('[]');
    return item === undefined ? [] : node.items.flatMap((one, index) => filesBelow(one, item, [...path, index]));
  }
  const { shape } = slot.setting ?? {};
  if (shape?.kind !== 'text' || (shape.rule !== 'file' && shape.rule !== 'folder') || isNull(node)) return [];
  const holds = shape.rule === 'folder' ? 'folder' : shape.holds;
  return [{ path: showPath(path), file: scalarText(node.value as string), at: positionOfNode(node), holds }];
}
