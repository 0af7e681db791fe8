// Makes the frozen Settings of the checked values. In: the values that the checker built, and the names of the clusters. Out: one
// value, which never changes.

import {
  type DirectSettings,
  directSettings,
  type ManagementValues,
  managementSettings,
} from '../settings/management-settings.ts';
import type { Settings } from '../settings/settings.ts';
import type { NameSources } from '../settings/table/cluster-names.ts';
import type { CheckedPatch } from '../settings/table/patch-rules.ts';
import { parseInterval } from '../settings/text-rules.ts';
import { vclusterDefaults } from '../settings/vcluster-defaults.ts';
import { find, type TreeNode, toPlainOver } from '../yaml/tree.ts';

/** The value that the checker builds from the rows of table.ts, which guarantee these types. */
export interface Values {
  sync: {
    toHost: {
      endpoints: { enabled: boolean; patches: unknown[] };
      endpointSlices: { patches: unknown[] };
      namespaces: { enabled: boolean; mappings: { byName: Record<string, string> }; mappingsOnly: boolean };
    };
  };
  experimental: { syncSettings: { setOwner: boolean } };
  controlPlane: { statefulSet: { highAvailability: { replicas: number } } };
  hostward: {
    virtualClusterName?: string;
    hostNamespace?: string;
    virtualKubeconfig: string;
    hostKubeconfig?: string;
    virtualServer?: string;
    endpoints: { enabled?: boolean };
    maxWritesPerSecond?: number;
    proofInterval: string;
    management?: ManagementValues;
    direct?: DirectSettings;
  } & Pick<
    Settings,
    | 'endpointSlices'
    | 'backSync'
    | 'exclude'
    | 'addressPolicy'
    | 'leaderElection'
    | 'leaseDurationSeconds'
    | 'references'
    | 'listen'
    | 'listenNames'
    | 'playground'
    | 'logLevel'
    | 'logFormat'
  >;
}

export function settingsOf(from: {
  options: Pick<NameSources, 'flags'>;
  values: Values;
  names: { virtualClusterName: string; hostNamespace: string };
  patches: readonly CheckedPatch[];
  slicePatches: readonly CheckedPatch[];
  root: TreeNode | undefined;
  own: TreeNode | undefined;
}): Settings {
  const { options, values, names, patches, slicePatches, root, own } = from;
  const { hostward, sync } = values;
  const theirs = find(root, ['experimental', 'virtualClusterKubeConfig', 'kubeConfig']);
  const theirKubeconfig = theirs?.kind === 'scalar' && typeof theirs.value === 'string' ? theirs.value : '';
  const isGiven = find(own, ['virtualKubeconfig']) !== undefined;
  return deepFreeze({
    virtualClusterName: names.virtualClusterName,
    hostNamespace: names.hostNamespace,
    virtualKubeconfig:
      options.flags?.virtualKubeconfig || (isGiven ? '' : theirKubeconfig) || hostward.virtualKubeconfig,
    hostKubeconfig: options.flags?.hostKubeconfig || hostward.hostKubeconfig,
    virtualServer: hostward.virtualServer,
    endpointsEnabled: hostward.endpoints.enabled ?? sync.toHost.endpoints.enabled,
    patches: patches.map(({ entry }) => entry),
    endpointSlices: hostward.endpointSlices,
    slicePatches: slicePatches.map(({ entry }) => entry),
    namespaces: {
      enabled: sync.toHost.namespaces.enabled,
      byName: sync.toHost.namespaces.mappings.byName,
      mappingsOnly: sync.toHost.namespaces.mappingsOnly,
    },
    setOwner: values.experimental.syncSettings.setOwner,
    replicas: values.controlPlane.statefulSet.highAvailability.replicas,
    backSync: hostward.backSync,
    exclude: hostward.exclude,
    addressPolicy: hostward.addressPolicy,
    leaderElection: hostward.leaderElection,
    leaseDurationSeconds: hostward.leaseDurationSeconds,
    maxWritesPerSecond: hostward.maxWritesPerSecond,
    proofIntervalMs: parseInterval(hostward.proofInterval) ?? 0,
    references: hostward.references,
    listen: hostward.listen,
    listenNames: hostward.listenNames,
    playground: hostward.playground,
    logLevel: hostward.logLevel,
    logFormat: hostward.logFormat,
    ...managementSettings(hostward.management),
    direct: directSettings(hostward.direct),
    vcluster: vclusterView(root),
  });
}

/** The configuration as vCluster sees it: without top-level `hostward`, which is not a vCluster setting, but with `global`. */
function vclusterView(root: TreeNode | undefined): Record<string, unknown> {
  if (root?.kind !== 'map') return vclusterDefaults;
  const entries = new Map(root.entries);
  entries.delete('hostward');
  return toPlainOver(vclusterDefaults, { ...root, entries }) as Record<string, unknown>;
}

/** Returns a frozen copy, because the defaults in the tables must neither be frozen nor changed. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(deepFreeze)) as T;
  const copy = Object.create(Object.getPrototypeOf(value)) as Record<string, unknown>;
  for (const [key, member] of Object.entries(value)) copy[key] = deepFreeze(member);
  return Object.freeze(copy) as T;
}
