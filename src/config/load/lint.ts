// Warns about settings that are valid but probably a mistake: two writers of one object, patches that the host can bypass,
// rights that the chart does not grant. Expressions and paths are checked elsewhere.
import { isRecord, recordsIn } from '../../object/text/json.ts';
import { type Fault, type FaultWords, quoted, warning } from '../fault.ts';
import type { PatchEntry, PatchReference, Settings } from '../settings/settings.ts';
import type { Positions } from '../yaml/positions.ts';
import { type SettingsPath, showPath } from '../yaml/settings-path.ts';
import { find, type TreeNode, toPlain } from '../yaml/tree.ts';
import { kindWords, type SharedKind, sharedKinds, unsoundWriters } from './unsound-writers.ts';

export interface LintInput {
  settings: Settings;
  root: TreeNode | undefined;
  positions: Positions;
  /** One of the files is a vcluster.yaml, so absent settings have the defaults of vCluster. */
  hasVclusterFile: boolean;
}

const toHost = ['sync', 'toHost'];

export function lint(input: LintInput): Fault[] {
  if (!input.settings.endpointsEnabled && !input.settings.endpointSlices.enabled) return twoWriters(input);
  return [
    ...twoWriters(input),
    ...patchWarnings(input),
    ...leaderWarnings(input),
    ...sidecarWarnings(input),
    ...rightsWarnings(input),
    ...elsewhere(input),
  ];
}

function warn({ positions }: LintInput, path: SettingsPath, parts: FaultWords & { code: string }): Fault {
  return warning({ ...parts, at: positions.positionOf(path), path: showPath(path) });
}

/** The value of a vCluster switch in the files, or its default. */
function isOn({ root }: LintInput, path: SettingsPath, byDefault: boolean): boolean {
  const node = find(root, path);
  return node?.kind === 'scalar' && typeof node.value === 'boolean' ? node.value : byDefault;
}

/** The shared kinds that vCluster syncs too; its switches are on by default. */
function alsoSynced(input: LintInput): SharedKind[] {
  // A file with only our own settings says nothing about the settings of vCluster.
  if (!input.hasVclusterFile && find(input.root, ['sync']) === undefined) return [];
  return sharedKinds.filter((kind) => isOn(input, [...toHost, kind, 'enabled'], true));
}

function offFix(input: LintInput, kinds: readonly SharedKind[]): string {
  const off = kinds.map((kind) => `sync.toHost.${kind}.enabled`).join(' and ');
  const own = input.hasVclusterFile ? 'global.hostward' : 'hostward';
  const on = kinds.filter((kind) => kind === 'endpoints').map((kind) => ` and ${own}.${kind}.enabled to true`);
  const handOver = kinds.includes('endpoints') ? '' : `; ${own}.endpointSlices.enabled: true hands the slices over`;
  return `set ${off} to false${on.join('')}${writes(input, 'endpointSlices') ? '' : handOver}`;
}

/** Whether Hostward itself syncs the kind. */
function writes({ settings }: LintInput, kind: SharedKind): boolean {
  return kind === 'endpoints' ? settings.endpointsEnabled : settings.endpointSlices.enabled;
}

function twoWriters(input: LintInput): Fault[] {
  const synced = alsoSynced(input);
  const unsound = unsoundWriters({
    ours: sharedKinds.filter((kind) => writes(input, kind)),
    vclusters: synced,
    arePatched: [...input.settings.patches, ...input.settings.slicePatches].some(({ expression }) => expression),
  });
  const ofBoth = synced
    .filter((kind) => writes(input, kind))
    .map((kind) => {
      const path = [...toHost, kind, 'enabled'];
      const byDefault = find(input.root, path) === undefined ? ', as it does by default' : '';
      const sentence = `vCluster syncs ${kindWords[kind]} too${byDefault}: both would write the same host objects`;
      return warn(input, path, { code: 'CONFIG_TWO_WRITERS', sentence, fix: offFix(input, [kind]) });
    });
  if (unsound === undefined) return ofBoth;
  const { kind } = unsound;
  const path = [...toHost, kind, 'enabled'];
  const byDefault = find(input.root, path) === undefined ? ` (vCluster syncs ${kindWords[kind]} by default)` : '';
  const sentence = `${unsound.sentence}${byDefault}`;
  return [...ofBoth, warn(input, path, { code: 'CONFIG_UNSOUND_WRITERS', sentence, fix: offFix(input, [kind]) })];
}

function patchWarnings(input: LintInput): Fault[] {
  const { patches, slicePatches } = input.settings;
  return [...listWarnings(input, 'endpoints', patches), ...listWarnings(input, 'endpointSlices', slicePatches)];
}

function listWarnings(input: LintInput, kind: SharedKind, patches: readonly PatchEntry[]): Fault[] {
  const patchList = [...toHost, kind, 'patches'];
  const warnings = patches.flatMap((entry, index) =>
    entryWarnings(input, entry, { kind, path: [...patchList, index] }),
  );
  if (!input.hasVclusterFile) return warnings;
  const firstOf = new Map<string, number>();
  for (const [index, { path }] of patches.entries()) {
    const first = firstOf.get(path);
    firstOf.set(path, first ?? index);
    if (first === undefined) continue;
    const sentence = `vCluster refuses this path, because ${showPath([...patchList, first])} has the same path`;
    const parts = { code: 'CONFIG_VCLUSTER_REFUSES', sentence };
    warnings.push(warn(input, [...patchList, index, 'path'], { ...parts, fix: 'join the two entries into one' }));
  }
  return warnings;
}

function entryWarnings(
  input: LintInput,
  entry: PatchEntry,
  { kind, path }: { kind: SharedKind; path: SettingsPath },
): Fault[] {
  const warnings: Fault[] = [];
  const payload = payloadOf(kind, entry.path);
  if (payload !== undefined) {
    if (entry.expression !== undefined) warnings.push(...routedAround(input, path, { kind, patched: entry.path }));
    if (entry.reverseExpression !== undefined && entry.path !== '') {
      const sentence = `${payload} never flow back, so this reverse expression never runs`;
      const parts = { code: 'CONFIG_PATCH_NEVER_RUNS', sentence, fix: 'remove it' };
      warnings.push(warn(input, [...path, 'reverseExpression'], parts));
    }
  }
  if (entry.onMissing === 'create' && entry.expression === undefined) {
    const sentence = 'onMissing: create has no effect without an expression';
    const parts = { code: 'CONFIG_PATCH_ON_MISSING', sentence };
    warnings.push(warn(input, [...path, 'onMissing'], { ...parts, fix: 'remove it' }));
  }
  warnings.push(...valueExistsWarnings(input, entry, path));
  if (entry.reference !== undefined) warnings.push(...referenceWarnings(input, entry.reference, path));
  if (entry.onError === 'skip') {
    const sentence = 'when the expression fails, the host shows the unchanged value of the virtual cluster';
    const parts = {
      code: 'CONFIG_PATCH_LEAKS',
      sentence,
      fix: 'write fail or keepLast if the value must stay hidden',
    };
    warnings.push(warn(input, [...path, 'onError'], parts));
  }
  return warnings;
}

function valueExistsWarnings(input: LintInput, entry: PatchEntry, path: SettingsPath): Fault[] {
  if (find(input.root, [...path, 'onMissing']) !== undefined) return [];
  const asks = (text: string | undefined): boolean => /\bvalueExists\b/.test(text ?? '');
  const code = 'CONFIG_PATCH_ON_MISSING';
  if (asks(entry.expression)) {
    const sentence = 'the expression uses valueExists, but without onMissing it never runs when the key is missing';
    const fix = 'add onMissing: create, or onMissing: skip to keep this behaviour';
    return [warn(input, path, { code, sentence, fix })];
  }
  if (!asks(entry.reverseExpression)) return [];
  const sentence = 'the reverse expression uses valueExists, which is always true there';
  const parts = { code, sentence, fix: 'remove valueExists' };
  return [warn(input, [...path, 'reverseExpression'], parts)];
}

/** Only Secrets and ConfigMaps are copied to the host, and only while vCluster may sync them. */
function referenceWarnings(input: LintInput, { kind, naming }: PatchReference, path: SettingsPath): Fault[] {
  const at = [...path, 'reference', 'kind'];
  const code = 'CONFIG_REFERENCE_EMPTY';
  const list = { Secret: 'secrets', ConfigMap: 'configMaps' }[kind];
  if (list !== undefined) {
    if (isOn(input, [...toHost, list, 'enabled'], true)) return [];
    const sentence = `with sync.toHost.${list}.enabled: false the host has no ${kind} of the referenced name`;
    return [warn(input, at, { code, sentence, fix: `set sync.toHost.${list}.enabled to true` })];
  }
  // With a namespace mapping, names stay unchanged and refer to the copies of vCluster.
  const { namespaces, references } = input.settings;
  if (namespaces.enabled || (naming ?? references.naming) === 'vcluster') return [];
  const sentence = `the host has no ${kind} with a generated name: Hostward translates only the name, and vCluster gives its copy a different name`;
  const own = input.hasVclusterFile ? 'global.hostward' : 'hostward';
  // vCluster refuses reference.naming in an entry of a file that it reads too.
  const one = input.hasVclusterFile ? '' : ', or reference.naming: vcluster in this entry';
  const fix = `write ${own}.references.naming: vcluster${one}`;
  return [warn(input, at, { code, sentence, fix })];
}

const payloadFields = { endpoints: ['subsets'], endpointSlices: ['endpoints', 'ports'] };

/** Judges the text, because paths are compiled later: the whole object, any top key, or a spelling of a payload field. */
function payloadOf(kind: SharedKind, path: string): string | undefined {
  const fields = payloadFields[kind];
  if (/^\s*$|^[\s.]*(\*|\[\s*["']?\*["']?\s*\])/.test(path)) return fields.join(' and ');
  return fields.find((field) => new RegExp(`^[\\s.]*["'[]*${field}\\b`).test(path));
}

/** Whether a path to subsets can reach their ports. */
function touchesPorts(path: string): boolean {
  return !/\b(?:addresses|notReadyAddresses)\b/.test(path);
}

function routedAround(
  input: LintInput,
  path: SettingsPath,
  { kind, patched }: { kind: SharedKind; patched: string },
): Fault[] {
  const others = alsoSynced(input);
  if (others.length === 0) return [];
  const names = others.map((kind) => kindWords[kind]).join(' and ');
  const published = `vCluster's own sync of ${names} publishes the unpatched values beside the patched ones`;
  const fight =
    "vCluster and the host's controller would fight over slices whose ports differ, and vCluster deletes the tenant's own slices";
  const isFight = kind === 'endpoints' && others.includes('endpointSlices') && touchesPorts(patched);
  const sentence = isFight ? `${published}; ${fight}` : published;
  return [warn(input, [...path, 'path'], { code: 'CONFIG_PATCH_ROUTED_AROUND', sentence, fix: offFix(input, others) })];
}

function leaderWarnings(input: LintInput): Fault[] {
  const { leaderElection, replicas } = input.settings;
  if (leaderElection !== 'never' || replicas <= 1) return [];
  const path = find(input.root, ['hostward', 'leaderElection']) ? ['hostward'] : ['global', 'hostward'];
  const sentence = `without an election all ${replicas} replicas would write`;
  const parts = { code: 'CONFIG_NO_LEADER', sentence, fix: 'write auto or always' };
  return [warn(input, [...path, 'leaderElection'], parts)];
}

const statefulSetPath = ['controlPlane', 'statefulSet'];
const sidecarPath = [...statefulSetPath, 'sidecarContainers'];

/** The containers of Hostward among the sidecars in the values of vCluster. Kubernetes also calls an init container that goes on so. */
export function sidecarsIn(vcluster: unknown): readonly unknown[] {
  const found = statefulSetPath.reduce<unknown>((at, key) => (isRecord(at) ? at[key] : undefined), vcluster);
  const listOf = (key: string) => recordsIn(isRecord(found) ? found[key] : undefined);
  const goingOn = listOf('initContainers').filter((one) => one['restartPolicy'] === 'Always');
  return [...listOf('sidecarContainers'), ...goingOn].filter((one) =>
    /hostward/.test(`${one['name']} ${one['image']}`),
  );
}

function sidecarWarnings(input: LintInput): Fault[] {
  const count = sidecarsIn(input.settings.vcluster).length;
  if (count <= 1) return [];
  const sentence = `${count} containers of Hostward would write beside each other`;
  const fix = 'leave one of them; Helm replaces lists, so look at each file that has the key';
  return [warn(input, sidecarPath, { code: 'CONFIG_SIDECARS', sentence, fix })];
}

interface Rule {
  apiGroups?: unknown;
  resources?: unknown;
  verbs?: unknown;
}

/** The chart grants write verbs on Endpoints, and all verbs on EndpointSlices, only for vCluster's own sync of them. */
function rightsWarnings(input: LintInput): Fault[] {
  const { settings, root } = input;
  if (!input.hasVclusterFile || settings.hostKubeconfig !== undefined) return [];
  const role = ['rbac', 'role'];
  if (!isOn(input, [...role, 'enabled'], true)) return [];
  const overwrite = rulesAt(root, [...role, 'overwriteRules']);
  const isOverwritten = overwrite.length > 0;
  const rules = isOverwritten ? overwrite : rulesAt(root, [...role, 'extraRules']);
  const wanted: { group: string; resource: string; verbs: string[] }[] = [];
  const lacks = (kind: SharedKind): boolean =>
    writes(input, kind) && (isOverwritten || !isOn(input, [...toHost, kind, 'enabled'], true));
  if (lacks('endpoints')) wanted.push({ group: '', resource: 'endpoints', verbs: ['create', 'delete', 'patch'] });
  if (lacks('endpointSlices')) {
    const verbs = ['get', 'list', 'watch', 'create', 'delete', 'patch'];
    wanted.push({ group: 'discovery.k8s.io', resource: 'endpointslices', verbs });
  }
  const takesLease =
    settings.leaderElection === 'always' || (settings.leaderElection === 'auto' && settings.replicas > 1);
  if (takesLease && (isOverwritten || settings.replicas <= 1))
    wanted.push({ group: 'coordination.k8s.io', resource: 'leases', verbs: ['get', 'create', 'update'] });
  return wanted.flatMap(({ group, resource, verbs }) => {
    const missing = verbs.filter((verb) => !rules.some((rule) => allows(rule, group, resource, verb)));
    if (missing.length === 0) return [];
    const path = [...role, isOverwritten ? 'overwriteRules' : 'extraRules'];
    const sentence = `no rule grants ${missing.join(', ')} on ${resource}, which Hostward needs on the host`;
    const parts = { code: 'CONFIG_RIGHTS', sentence };
    const rule = `{apiGroups: [${JSON.stringify(group)}], resources: [${resource}], verbs: [${missing.join(', ')}]}`;
    return [warn(input, path, { ...parts, fix: `add ${rule}` })];
  });
}

function rulesAt(root: TreeNode | undefined, path: SettingsPath): Rule[] {
  const node = find(root, path);
  if (node?.kind !== 'list') return [];
  return node.items.filter((item) => item.kind === 'map').map((item) => toPlain(item) as Rule);
}

function allows(rule: Rule, group: string, resource: string, verb: string): boolean {
  const has = (list: unknown, wanted: string) => Array.isArray(list) && (list.includes(wanted) || list.includes('*'));
  return has(rule.apiGroups, group) && has(rule.resources, resource) && has(rule.verbs, verb);
}

function elsewhere(input: LintInput): Fault[] {
  const path = ['experimental', 'syncSettings', 'targetNamespace'];
  const node = find(input.root, path);
  const target = node?.kind === 'scalar' && typeof node.value === 'string' ? node.value : '';
  if (target === '' || target === input.settings.hostNamespace) return [];
  const sentence = `vCluster syncs to the namespace ${quoted(target)}, but Hostward writes to ${JSON.stringify(input.settings.hostNamespace)}`;
  const parts = { code: 'CONFIG_TARGET_NAMESPACE', sentence };
  return [warn(input, path, { ...parts, fix: `give --host-namespace ${target}` })];
}
