// The rules for patch entries beyond their types: one mode per entry, one entry per path and direction, references only to
// kinds with translatable names. Paths and expressions are compiled elsewhere.

import { nearestKey } from '../../../object/meta/nearest-key.ts';
import { type Fault, fault, quoted } from '../../fault.ts';
import { type SettingsPath, showPath } from '../../yaml/settings-path.ts';
import { find, type ListNode, type TreeNode } from '../../yaml/tree.ts';
import type { PatchEntry } from '../settings.ts';
import { positionOfNode } from './check.ts';

/** The requirements list these kinds. The list is here, so that the engine of sync/ names no kind that it syncs. */
export const referenceKinds: readonly string[] = [
  'Service',
  'Pod',
  'Secret',
  'ConfigMap',
  'ServiceAccount',
  'PersistentVolumeClaim',
  'Endpoints',
];

/** Kinds that Hostward copies to the host; for all other kinds only the name is translated. */
export const keptKinds: readonly string[] = ['Secret', 'ConfigMap'];

/** Kinds of default/kubernetes, the API server of the virtual cluster. vCluster names their host copies by another rule. */
export const apiServerKinds: readonly string[] = ['Service', 'Endpoints'];

/** Each patch runs for every object, and a thousand expressions use up the sandbox time of one object. */
export const maxPatches = 1_000;

/** A checked entry with its index in the list. */
export interface CheckedPatch {
  index: number;
  entry: PatchEntry;
}

interface RawPatch {
  path?: string;
  expression?: string;
  reverseExpression?: string;
  reference?: Partial<NonNullable<PatchEntry['reference']>>;
  labels?: object;
  onMissing: PatchEntry['onMissing'];
  onError: PatchEntry['onError'];
}

/** `values` come from the checker, undefined for a node that is not a map; `found` holds the faults of the checker. */
export function checkPatches(
  list: TreeNode | undefined,
  values: readonly unknown[],
  options: { listPath: SettingsPath; found: readonly Fault[] },
): { patches: CheckedPatch[]; mistaken: CheckedPatch[]; faults: Fault[] } {
  const { listPath } = options;
  const nodes = list?.kind === 'list' ? list : undefined;
  const faults: Fault[] = [];
  const patches: CheckedPatch[] = [];
  const mistaken: CheckedPatch[] = [];
  const isFoundBelow = placesOf(options.found);
  const beyond = nodes?.items[maxPatches];
  if (beyond !== undefined) faults.push(tooMany(beyond, values.length, listPath));
  for (const [index, value] of values.slice(0, maxPatches).entries()) {
    const node = nodes?.items[index];
    if (value === undefined || node === undefined) continue;
    const raw = value as RawPatch;
    const path = [...listPath, index];
    const shown = showPath(path);
    const isFound = isFoundBelow(shown);
    const broken = [
      ...modeFaults(raw, { node, path, isFound }),
      ...referenceFaults(raw, { node, path, isFound: isFoundBelow(`${shown}.reference`) }),
    ];
    faults.push(...broken);
    const isMistaken = isFound || broken.length > 0 || raw.path === undefined;
    // An entry without a path gets the empty path, which is always valid, so that its expression is checked too.
    (isMistaken ? mistaken : patches).push({ index, entry: entryOf(raw, raw.path ?? '') });
  }
  if (nodes !== undefined) faults.push(...duplicateFaults(patches, nodes, listPath));
  return { patches, mistaken, faults };
}

function tooMany(node: TreeNode, count: number, listPath: SettingsPath): Fault {
  const sentence = `the list has ${count} patches, but at most ${maxPatches} are allowed`;
  const fix = 'join patches that differ only in their keys into one with "*"';
  return fault({ code: 'CONFIG_PATCH_COUNT', at: positionOfNode(node), path: showPath(listPath), sentence, fix });
}

/** Returns a test for faults at a path or below it. Built once, because a file may have a fault in every line. */
function placesOf(found: readonly Fault[]): (place: string) => boolean {
  const places = new Set<string>();
  for (const { path } of found) {
    for (let end = path.indexOf('.'); end >= 0; end = path.indexOf('.', end + 1)) places.add(path.slice(0, end));
    places.add(path);
  }
  return (place) => places.has(place);
}

/** YAML removes the quotes of "" and reads a key without a value as null, so a user may have meant an expression. */
const blankFix = `add one; the expression "null", in quotes, removes the field, and '""' sets an empty text`;

function modesOf(raw: RawPatch): string[] {
  const modes: string[] = [];
  if (raw.expression || raw.reverseExpression) modes.push(raw.expression ? 'expression' : 'reverseExpression');
  if (raw.reference !== undefined) modes.push('reference');
  if (raw.labels !== undefined) modes.push('labels');
  return modes;
}

/** isFound: the entry already has a fault, so that a misspelt key is not reported as a missing key too. */
interface EntryPlace {
  node: TreeNode;
  path: SettingsPath;
  isFound: boolean;
}

function modeFaults(raw: RawPatch, { node, path, isFound }: EntryPlace): Fault[] {
  const modes = modesOf(raw);
  if (modes.length === 1 || (modes.length === 0 && isFound)) return [];
  const wanted = 'one of expression (with or without reverseExpression), reference, labels';
  const found = modes.length === 0 ? 'none' : modes.join(' and ');
  const fix = modes.length === 0 ? blankFix : 'keep one of them; a second entry on this path would be refused too';
  return [fault({ code: 'CONFIG_PATCH_MODE', at: positionOfNode(node), path: showPath(path), found, wanted, fix })];
}

function referenceFaults(raw: RawPatch, { node, path, isFound }: EntryPlace): Fault[] {
  const { reference } = raw;
  if (reference === undefined) return [];
  const faults: Fault[] = [];
  const refuse = (key: string, wanted: string, found: string, fix = ''): void => {
    const at = positionOfNode(find(node, ['reference', key]) ?? find(node, ['reference']) ?? node);
    const shown = showPath([...path, 'reference', key]);
    faults.push(fault({ code: 'CONFIG_PATCH_REFERENCE', at, path: shown, found, wanted, fix }));
  };
  if (reference.kind !== undefined && !referenceKinds.includes(reference.kind))
    refuse('kind', `one of ${referenceKinds.join(', ')}`, quoted(reference.kind), didYouMean(reference.kind));
  if (reference.apiVersion !== undefined && reference.apiVersion !== 'v1')
    refuse('apiVersion', 'v1, the version of all kinds that a reference can name', quoted(reference.apiVersion));
  if (reference.naming !== undefined && reference.kind !== undefined && keptKinds.includes(reference.kind)) {
    const sentence = `all copies of a ${reference.kind} have the same kind of name, which a single entry cannot choose`;
    const at = positionOfNode(find(node, ['reference', 'naming']) ?? node);
    const place = showPath([...path, 'reference', 'naming']);
    const fix = 'remove it, or set hostward.references.naming for all references';
    faults.push(fault({ code: 'CONFIG_PATCH_REFERENCE', at, path: place, sentence, fix }));
  }
  const needing = (['namespacePath', 'kindPath', 'apiVersionPath'] as const).filter((key) => reference[key]);
  if (needing.length > 0 && !reference.namePath && !isFound)
    refuse('namePath', `namePath together with ${needing.join(' and ')}`, 'no namePath', 'add the path of the name');
  return faults;
}

function didYouMean(kind: string): string {
  const near = nearestKey(kind, referenceKinds);
  return near === undefined ? '' : `did you mean ${near}?`;
}

function isOfExpressions({ reference, labels }: PatchEntry): boolean {
  return reference === undefined && labels === undefined;
}

function directionsOf(entry: PatchEntry): string[] {
  if (!isOfExpressions(entry)) return ['forward', 'back'];
  const forward = entry.expression === undefined ? [] : ['forward'];
  return entry.reverseExpression === undefined ? forward : [...forward, 'back'];
}

/** Two entries may share a path when one is forward and the other back. Paths are compared as written. */
function duplicateFaults(patches: readonly CheckedPatch[], nodes: ListNode, listPath: SettingsPath): Fault[] {
  const taken = new Map<string, CheckedPatch>();
  const faults: Fault[] = [];
  for (const patch of patches) {
    const { index, entry } = patch;
    const clash = directionsOf(entry).map((direction) => taken.get(`${direction} ${entry.path}`));
    const first = clash.find((other) => other !== undefined);
    if (first === undefined) {
      for (const direction of directionsOf(entry)) taken.set(`${direction} ${entry.path}`, patch);
      continue;
    }
    const node = nodes.items[index] as TreeNode;
    const at = positionOfNode(find(node, ['path']) ?? node);
    const sentence = `${showPath([...listPath, first.index])} already patches ${quoted(entry.path)}`;
    const canJoin = isOfExpressions(entry) && isOfExpressions(first.entry);
    const fix = canJoin ? 'join the two entries into one' : 'keep one of them';
    faults.push(
      fault({ code: 'CONFIG_PATCH_DUPLICATE', at, path: showPath([...listPath, index, 'path']), sentence, fix }),
    );
  }
  return faults;
}

function entryOf(raw: RawPatch, path: string): PatchEntry {
  const entry: PatchEntry = { path, onMissing: raw.onMissing, onError: raw.onError };
  if (raw.expression) entry.expression = raw.expression;
  if (raw.reverseExpression) entry.reverseExpression = raw.reverseExpression;
  if (raw.labels !== undefined) entry.labels = {};
  if (raw.reference?.apiVersion !== undefined && raw.reference.kind !== undefined) {
    const { apiVersion, kind, ...paths } = raw.reference;
    // As in vCluster, an empty path counts as absent.
    const given = Object.entries(paths).filter(([, path]) => path !== '');
    entry.reference = { apiVersion, kind, ...Object.fromEntries(given) };
  }
  return entry;
}
