// What people do to the two clusters in a run: tenants, people of the host, vCluster, the operator. Data, so that a schedule can
// be printed, cut down and played again.
import type { RigSide } from '../stage/rig-cluster.ts';

export type Synced = 'endpoints' | 'endpointslices';
export type Content = 'secrets' | 'configmaps';

/** Names a virtual object. In an act on the host it means the copy of that object. */
export interface At {
  namespace: string;
  name: string;
}

export type Act =
  | { do: 'service'; at: At; hasSelector: boolean; isCopied: boolean }
  /** vCluster's copy of a Service arrives on the host, late. */
  | { do: 'copyService'; at: At }
  | { do: 'endpoints'; at: At; version: number; labels: Pairs; annotations: Pairs; isHostile?: true; port?: number }
  | {
      do: 'slice';
      at: At;
      service: string;
      version: number;
      labels: Pairs;
      annotations?: Pairs;
      managedBy?: string;
      type: 'IPv4' | 'IPv6';
      port?: number;
    }
  | {
      do: 'edit';
      side: RigSide;
      resource: Synced;
      at: At;
      field: 'labels' | 'annotations';
      key: string;
      value: string | null;
    }
  /** Somebody on the host changes the addresses of a copy, or its ports. */
  | { do: 'payload'; resource: Synced; at: At; of?: 'ports' }
  /** Something on the host wants to see the end of a copy before it goes, or has seen it. */
  | { do: 'finalizer'; resource: Synced; at: At; isSet: boolean }
  /** A Service of the host's own people at the name of the copy of a virtual one. */
  | { do: 'hostService'; at: At; exists: boolean }
  | { do: 'remove'; side: RigSide; resource: Synced | 'services'; at: At }
  /** Deleted and made again at once under the same name. */
  | { do: 'recreate'; resource: Synced; at: At; version: number }
  /** A mark of ownership on a copy is changed or lost. */
  | { do: 'damage'; resource: Synced; at: At; mark: string; value: string | null }
  /** Somebody else's object at the place of a copy. */
  | { do: 'stranger'; resource: Synced; at: At; marks: 'none' | 'otherCluster' | 'otherObject' }
  | { do: 'content'; side: RigSide; resource: Content; at: At; value: string; isImportable: boolean }
  | { do: 'removeContent'; side: RigSide; resource: Content; at: At }
  | { do: 'owner'; exists: boolean }
  | { do: 'reload'; configuration: number }
  | { do: 'restart'; daemon: number }
  | { do: 'kill'; daemon: number }
  /** kill -9, and nobody there for a while. */
  | { do: 'down'; daemon: number; ms: number }
  | { do: 'wait'; ms: number }
  /** People are still until the daemon must have finished; then everything is compared. A long one also looks whether it stays so. */
  | { do: 'calm'; isShort?: true | 'withFaults' }
  /** A fault that has not struck yet strikes at the next request of its side and verb. */
  | { do: 'lastChance' };

export type Pairs = Readonly<Record<string, string>>;

/** A whole run without its faults. */
export interface Scenario {
  /** What the operator writes; the first one is in force at the start. */
  configurations: readonly object[];
  daemons: number;
  isMapped: boolean;
  /** A later configuration maps namespaces to other ones. */
  moves?: boolean;
  /** Daemons speak TLS with both API servers. */
  isTls?: boolean;
  /** Lines of watches come so much later than the answers to writes, as from a server whose cache lags behind. */
  watchLagMs?: number;
  /** API servers give no more objects than that in one page of a list. */
  pageItems?: number;
  /** How long an expression takes: news may come while a pass waits for it. */
  sandboxMs?: number;
  kinds: readonly Synced[];
  /** Before the daemon starts. */
  before: readonly Act[];
  acts: readonly Act[];
}

export const virtualCluster = 'vc';
export const hostNamespace = 'vcluster-vc';
/** The first two may meet on one host name with names that hold "-x-". */
export const tenantNamespaces = ['t1', 'b-x-t1', 't2'] as const;
export const mappedNamespace = (namespace: string): string => `h-${namespace}`;
/** Where another mapping has it. */
export const movedNamespace = (namespace: string): string => `g-${namespace}`;

/** A lease counts for so long after its last renewal. */
export function leaseMsOf(configuration: object): number {
  const { hostward } = configuration as { hostward?: { leaseDurationSeconds?: number } };
  return (hostward?.leaseDurationSeconds ?? 15) * 1000;
}
