// Whose an object is, read from its marks as DESIGN section 2 says. Written for the oracles alone: nothing of the daemon's own reading is used.

export interface Marked {
  metadata: {
    namespace?: string | undefined;
    name?: string | undefined;
    uid?: string | undefined;
    resourceVersion?: string | undefined;
    labels?: Record<string, string> | undefined;
    annotations?: Record<string, string> | undefined;
  };
  [field: string]: unknown;
}

const six = ['name', 'namespace', 'uid', 'kind', 'host-name', 'host-namespace'].map(
  (one) => `vcluster.loft.sh/object-${one}`,
);
export const markerLabel = 'vcluster.loft.sh/managed-by';
const anyVcluster = /^vcluster\.loft\.sh\//;

export function virtualKeyOf({ metadata: { annotations = {} } }: Marked): string | undefined {
  const [name, namespace] = [
    annotations['vcluster.loft.sh/object-name'],
    annotations['vcluster.loft.sh/object-namespace'],
  ];
  return name !== undefined && namespace !== undefined ? `${namespace}/${name}` : undefined;
}

export function ownedUidOf({ metadata: { annotations = {} } }: Marked): string | undefined {
  return annotations['vcluster.loft.sh/object-uid'];
}

export type Owner = 'ours' | 'native' | 'foreign';

export function ownerOf(object: Marked, virtualCluster: string): Owner {
  const { labels = {}, annotations = {}, namespace, name } = object.metadata;
  // An empty value is damage and no claim.
  const held = six.filter((key) => annotations[key]);
  const marker = labels[markerLabel];
  if (held.length === 0) {
    const isMarked = Object.keys(labels).some((key) => key === markerLabel || anyVcluster.test(key));
    return isMarked || marker !== undefined ? 'foreign' : 'native';
  }
  const contradicts =
    (annotations['vcluster.loft.sh/object-host-name'] || name) !== name ||
    (annotations['vcluster.loft.sh/object-host-namespace'] || namespace) !== namespace;
  if (contradicts) return 'foreign';
  return marker === virtualCluster || held.length === six.length ? 'ours' : 'foreign';
}

export function hasAllMarks({ metadata: { labels = {}, annotations = {} } }: Marked, virtualCluster: string): boolean {
  return labels[markerLabel] === virtualCluster && six.every((key) => annotations[key] !== undefined);
}

/** The version of a payload is in the last three numbers of its first address. */
export function versionIn(object: Marked | undefined): string | undefined {
  const text = JSON.stringify(object?.['subsets'] ?? object?.['endpoints'] ?? '');
  const match = /"(?:1|2)0\.(\d+\.\d+\.\d+)"|"fd00::([0-9a-f]+)"/.exec(text);
  return match === null ? undefined : (match[1] ?? match[2]);
}
