// Settings of an earlier release that Hostward no longer reads. A file with such a setting loads with a warning, so that an
// update does not stop the daemon. Each entry stays here for one release.
import { type Fault, warning } from '../../fault.ts';
import { type SettingsPath, showPath } from '../../yaml/settings-path.ts';
import { find, type MapNode, type TreeNode } from '../../yaml/tree.ts';
import { topLevel, underGlobal } from '../own-settings.ts';

/** Keys under `hostward`, and the reason that the user reads. */
export const retiredSettings: ReadonlyMap<string, string> = new Map([
  ['sandbox', 'every expression runs in the sandbox now'],
]);

/** The tree of one file without retired settings, and a warning for each of them. */
export function withoutRetired(root: MapNode): { root: MapNode; warnings: Fault[] } {
  const warnings: Fault[] = [];
  let rest: MapNode = root;
  for (const place of [topLevel, underGlobal]) {
    const own = find(rest, place);
    if (own?.kind !== 'map') continue;
    const entries = new Map(own.entries);
    for (const [key, reason] of retiredSettings) {
      const entry = own.entries.get(key);
      if (entry === undefined) continue;
      entries.delete(key);
      const at = entry.key.source.positionAt(entry.key.start);
      const sentence = `Hostward no longer has this setting: ${reason}`;
      const parts = { code: 'CONFIG_RETIRED', at, path: showPath([...place, key]), sentence };
      warnings.push(warning({ ...parts, fix: 'remove the setting' }));
    }
    if (entries.size < own.entries.size) rest = replaced(rest, place, { ...own, entries }) as MapNode;
  }
  return { root: rest, warnings };
}

/** A copy of the tree with another node at a path of maps. */
function replaced(root: TreeNode, [key, ...below]: SettingsPath, node: TreeNode): TreeNode {
  if (root.kind !== 'map' || typeof key !== 'string') return node;
  const entry = root.entries.get(key);
  if (entry === undefined) return root;
  const entries = new Map(root.entries);
  return { ...root, entries: entries.set(key, { ...entry, node: replaced(entry.node, below, node) }) };
}
