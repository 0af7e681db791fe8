// Our own settings have two places: top-level `hostward` in a file of our own, and `global.hostward` in a vcluster.yaml that
// vCluster reads too. This file merges both places, and warns of keys that the strict parser of vCluster refuses.

import { type Fault, fault, quoted, warning } from '../fault.ts';
import { type SettingsPath, showPath } from '../yaml/settings-path.ts';
import { child, find, type MapEntry, type MapNode, overlay, type TreeNode, toPlain } from '../yaml/tree.ts';
import { formerValueFaults } from './former-values.ts';
import { misspeltKeys } from './misspelt-keys.ts';

export const topLevel: SettingsPath = ['hostward'];
export const underGlobal: SettingsPath = ['global', 'hostward'];

/** The top-level keys of a file of our own; any other key shows a file that vCluster reads too. */
const ownSections = new Set(['hostward', 'global', 'sync']);

export function isVclusterFile(root: MapNode): boolean {
  return [...root.entries.keys()].some((key) => !ownSections.has(key));
}

/** Merges both places. Different values for one setting are a fault, because neither place has priority. */
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
      sentence: `${showPath([...underGlobal, ...path])} has a different value (${other.file}:${other.line}:${other.column})`,
      fix: 'remove one of the two',
    }),
  );
}

/** The keys below sync.toHost with patches that Hostward runs. */
const patchedKinds = ['endpoints', 'endpointSlices'];

/** vCluster refuses every unknown key, except under global. */
export function strictParserWarnings(root: MapNode): Fault[] {
  if (!isVclusterFile(root)) return [];
  const refused = (entry: MapEntry, path: SettingsPath, fix: string): Fault => {
    const at = entry.key.source.positionAt(entry.key.start);
    const sentence = 'vCluster refuses to start with this key in a file that it reads';
    return warning({ code: 'CONFIG_VCLUSTER_REFUSES', at, path: showPath(path), sentence, fix });
  };
  const warnings: Fault[] = [];
  const own = root.entries.get('hostward');
  if (own !== undefined) warnings.push(refused(own, topLevel, 'move it under global, or into a separate file'));
  for (const kind of patchedKinds)
    warnings.push(...refusedInPatches(root, ['sync', 'toHost', kind, 'patches'], refused));
  return warnings;
}

function refusedInPatches(
  root: MapNode,
  listPath: SettingsPath,
  refused: (entry: MapEntry, path: SettingsPath, fix: string) => Fault,
): Fault[] {
  const warnings: Fault[] = [];
  const list = find(root, listPath);
  for (const [index, item] of list?.kind === 'list' ? list.items.entries() : []) {
    for (const keys of [['onMissing'], ['onError'], ['reference', 'naming']]) {
      const parent = find(item, keys.slice(0, -1));
      const entry = parent?.kind === 'map' ? parent.entries.get(keys.at(-1) as string) : undefined;
      const fix = 'put the patches into a separate file and give --config twice';
      if (entry !== undefined) warnings.push(refused(entry, [...listPath, index, ...keys], fix));
    }
  }
  return warnings;
}

/** Wrong places for the settings of sync.toHost. Before vCluster 0.20 they were directly under sync. */
const misplaced: { path: string[]; wanted: string; where: string; fix: string }[] = [
  ...[...patchedKinds, 'namespaces'].flatMap((key) => [
    { path: ['sync', key], wanted: `sync.toHost.${key}`, where: 'directly under sync', fix: 'move it below toHost' },
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
    { path: ['sync', 'patches'], where: 'directly under sync' },
    { path: ['sync', 'toHost', 'patches'], where: 'directly under toHost' },
  ].map((place) => ({
    ...place,
    wanted: 'sync.toHost.endpoints.patches',
    fix: 'move it below sync, toHost and endpoints',
  })),
];

/** No setting has more levels. */
const mostLevels = 10;

/** YAML reads a key with dots as one key; in these maps the user meant nested keys. */
const oneKeyForMany: readonly [path: string[], begins: RegExp][] = [
  [[], /^(?:sync|hostward|global)\./],
  [['global'], /^hostward\./],
  [['sync'], /^toHost\./],
  [['sync', 'toHost'], /^(?:endpoints|endpointSlices|namespaces)\./],
];

/** Settings that Hostward would leave out; below any other key with dots are settings of vCluster or of a chart. */
const ofHostward = /^(?:global\.)?hostward\.|^sync\.toHost(?:$|\.(?:endpoints|endpointSlices|namespaces)(?:$|\.))/;

/** Misplaced patches are faults, not warnings: without them the host would show the unpatched values. */
function misplacedKeys(root: MapNode): Fault[] {
  const found: Fault[] = [];
  const partsAt = (entry: MapEntry, path: SettingsPath) => {
    const at = entry.key.source.positionAt(entry.key.start);
    return { code: 'CONFIG_MISPLACED_KEY', at, path: showPath(path) };
  };
  for (const { path, wanted, where, fix } of misplaced) {
    const parent = find(root, path.slice(0, -1));
    const key = path.at(-1) as string;
    const entry = parent?.kind === 'map' ? parent.entries.get(key) : undefined;
    if (entry === undefined) continue;
    const sentence = `${quoted(key)} is ${where}, where Hostward does not read it`;
    const parts = { ...partsAt(entry, path), sentence, fix: `${fix}: ${wanted}` };
    found.push(holdsPatches(key, entry.node) ? fault(parts) : warning(parts));
  }
  for (const [path, begins] of oneKeyForMany) {
    const parent = find(root, path);
    for (const [key, entry] of parent?.kind === 'map' ? parent.entries : []) {
      if (!begins.test(key)) continue;
      const levels = key.split('.', mostLevels);
      const fix = `write ${levels.join(': {')}: …${'}'.repeat(levels.length - 1)}`;
      const sentence = `${quoted(key)} is a single key, but nested maps are needed`;
      const parts = { ...partsAt(entry, [...path, key]), sentence, fix };
      found.push(ofHostward.test([...path, key].join('.')) ? fault(parts) : warning(parts));
    }
  }
  for (const [key, entry] of root.entries) {
    // The file may hold the values of a chart that contains the vCluster chart.
    const inside = entry.node.kind === 'map' && !ownSections.has(key) ? entry.node : undefined;
    if (find(inside, ['sync', 'toHost']) === undefined && child(inside, 'hostward') === undefined) continue;
    const sentence = `there are settings below ${quoted(key)}, where Hostward does not read them`;
    const fix = `put the content of ${quoted(key)} into a separate file`;
    found.push(warning({ ...partsAt(entry, [key]), sentence, fix }));
  }
  return found;
}

function holdsPatches(key: string, node: TreeNode): boolean {
  if (key === 'patches') return true;
  return [['patches'], ...patchedKinds.map((kind) => [kind, 'patches'])].some((path) => find(node, path) !== undefined);
}

/** Inside a manifest the settings would not be read, and every setting of ours would have its default. */
function manifestFaults(root: MapNode): Fault[] {
  const [apiVersion, kind] = [root.entries.get('apiVersion'), root.entries.get('kind')];
  if (apiVersion === undefined || kind?.node.kind !== 'scalar') return [];
  const at = kind.key.source.positionAt(kind.key.start);
  const sentence = `this is a Kubernetes object (${quoted(kind.node.text)}), not a configuration`;
  const data = child(root, 'data');
  const texts = data?.kind === 'map' ? [...data.entries.values()].map(({ written }) => quoted(written)) : [];
  const fix =
    texts.length === 0
      ? 'give a file with the settings inside the object'
      : `write the text below data and ${texts.slice(0, shownTexts).join(' or ')} into a file of its own`;
  return [fault({ code: 'CONFIG_MANIFEST', at, path: 'kind', sentence, fix })];
}

/** A ConfigMap of a whole program may hold many texts. */
const shownTexts = 3;

/** Faults and warnings about keys and files that would silently have no effect. */
export function unreadKeys(root: MapNode): Fault[] {
  const ofWhole = [...manifestFaults(root), ...formerValueFaults(root)];
  if (ofWhole.length > 0) return ofWhole;
  const misspelt = misspeltKeys(root);
  // What is below a misspelt name is in the right place.
  return [...misspelt, ...misplacedKeys(root).filter(({ path }) => misspelt.every((one) => one.path !== path))];
}
