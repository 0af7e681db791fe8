// Loads the configuration. In: the texts of its files, the environment and the flags. Out: one frozen value, complete and
// checked, or all faults at once, each with its position in a file. Later files are merged over earlier ones, as in Helm.
// Must never know the effect of a setting, compile an expression, or contact a cluster.
import { type Fault, fault, listFaults, warning } from '../fault.ts';
import { managementFaults, servesManagementAlone } from '../settings/management-rules.ts';
import { mappingProblems } from '../settings/namespace-mappings.ts';
import {
  isVclusterFile,
  joinOwn,
  strictParserWarnings,
  topLevel,
  underGlobal,
  unreadKeys,
} from '../settings/own-settings.ts';
import type { Settings } from '../settings/settings.ts';
import { Checker, positionOfNode, type Slot, slotTree } from '../settings/table/check.ts';
import { clusterNames, type NameSources, unwantedNames } from '../settings/table/cluster-names.ts';
import { type NamedFile, namedFiles } from '../settings/table/named-files.ts';
import { type CheckedPatch, checkPatches } from '../settings/table/patch-rules.ts';
import { withoutRetired } from '../settings/table/retired-settings.ts';
import { directFaults } from '../settings/table/rows/direct-rows.ts';
import { runAtOnce, type Steps } from '../steps.ts';
import { parseYaml } from '../yaml/parse-yaml.ts';
import { Positions } from '../yaml/positions.ts';
import { showPath } from '../yaml/settings-path.ts';
import { decode, type SourceFile } from '../yaml/source-text.ts';
import { find, type MapNode, overlay, type TreeNode } from '../yaml/tree.ts';
import { lint } from './lint.ts';
import { settingsOf, type Values } from './settings-of.ts';

export interface LoadOptions extends NameSources {
  /** The files in the order of the command line; later files win. Without a file, every setting has its default. */
  files: readonly SourceFile[];
}

/** The entries of one list of patches. */
export interface LoadedList {
  /** The well-formed entries. They are present despite other faults, so that the same run can check their expressions. */
  patches: readonly CheckedPatch[];
  /** The malformed entries, as far as they could be read, so that the same run can check the texts in them. */
  mistaken: readonly CheckedPatch[];
}

interface LoadedParts extends LoadedList {
  warnings: readonly Fault[];
  /** The patches of EndpointSlices; those of Endpoints are here directly. */
  slices: LoadedList;
  positions: Positions;
  /** The files that the settings name; nobody has looked at them. */
  files: readonly NamedFile[];
  /** Whether the files tell what vCluster syncs; without them it syncs both kinds. */
  tellsOfVcluster: boolean;
  /** The texts by file name, for the source line under a fault. */
  texts: ReadonlyMap<string, string>;
  /** The files whose keys nobody has looked at, because they are no YAML. */
  unread: readonly string[];
}

export type Loaded =
  | ({ kind: 'ok'; settings: Settings } & LoadedParts)
  | ({
      kind: 'faults';
      faults: readonly Fault[];
      /** Settings in which faulty values are missing, so that the same run can try the rest; undefined when a file cannot be read whole. */
      tentative: Settings | undefined;
    } & LoadedParts);

export function loadConfiguration(options: LoadOptions): Loaded {
  return runAtOnce(loadSteps(options));
}

/** As loadConfiguration(), in parts, for a daemon with other work. */
export function* loadSteps(options: LoadOptions): Steps<Loaded> {
  const files = yield* readFiles(options.files);
  const faults = [...files.faults];
  const current = files.roots.map(withoutRetired);
  const unread = current.flatMap((of) => unreadKeys(of.root));
  faults.push(...unread.filter(({ severity }) => severity === 'fault'));
  const warnings = files.roots.flatMap(strictParserWarnings);
  warnings.push(...unread.filter(({ severity }) => severity === 'warning'));
  warnings.push(...current.flatMap((of) => of.warnings));
  const root = current.reduce<TreeNode | undefined>(
    (lower, { root: upper }) => (lower ? overlay(lower, upper) : upper),
    undefined,
  );
  const { own, values } = checkTree(root, { faults, warnings });
  yield;
  const isManagementAlone = servesManagementAlone(root, own);
  const names = isManagementAlone ? unwantedNames(options) : clusterNames(options, values.hostward, own);
  // An unreadable file may hold the missing name, so the name is not reported as missing.
  faults.push(...names.faults.filter((of) => files.faults.length === 0 || of.code !== 'CONFIG_NAME_MISSING'));
  warnings.push(...names.warnings);
  const { endpoints, endpointSlices } = values.sync.toHost;
  const found = [...faults];
  const checked = checkPatches(find(root, patchesPath), endpoints.patches, { listPath: patchesPath, found });
  const slices = checkPatches(find(root, slicePatchesPath), endpointSlices.patches, {
    listPath: slicePatchesPath,
    found,
  });
  faults.push(...checked.faults, ...slices.faults);
  yield;
  mappingFaults(root, values, names, { faults, warnings });
  const place = find(root, topLevel) ? topLevel : underGlobal;
  faults.push(...managementFaults(values.hostward, own, place), ...directFaults(values.hostward.direct, own, place));
  const positions = new Positions(root);
  const order = options.files.map((file) => file.name);
  const parts = (): LoadedParts => {
    const { patches, mistaken } = checked;
    const said = listFaults(warnings, order);
    const { texts, unread } = files;
    const tellsOfVcluster = files.roots.some(isVclusterFile) || find(root, ['sync']) !== undefined;
    const named = namedFiles(own, place);
    return { warnings: said, patches, mistaken, slices, positions, files: named, tellsOfVcluster, texts, unread };
  };
  const settingsWith = (known: Values) =>
    settingsOf({ options, values: known, names, patches: checked.patches, slicePatches: slices.patches, root, own });
  const lintWith = (settings: Settings) =>
    lint({ settings, root, positions, hasVclusterFile: files.roots.some(isVclusterFile) });
  if (faults.length > 0) {
    const tentative = files.faults.length > 0 ? undefined : settingsWith(tentativeOf(values, faults));
    // Settings are compared with one another only when all of them are known.
    if (tentative !== undefined && !isManagementAlone && faults.every(isOfPatches))
      warnings.push(...lintWith(tentative));
    const isSure = (of: Fault) => !files.hasGaps || files.faults.includes(of) || ofWhatIsThere.has(of.code);
    return { kind: 'faults', faults: listFaults(faults.filter(isSure), order), tentative, ...parts() };
  }
  const settings = settingsWith(values);
  yield;
  if (!isManagementAlone) warnings.push(...lintWith(settings));
  return { kind: 'ok', settings, ...parts() };
}

/** Said although parts of a file are missing: all other faults may rest on what is missing. */
const ofWhatIsThere: ReadonlySet<string> = new Set([
  'CONFIG_UNKNOWN_KEY',
  'CONFIG_WRONG_TYPE',
  'CONFIG_WRONG_VALUE',
  'CONFIG_MISPLACED_KEY',
  'CONFIG_MISSPELT_KEY',
]);

/** Whether a fault lies in a list of patches, so that all other settings are known. */
export function isOfPatches({ path }: Fault): boolean {
  return [patchesPath, slicePatchesPath].some((list) => path.startsWith(`${showPath(list)}[`));
}

/** Without the servers: their faulty entries would be missing in lists where every entry is wanted, and no patch asks for them. */
function tentativeOf(values: Values, faults: readonly Fault[]): Values {
  const { management: _, direct: __, ...hostward } = values.hostward;
  const { toHost } = values.sync;
  const isMapped = toHost.namespaces.enabled && faults.every(({ code }) => code !== 'CONFIG_MAPPING');
  const namespaces = { ...toHost.namespaces, enabled: isMapped };
  return { ...values, hostward, sync: { ...values.sync, toHost: { ...toHost, namespaces } } };
}

const patchesPath = ['sync', 'toHost', 'endpoints', 'patches'];
const slicePatchesPath = ['sync', 'toHost', 'endpointSlices', 'patches'];
const byNamePath = ['sync', 'toHost', 'namespaces', 'mappings', 'byName'];

interface ReadFiles {
  roots: MapNode[];
  faults: Fault[];
  texts: Map<string, string>;
  /** True when something is missing in `roots`. */
  hasGaps: boolean;
  unread: string[];
}

function* readFiles(files: readonly SourceFile[]): Steps<ReadFiles> {
  const roots: MapNode[] = [];
  const faults: Fault[] = [];
  const texts = new Map<string, string>();
  const unread: string[] = [];
  let hasGaps = false;
  for (const file of files) {
    const decoded = decode(file);
    if (decoded.kind === 'fault') {
      faults.push(decoded.fault);
      continue;
    }
    texts.set(file.name, decoded.source.text);
    yield;
    const parsed = yield* parseYaml(decoded.source);
    yield;
    if (parsed.root !== undefined) roots.push(parsed.root);
    if (parsed.kind === 'tree') continue;
    if (parsed.root === undefined && !isEmpty(parsed.faults)) unread.push(file.name);
    faults.push(...parsed.faults);
    hasGaps ||= parsed.root !== undefined && !parsed.isWhole;
  }
  return { roots, faults, texts, hasGaps, unread };
}

function isEmpty(faults: readonly Fault[]): boolean {
  return faults.some(({ code }) => code === 'CONFIG_FILE_EMPTY');
}

function checkTree(
  root: TreeNode | undefined,
  { faults, warnings }: { faults: Fault[]; warnings: Fault[] },
): { own: TreeNode | undefined; values: Values } {
  const slots = slotTree();
  const ownSlot = slots.children.get('hostward') as Slot;
  const shared = new Checker();
  // `global` is an open slot, so that a wrong letter case below it is found as in other maps.
  const global: Slot = { setting: undefined, closed: false, children: new Map([['hostward', ownSlot]]) };
  const withGlobal: Slot = { ...slots, children: new Map([...slots.children, ['global', global]]) };
  const values = shared.check(root, withGlobal, []) as Values & { hostward: Values['hostward'] };
  faults.push(...shared.faults);
  warnings.push(...shared.warnings);
  const joined = joinOwn(root);
  faults.push(...joined.faults);
  // Both places were checked above; this second check only computes the merged values.
  const isGlobal = find(root, underGlobal) !== undefined;
  const place = isGlobal ? underGlobal : topLevel;
  const hostward = new Checker().check(joined.own, ownSlot, place) as Values['hostward'];
  return { own: joined.own, values: { ...values, hostward } };
}

function mappingFaults(
  root: TreeNode | undefined,
  values: Values,
  names: { virtualClusterName: string; hostNamespace: string },
  into: { faults: Fault[]; warnings: Fault[] },
): void {
  const { enabled, mappings } = values.sync.toHost.namespaces;
  if (!enabled) return;
  const place = (path: string[]) => {
    const node = find(root, path);
    return node === undefined ? undefined : positionOfNode(node);
  };
  const map = find(root, byNamePath);
  const isJudged = into.faults.some(({ path }) => path === showPath(byNamePath));
  for (const { pair, side, words, isWarning } of mappingProblems(mappings.byName, names)) {
    // A value that is not a map was reported already.
    if (pair === undefined && isJudged) continue;
    const entry = pair !== undefined && map?.kind === 'map' ? map.entries.get(pair) : undefined;
    const span = side === 'virtual' ? entry?.key : entry?.node.span;
    const at = span?.source.positionAt(span.start) ?? place(byNamePath) ?? place(['sync', 'toHost', 'namespaces']);
    const path = showPath(pair === undefined ? byNamePath : [...byNamePath, pair]);
    const parts = { code: 'CONFIG_MAPPING', at, path, ...words };
    if (isWarning) into.warnings.push(warning(parts));
    else into.faults.push(fault(parts));
  }
  const privateNodes = find(root, ['privateNodes', 'enabled']);
  if (privateNodes?.kind !== 'scalar' || privateNodes.value !== true) return;
  const sentence = 'private nodes cannot be combined with sync.toHost.namespaces';
  const at = positionOfNode(privateNodes);
  into.faults.push(fault({ code: 'CONFIG_MAPPING', at, path: 'privateNodes.enabled', sentence }));
}
