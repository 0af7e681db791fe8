// The configuration for all other rooms: one frozen value, complete and checked, with all defaults.
import type { LogFormat, LogLevel } from '../../log.ts';
import type { DirectSettings, ManagementServerSettings, ManagementSettings } from './management-settings.ts';

export interface PatchReference {
  apiVersion: string;
  kind: string;
  apiVersionPath?: string;
  kindPath?: string;
  namePath?: string;
  namespacePath?: string;
  /** For this entry alone, instead of hostward.references.naming. */
  naming?: 'generated' | 'vcluster';
}

/** One entry of a list of patches as written; the daemon compiles paths and expressions later. */
export interface PatchEntry {
  path: string;
  expression?: string;
  reverseExpression?: string;
  reference?: PatchReference;
  labels?: Record<string, never>;
  onMissing: 'skip' | 'create';
  onError: 'fail' | 'skip' | 'keepLast';
}

export interface NamespaceMappings {
  enabled: boolean;
  /** virtual → host, as written: exact pairs and `prefix*` patterns, `${name}` not yet expanded. */
  byName: Record<string, string>;
  mappingsOnly: boolean;
}

export interface Settings {
  /** VC and HNS. Both are empty when the configuration has only the management API and nothing is synced. */
  virtualClusterName: string;
  hostNamespace: string;
  /** Paths of kubeconfig files; undefined on the host side = in-cluster credentials. */
  virtualKubeconfig: string | undefined;
  hostKubeconfig: string | undefined;
  /** hostward.virtualServer: an address in place of the one in the kubeconfig. */
  virtualServer: string | undefined;
  /** hostward.endpoints.enabled; by default the value of sync.toHost.endpoints.enabled. */
  endpointsEnabled: boolean;
  patches: readonly PatchEntry[];
  endpointSlices: {
    /** hostward.endpointSlices.enabled. */
    enabled: boolean;
    /** Slices of the tenant's mirroring controller are synced too, because the host does not mirror Endpoints. */
    mirrored: boolean;
    nodeName: 'keep' | 'drop';
  };
  /** sync.toHost.endpointSlices.patches. */
  slicePatches: readonly PatchEntry[];
  namespaces: NamespaceMappings;
  /** experimental.syncSettings.setOwner. */
  setOwner: boolean;
  /** controlPlane.statefulSet.highAvailability.replicas. */
  replicas: number;
  backSync: 'all' | 'none';
  exclude: { labels: readonly string[]; annotations: readonly string[] };
  addressPolicy: { allow: readonly string[]; deny: readonly string[]; fqdn?: 'refuse' | 'allow' };
  leaderElection: 'auto' | 'always' | 'never';
  leaseDurationSeconds: number;
  maxWritesPerSecond: number | undefined;
  /** hostward.proofInterval; 0 = no proofs. */
  proofIntervalMs: number;
  references: { naming: 'generated' | 'vcluster' };
  /** host:port of /healthz, /readyz, /metrics, /status. */
  listen: string;
  /** Names other than localhost and IP addresses under which clients may ask there. */
  listenNames: readonly string[];
  /** Whether the page for trying patches is served there. */
  playground: boolean;
  logLevel: LogLevel;
  logFormat: LogFormat;
  /** hostward.management; both undefined when it is not configured. */
  management: ManagementSettings | undefined;
  managementServer: ManagementServerSettings | undefined;
  /** hostward.direct, for `hostward direct` alone. */
  direct: DirectSettings | undefined;
  /** The whole configuration merged with vCluster's defaults, for context.vcluster.config. May hold passwords. */
  vcluster: Readonly<Record<string, unknown>>;
}
