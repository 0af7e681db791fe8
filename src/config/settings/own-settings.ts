// Our own settings may stand in two places: top-level `hostward` in a file of our own, `global.hostward` in a vcluster.yaml
// that vCluster reads too. Here the two become one, and what vCluster's strict parser would refuse is said.

import { editDistance } from '../../object/meta/nearest-key.ts';
import { type Fault, fault, quoted, warning } from '../fault.ts';
import { type SettingsPath, showPath } from '../yaml/settings-path.ts';
import { child, find, type MapEntry, type MapNode, overlay, type TreeNode, toPlain } from '../yaml/tree.ts';

export const topLevel: SettingsPath = ['hostward'];
export const underGlobal: SettingsPath = ['global', 'hostward'];

/** Keys that a file of our own may have at its top; any other makes it a file that vCluster reads too. */
const ownSections = new Set(['hostward', 'global', 'sync']);

export function isVclusterFile(root: MapNode): boolean {
  return [...root.entries.keys()].some((key) => !ownSections.has(key));
}

/** Where both places have it; values that differ are a fault, because no file order says which of the two was meant. */
export function joinOwn(root: TreeNode | undefined): { own: TreeNode | undefined; faults: Fault[] } {
  const top = find(root, topLevel);
  const global = find(root, underGlobal);
  if (top === undefined || global === undefined) return { own: top ?? global, faults: [] };
  const faults: Fault[] = [];
  compare(top, global, [], faults);
  return { own: overlay(global, top), faults };
}

function compare(top: TreeNode, global: TreeNode, path: SettingsPath, faults: Fault[]): void {
  if (top.kind === 'map' && global.kind === 'map') {
    for (const [key, entry] of top.entries) {
      const other = child(global, key);
      if (other !== undefined) compare(entry.node, other, [...path, key], faults);
    }
    return;
  }
  if (JSON.stringify(toPlain(top)) === JSON.stringify(toPlain(global))) return;
  const other = global.span.source.positionAt(global.span.start);
  faults.push(
    fault({
      code: 'CONFIG_CONFLICT',
      at: top.span.source.positionAt(top.span.start),
      path: showPath([...topLevel, ...path]),
      sentence: `${showPath([...underGlobal, ...path])} says something else (${other.file}:${other.line}:${other.column})`,
      fix: 'remove one of the two',
    }),
  );
}

/** vCluster refuses every key it does not know, but for what stands under global. */
export function strictParserWarnings(root: MapNode): Fault[] {
  if (!isVclusterFile(root)) return [];
  const refused = (entry: MapEntry, path: SettingsPath, fix: string): Fault => {
    const at = entry.key.source.positionAt(entry.key.start);
    const sentence = 'vCluster refuses to start with this key in a file that it reads';
    return warning({ code: 'CONFIG_VCLUSTER_REFUSES', at, path: showPath(path), sentence, fix });
  };
  const warnings: Fault[] = [];
  const own = root.entries.get('hostward');
  if (own !== undefined) warnings.push(refused(own, topLevel, 'move it under global, or into a file of its own'));
  const listPath = ['sync', 'toHost', 'endpoints', 'patches'];
  const list = find(root, listPath);
  for (const [index, item] of list?.kind === 'list' ? list.items.entries() : []) {
    for (const keys of [['onMissing'], ['onError'], ['reference', 'naming']]) {
      const parent = find(item, keys.slice(0, -1));
      const entry = parent?.kind === 'map' ? parent.entries.get(keys.at(-1) as string) : undefined;
      const fix = 'put the patches into a file of their own and give --config twice';
      if (entry !== undefined) warnings.push(refused(entry, [...listPath, index, ...keys], fix));
    }
  }
  return warnings;
}

/** Top-level keys of the values that vCluster had before 0.20, and has no more. */
const formerSections: ReadonlySet<string> = new Set([
  ...['syncer', 'vcluster', 'mapServices', 'isolation', 'fallbackHostDns', 'hostpathMapper', 'multiNamespaceMode'],
  ...['enableHA', 'etcd', 'scheduler', 'headless', 'globalAnnotations', 'noopSyncer', 'embeddedEtcd', 'openshift'],
  ...['autoDeletePersistentVolumeClaims', 'workloadServiceAccount', 'coredns', 'storage'],
]);

/** Right under `sync`, where each kind had its switch before 0.20. */
const formerKinds: ReadonlySet<string> = new Set([
  ...['services', 'configmaps', 'secrets', 'endpoints', 'pods', 'events', 'nodes', 'persistentvolumeclaims'],
  ...['persistentvolumes', 'ingresses', 'ingressclasses', 'storageclasses', 'hoststorageclasses', 'priorityclasses'],
  ...['networkpolicies', 'volumesnapshots', 'poddisruptionbudgets', 'serviceaccounts', 'csinodes', 'csidrivers'],
  ...['csistoragecapacities', 'namespaces', 'generic'],
]);

/** One or two may belong to a chart around vCluster's. */
const enoughFormerKeys = 3;

function formerValueFaults(root: MapNode): Fault[] {
  const sync = child(root, 'sync');
  const hasKinds = sync?.kind === 'map' && [...sync.entries.keys()].some((key) => formerKinds.has(key));
  const found = [...root.entries.keys()].filter((key) => formerSections.has(key) || (key === 'sync' && hasKinds));
  const [first] = found;
  const isOfToday = root.entries.has('controlPlane') || find(root, ['sync', 'toHost']) !== undefined;
  if (first === undefined || isOfToday || found.length < enoughFormerKeys) return [];
  const key = root.entries.get(first)?.key;
  const at = key?.source.positionAt(key.start);
  const named = found.slice(0, enoughFormerKeys).join(', ');
  const sentence = `these are values of a vCluster before 0.20 (${named}), which nothing here reads`;
  const fix = 'make a vcluster.yaml of them: vcluster convert config --distro k3s -f FILE';
  return [fault({ code: 'CONFIG_FORMER_VALUES', at, path: '', sentence, fix })];
}

/** Where people put what is read below sync.toHost; right under sync it stood before vCluster 0.20. */
const misplaced: { path: string[]; wanted: string; where: string; fix: string }[] = [
  ...['endpoints', 'namespaces'].flatMap((key) => [
    { path: ['sync', key], wanted: `sync.toHost.${key}`, where: 'right under sync', fix: 'move it below toHost' },
    {
      path: ['sync', 'fromHost', key],
      wanted: `sync.toHost.${key}`,
      where: 'under fromHost',
      fix: 'move it below toHost',
    },
  ]),
  { path: ['toHost'], wanted: 'sync.toHost', where: 'at the top', fix: 'move it below sync' },
  { path: ['endpoints'], wanted: 'sync.toHost.endpoints', where: 'at the top', fix: 'move it below sync and toHost' },
  ...[
    { path: ['patches'], where: 'at the top' },
    { path: ['sync', 'patches'], where: 'right under sync' },
    { path: ['sync', 'toHost', 'patches'], where: 'right under toHost' },
  ].map((place) => ({
    ...place,
    wanted: 'sync.toHost.endpoints.patches',
    fix: 'move it below sync, toHost and endpoints',
  })),
];

/** More than any setting has. */
const mostLevels = 10;

/** Keys that go on with a dot are one key to YAML; below these maps a level was meant. */
const oneKeyForMany: readonly [path: string[], begins: RegExp][] = [
  [[], /^(?:sync|hostward|global)\./],
  [['global'], /^hostward\./],
  [['sync'], /^toHost\./],
  [['sync', 'toHost'], /^(?:endpoints|namespaces)\./],
];

/** Patches that nothing reads are faults: the host would show every value as it is in the virtual cluster. */
function misplacedKeys(root: MapNode): Fault[] {
  const warnings: Fault[] = [];
  const partsAt = (entry: MapEntry, path: SettingsPath) => {
    const at = entry.key.source.positionAt(entry.key.start);
    return { code: 'CONFIG_MISPLACED_KEY', at, path: showPath(path) };
  };
  const warn = (entry: MapEntry, path: SettingsPath, parts: { sentence: string; fix: string }) => {
    warnings.push(warning({ ...partsAt(entry, path), ...parts }));
  };
  for (const { path, wanted, where, fix } of misplaced) {
    const parent = find(root, path.slice(0, -1));
    const key = path.at(-1) as string;
    const entry = parent?.kind === 'map' ? parent.entries.get(key) : undefined;
    if (entry === undefined) continue;
    const sentence = `${key} stands ${where}, where nothing reads it`;
    const parts = { ...partsAt(entry, path), sentence, fix: `${fix}: ${wanted}` };
    warnings.push(holdsPatches(key, entry.node) ? fault(parts) : warning(parts));
  }
  for (const [path, begins] of oneKeyForMany) {
    const parent = find(root, path);
    for (const [key, entry] of parent?.kind === 'map' ? parent.entries : []) {
      if (!begins.test(key)) continue;
      const levels = key.split('.', mostLevels);
      const fix = `write ${levels.join(': {')}: …${'}'.repeat(levels.length - 1)}`;
      const sentence = `${quoted(key)} is one key, and maps inside each other are wanted`;
      warn(entry, [...path, key], { sentence, fix });
    }
  }
  for (const [key, entry] of root.entries) {
    // The values of a chart that has vCluster's in it.
    const inside = entry.node.kind === 'map' && !ownSections.has(key) ? entry.node : undefined;
    if (find(inside, ['sync', 'toHost']) === undefined && child(inside, 'hostward') === undefined) continue;
    const sentence = `settings stand below ${quoted(key)}, where nothing reads them`;
    warn(entry, [key], { sentence, fix: `give what stands below ${quoted(key)} as a file of its own` });
  }
  return warnings;
}

function holdsPatches(key: string, node: TreeNode): boolean {
  if (key === 'patches') return true;
  return [['patches'], ['endpoints', 'patches']].some((path) => find(node, path) !== undefined);
}

/** A manifest around the settings would be taken for settings of others, and leave every one of ours at its default. */
function manifestWarnings(root: MapNode): Fault[] {
  const [apiVersion, kind] = [root.entries.get('apiVersion'), root.entries.get('kind')];
  if (apiVersion === undefined || kind?.node.kind !== 'scalar') return [];
  const at = kind.key.source.positionAt(kind.key.start);
  const sentence = `this is a Kubernetes object (${quoted(kind.node.text)}), with settings inside it at best`;
  const fix = 'give the text that stands inside it';
  return [warning({ code: 'CONFIG_MANIFEST', at, path: 'kind', sentence, fix })];
}

/** Keys and files that would pass unread, though something was meant by them: faults and warnings. */
export function unreadKeys(root: MapNode): Fault[] {
  const ofWhole = [...manifestWarnings(root), ...formerValueFaults(root)];
  return ofWhole.length > 0 ? ofWhole : [...misspeltWarnings(root), ...misplacedKeys(root)];
}

/** A misspelt `hostward` or `endpoints` would pass as one of the many keys of vCluster that we do not read. */
function misspeltWarnings(root: MapNode): Fault[] {
  const places: { path: string[]; names: string[] }[] = [
    { path: [], names: ['hostward', 'sync', 'global'] },
    { path: ['global'], names: ['hostward'] },
    { path: ['sync'], names: ['toHost'] },
    { path: ['sync', 'toHost'], names: ['endpoints', 'namespaces'] },
  ];
  const warnings: Fault[] = [];
  for (const { path, names } of places) {
    const map = find(root, path);
    if (map?.kind !== 'map') continue;
    for (const [key, entry] of map.entries) {
      // Letter case alone is a fault, and found with the unknown keys.
      const isNear = (name: string) => key.toLowerCase() !== name.toLowerCase() && editDistance(key, name, 3) < 3;
      const isKnown = names.includes(key) || formerSections.has(key);
      const near = isKnown ? undefined : names.find(isNear);
      if (near === undefined) continue;
      const at = entry.key.source.positionAt(entry.key.start);
      const sentence = `nothing reads ${quoted(key)}`;
      const code = 'CONFIG_MISSPELT_KEY';
      warnings.push(warning({ code, at, path: showPath([...path, key]), sentence, fix: `did you mean ${near}?` }));
    }
  }
  return warnings;
}
