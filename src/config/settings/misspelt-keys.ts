// Finds misspelt names of the sections that Hostward reads. Their maps also hold keys of vCluster and of other programs, so an
// unknown key there passes; but one that is nearly a name of ours would silently leave out all settings below it.
import { editDistance } from '../../object/meta/nearest-key.ts';
import { isRecord } from '../../object/text/json.ts';
import { type Fault, fault, quoted, warning } from '../fault.ts';
import { type SettingsPath, showPath } from '../yaml/settings-path.ts';
import { find, type MapEntry, type MapNode, toPlain } from '../yaml/tree.ts';
import { formerSections } from './former-values.ts';
import { vclusterDefaults } from './vcluster-defaults.ts';

interface Section {
  name: string;
  /** The keys that show the section under another name, where the name alone proves too little. */
  shownBy?: readonly string[];
}

const sections: readonly { path: string[]; names: readonly Section[] }[] = [
  {
    path: [],
    // Near "sync" and "global" are words of others, such as "spec" and "async".
    names: [{ name: 'hostward' }, { name: 'sync', shownBy: ['toHost'] }, { name: 'global', shownBy: ['hostward'] }],
  },
  { path: ['global'], names: [{ name: 'hostward' }] },
  { path: ['sync'], names: [{ name: 'toHost' }] },
  { path: ['sync', 'toHost'], names: [{ name: 'endpoints' }, { name: 'endpointSlices' }, { name: 'namespaces' }] },
];

/** With three other letters a key of nine letters is more probably another word. */
const mostEdits = 2;

export function misspeltKeys(root: MapNode): Fault[] {
  return sections.flatMap(({ path, names }) => {
    const map = find(root, path);
    if (map?.kind !== 'map') return [];
    const others = keysOfVcluster(path);
    return [...map.entries]
      .filter(([key]) => !others.has(key))
      .flatMap(([key, entry]) => misspelt([...path, key], entry, nearest(key, names)));
  });
}

/** The keys that vCluster itself, today or before 0.20, has beside the sections. */
function keysOfVcluster(path: readonly string[]): ReadonlySet<string> {
  const at = path.reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), vclusterDefaults);
  return new Set([...Object.keys(isRecord(at) ? at : {}), ...(path.length === 0 ? formerSections : [])]);
}

interface Nearest extends Section {
  edits: number;
}

function nearest(key: string, names: readonly Section[]): Nearest | undefined {
  // A difference in letter case alone is a fault of the check of unknown keys; a key with dots is one of misplaced keys.
  if (key.includes('.') || names.some(({ name }) => name.toLowerCase() === key.toLowerCase())) return undefined;
  return names
    .map((section) => ({ ...section, edits: editDistance(bare(key), bare(section.name), mostEdits + 1) }))
    .filter(({ edits }) => edits <= mostEdits)
    .toSorted((one, other) => one.edits - other.edits)[0];
}

/** `host-ward` and `HOST_WARD` are spellings of one word. */
function bare(key: string): string {
  return key.toLowerCase().replaceAll(/[-_\s]/g, '');
}

function misspelt(path: SettingsPath, { key, written, node }: MapEntry, near: Nearest | undefined): Fault[] {
  if (near === undefined) return [];
  const { name, shownBy } = near;
  const isShown = shownBy?.some((below) => find(node, [below]) !== undefined) ?? true;
  const parts = { code: 'CONFIG_MISSPELT_KEY', at: key.source.positionAt(key.start), path: showPath(path) };
  const sentence = `Hostward does not read ${quoted(written)}`;
  const fix = `did you mean ${name}?`;
  if (!isShown) return [warning({ ...parts, sentence, fix })];
  return [fault({ ...parts, sentence: toPlain(node) === null ? sentence : `${sentence}, nor anything below it`, fix })];
}
