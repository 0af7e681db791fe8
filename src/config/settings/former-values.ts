// Recognises the chart values of vCluster before 0.20, which have no setting that Hostward reads.
import { type Fault, fault } from '../fault.ts';
import { child, find, type MapNode } from '../yaml/tree.ts';

/** Top-level keys of the chart values before vCluster 0.20; vCluster has removed them since. */
export const formerSections: ReadonlySet<string> = new Set([
  ...['syncer', 'vcluster', 'mapServices', 'isolation', 'fallbackHostDns', 'hostpathMapper', 'multiNamespaceMode'],
  ...['enableHA', 'etcd', 'scheduler', 'headless', 'globalAnnotations', 'noopSyncer', 'embeddedEtcd', 'openshift'],
  ...['autoDeletePersistentVolumeClaims', 'workloadServiceAccount', 'coredns', 'storage'],
]);

/** Keys directly under `sync`, where each kind had its switch before vCluster 0.20. */
const formerKinds: ReadonlySet<string> = new Set([
  ...['services', 'configmaps', 'secrets', 'endpoints', 'pods', 'events', 'nodes', 'persistentvolumeclaims'],
  ...['persistentvolumes', 'ingresses', 'ingressclasses', 'storageclasses', 'hoststorageclasses', 'priorityclasses'],
  ...['networkpolicies', 'volumesnapshots', 'poddisruptionbudgets', 'serviceaccounts', 'csinodes', 'csidrivers'],
  ...['csistoragecapacities', 'namespaces', 'generic'],
]);

/** One or two such keys may belong to a chart that contains the vCluster chart. */
const enoughFormerKeys = 3;

export function formerValueFaults(root: MapNode): Fault[] {
  const sync = child(root, 'sync');
  const hasKinds = sync?.kind === 'map' && [...sync.entries.keys()].some((key) => formerKinds.has(key));
  const found = [...root.entries.keys()].filter((key) => formerSections.has(key) || (key === 'sync' && hasKinds));
  const [first] = found;
  const isOfToday = root.entries.has('controlPlane') || find(root, ['sync', 'toHost']) !== undefined;
  if (first === undefined || isOfToday || found.length < enoughFormerKeys) return [];
  const key = root.entries.get(first)?.key;
  const at = key?.source.positionAt(key.start);
  const named = found.slice(0, enoughFormerKeys).join(', ');
  const sentence = `these are values of vCluster before 0.20 (${named}), which Hostward does not read`;
  const fix = 'convert them to a vcluster.yaml: vcluster convert config --distro k3s -f FILE';
  return [fault({ code: 'CONFIG_FORMER_VALUES', at, path: '', sentence, fix })];
}
