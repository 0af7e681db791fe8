// What is allowed and still probably a mistake: two writers on one object, patches that the host can route around, rights
// that the chart does not give. Expressions and paths themselves are looked at elsewhere.
import { type Fault, type FaultWords, quoted, warning } from './fault.ts';
import type { Positions } from './positions.ts';
import type { PatchEntry, Settings } from './settings.ts';
import { type SettingsPath, showPath } from './settings-path.ts';
import { find, type TreeNode, toPlain } from './tree.ts';

export interface LintInput {
  settings: Settings;
  root: TreeNode | undefined;
  positions: Positions;
  /** One of the files is a vcluster.yaml: what it does not say has vCluster's default. */
  hasVclusterFile: boolean;
}

const toHost = ['sync', 'toHost'];
const patchList = [...toHost, 'endpoints', 'patches'];

export function lint(input: LintInput): Fault[] {
  if (!input.settings.endpointsEnabled) return [];
  return [
    ...twoWriters(input),
    ...patchWarnings(input),
    ...leaderWarnings(input),
    ...rightsWarnings(input),
    ...elsewhere(input),
  ];
}

function warn({ positions }: LintInput, path: SettingsPath, parts: FaultWords & { code: string }): Fault {
  return warning({ ...parts, at: positions.positionOf(path), path: showPath(path) });
}

/** A switch of vCluster's: what the files say, else its default. */
function isOn({ root }: LintInput, path: SettingsPath, byDefault: boolean): boolean {
  const node = find(root, path);
  return node?.kind === 'scalar' && typeof node.value === 'boolean' ? node.value : byDefault;
}

function vclusterSyncsEndpoints(input: LintInput): boolean {
  const path = [...toHost, 'endpoints', 'enabled'];
  // In a file of our own the key stands for our switch unless ours is given as well.
  const isTheirs = input.hasVclusterFile || hasOwnSwitch(input);
  return isTheirs && isOn(input, path, input.hasVclusterFile);
}

function hasOwnSwitch({ root }: LintInput): boolean {
  const places = [
    ['hostward', 'endpoints', 'enabled'],
    ['global', 'hostward', 'endpoints', 'enabled'],
  ];
  return places.some((path) => find(root, path) !== undefined);
}

function twoWriters(input: LintInput): Fault[] {
  if (!vclusterSyncsEndpoints(input)) return [];
  return [
    warn(input, [...toHost, 'endpoints', 'enabled'], {
      code: 'CONFIG_TWO_WRITERS',
      found: "true, and Hostward's sync is on as well: both would write the same host objects",
      wanted: "vCluster's own Endpoints sync off",
      fix: 'set it to false and global.hostward.endpoints.enabled to true',
    }),
  ];
}

function patchWarnings(input: LintInput): Fault[] {
  const { patches } = input.settings;
  const warnings = patches.flatMap((entry, index) => entryWarnings(input, entry, index));
  if (!input.hasVclusterFile) return warnings;
  const firstOf = new Map<string, number>();
  for (const [index, { path }] of patches.entries()) {
    const first = firstOf.get(path);
    firstOf.set(path, first ?? index);
    if (first === undefined) continue;
    const found = `the path of ${showPath([...patchList, first])} again, which vCluster refuses`;
    const parts = { code: 'CONFIG_VCLUSTER_REFUSES', found, wanted: 'one entry for both directions' };
    warnings.push(warn(input, [...patchList, index, 'path'], { ...parts, fix: 'join the two entries into one' }));
  }
  return warnings;
}

function entryWarnings(input: LintInput, entry: PatchEntry, index: number): Fault[] {
  const path = [...patchList, index];
  const warnings: Fault[] = [];
  if (touchesSubsets(entry.path)) {
    if (entry.expression !== undefined) warnings.push(...routedAround(input, path));
    if (entry.reverseExpression !== undefined && entry.path !== '') {
      const parts = { code: 'CONFIG_PATCH_NEVER_RUNS', found: 'one below subsets, which never flow back' };
      const wanted = 'reverse expressions for labels and annotations only';
      warnings.push(warn(input, [...path, 'reverseExpression'], { ...parts, wanted, fix: 'remove it' }));
    }
  }
  if (entry.onMissing === 'create' && entry.expression === undefined) {
    const found = 'create, and no expression: nothing says what is to be made';
    const parts = { code: 'CONFIG_PATCH_ON_MISSING', found, wanted: 'onMissing: create beside an expression only' };
    warnings.push(warn(input, [...path, 'onMissing'], { ...parts, fix: 'remove it' }));
  }
  warnings.push(...valueExistsWarnings(input, entry, path));
  if (entry.reference !== undefined) warnings.push(...referenceWarnings(input, entry.reference.kind, path));
  if (entry.onError === 'skip') {
    const found = 'skip: when the expression fails, the host shows the value as it is in the virtual cluster';
    const parts = { code: 'CONFIG_PATCH_LEAKS', found, wanted: 'fail or keepLast for a value that is to stay hidden' };
    warnings.push(warn(input, [...path, 'onError'], parts));
  }
  return warnings;
}

function valueExistsWarnings(input: LintInput, entry: PatchEntry, path: SettingsPath): Fault[] {
  if (find(input.root, [...path, 'onMissing']) !== undefined) return [];
  const asks = (text: string | undefined): boolean => /\bvalueExists\b/.test(text ?? '');
  const code = 'CONFIG_PATCH_ON_MISSING';
  if (asks(entry.expression)) {
    const found = 'an expression that asks for valueExists, and no onMissing: it never runs where the key is missing';
    const fix = 'add onMissing: create, or onMissing: skip if it is meant so';
    return [warn(input, path, { code, found, wanted: 'onMissing: create where a missing key is to be made', fix })];
  }
  if (!asks(entry.reverseExpression)) return [];
  const found = 'a reverse expression that asks for valueExists, which is true wherever it runs';
  const parts = { code, found, wanted: 'one that does not ask', fix: 'leave valueExists out of it' };
  return [warn(input, [...path, 'reverseExpression'], parts)];
}

/** Only the content of Secrets and ConfigMaps goes to the host, and only when vCluster may sync them. */
function referenceWarnings(input: LintInput, kind: string, path: SettingsPath): Fault[] {
  const at = [...path, 'reference', 'kind'];
  const list = { Secret: 'secrets', ConfigMap: 'configMaps' }[kind];
  if (list !== undefined) {
    if (isOn(input, [...toHost, list, 'enabled'], true)) return [];
    const found = `${kind}, and sync.toHost.${list}.enabled false: nothing stands on the host behind the name`;
    const parts = { code: 'CONFIG_REFERENCE_EMPTY', found, wanted: `a sync of ${list} that is on` };
    return [warn(input, at, { ...parts, fix: `set sync.toHost.${list}.enabled to true` })];
  }
  // With a mapping of namespaces names stay as they are, and vCluster's copy stands behind them.
  if (input.settings.namespaces.enabled || input.settings.references.naming === 'vcluster') return [];
  const found = `${kind}, of which only the name is translated: nothing stands on the host behind a generated one`;
  const parts = { code: 'CONFIG_REFERENCE_EMPTY', found, wanted: 'the name that vCluster gives to its own copy' };
  return [warn(input, at, { ...parts, fix: 'set references.naming of Hostward to vcluster' })];
}

/** Before paths are compiled: the whole object, any key at the top, or subsets in one of its spellings. */
function touchesSubsets(path: string): boolean {
  return /^\s*$|^[\s.]*(\*|\[\s*["']?\*["']?\s*\]|["'[]*subsets\b)/.test(path);
}

function routedAround(input: LintInput, path: SettingsPath): Fault[] {
  const others: string[] = [];
  if (isOn(input, [...toHost, 'endpointSlices', 'enabled'], true)) others.push('endpointSlices');
  if (vclusterSyncsEndpoints(input)) others.push('endpoints');
  if (others.length === 0) return [];
  return [
    warn(input, [...path, 'path'], {
      code: 'CONFIG_PATCH_ROUTED_AROUND',
      found: `vCluster's own sync of ${others.join(' and ')}, which publishes the unpatched addresses beside it`,
      wanted: 'a patch of addresses to be the only source of them on the host',
      fix: others.map((kind) => `set sync.toHost.${kind}.enabled to false`).join(' and '),
    }),
  ];
}

function leaderWarnings(input: LintInput): Fault[] {
  const { leaderElection, replicas } = input.settings;
  if (leaderElection !== 'never' || replicas <= 1) return [];
  const path = find(input.root, ['hostward', 'leaderElection']) ? ['hostward'] : ['global', 'hostward'];
  const parts = { code: 'CONFIG_NO_LEADER', found: `never, with ${replicas} replicas that all write` };
  return [warn(input, [...path, 'leaderElection'], { ...parts, wanted: 'auto or always with more than one replica' })];
}

interface Rule {
  apiGroups?: unknown;
  resources?: unknown;
  verbs?: unknown;
}

/** The chart's Role loses the write verbs for Endpoints with vCluster's own sync, and has leases for several replicas only. */
function rightsWarnings(input: LintInput): Fault[] {
  const { settings, root } = input;
  if (!input.hasVclusterFile || settings.hostKubeconfig !== undefined) return [];
  const role = ['rbac', 'role'];
  if (!isOn(input, [...role, 'enabled'], true)) return [];
  const overwrite = rulesAt(root, [...role, 'overwriteRules']);
  const isOverwritten = overwrite.length > 0;
  const rules = isOverwritten ? overwrite : rulesAt(root, [...role, 'extraRules']);
  const wanted: { group: string; resource: string; verbs: string[] }[] = [];
  if (isOverwritten || !isOn(input, [...toHost, 'endpoints', 'enabled'], true))
    wanted.push({ group: '', resource: 'endpoints', verbs: ['create', 'delete', 'patch'] });
  const takesLease =
    settings.leaderElection === 'always' || (settings.leaderElection === 'auto' && settings.replicas > 1);
  if (takesLease && (isOverwritten || settings.replicas <= 1))
    wanted.push({ group: 'coordination.k8s.io', resource: 'leases', verbs: ['get', 'create', 'update', 'patch'] });
  return wanted.flatMap(({ group, resource, verbs }) => {
    const missing = verbs.filter((verb) => !rules.some((rule) => allows(rule, group, resource, verb)));
    if (missing.length === 0) return [];
    const path = [...role, isOverwritten ? 'overwriteRules' : 'extraRules'];
    const found = `no rule that gives ${missing.join(', ')} on ${resource}`;
    const parts = { code: 'CONFIG_RIGHTS', found, wanted: 'the rights that Hostward needs on the host' };
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
  const found = `${quoted(target)}, while Hostward writes to ${JSON.stringify(input.settings.hostNamespace)}`;
  const parts = { code: 'CONFIG_TARGET_NAMESPACE', found, wanted: 'the namespace that vCluster syncs to' };
  return [warn(input, path, { ...parts, fix: `give --host-namespace ${target}` })];
}
