// Which combinations of writers of Endpoints and EndpointSlices lose addresses or the tenant's objects, each by its name. Seen
// between real clusters with kube-controller-manager on both sides. Pure.

/** The kinds that vCluster syncs by default and whose host objects Hostward controls. */
export const sharedKinds = ['endpoints', 'endpointSlices'] as const;
export type SharedKind = (typeof sharedKinds)[number];

export const kindWords = { endpoints: 'Endpoints', endpointSlices: 'EndpointSlices' };

export interface Writers {
  /** The kinds that Hostward syncs. */
  ours: readonly SharedKind[];
  /** The kinds that vCluster syncs. */
  vclusters: readonly SharedKind[];
  /** Whether an expression changes what one of the kinds says. */
  arePatched: boolean;
}

const deletesCopies =
  "the host's mirroring controller takes vCluster's copies of mirrored slices for its own and deletes some, and vCluster then deletes the tenant's slices";
const publishesTwice =
  "the host mirrors the Endpoints that vCluster writes, beside the tenant's mirrored slices that Hostward writes, so every address has two slices and patches hide none";
const fightsOverPorts =
  "the host's mirroring controller makes slices from the patched Endpoints and vCluster copies the unpatched ones, so the two rewrite and delete each other's slices without end";

/** The kind whose writer has to change, and why; undefined for a sound combination. A kind with two writers is no case of this. */
export function unsoundWriters(writers: Writers): { kind: SharedKind; sentence: string } | undefined {
  const { ours, vclusters } = writers;
  const isVclusterAlone = (kind: SharedKind): boolean => vclusters.includes(kind) && !ours.includes(kind);
  const name = `{${sharedKinds.map((kind) => `${kindWords[kind]}: ${writersOf(kind, writers)}`).join(', ')}}`;
  const unsound = (kind: SharedKind, why: string) => ({ kind, sentence: `${name} is an unsound combination: ${why}` });
  if (isVclusterAlone('endpointSlices')) {
    if (!isVclusterAlone('endpoints')) return unsound('endpointSlices', deletesCopies);
    return writers.arePatched ? unsound('endpointSlices', fightsOverPorts) : undefined;
  }
  const isReversed = isVclusterAlone('endpoints') && ours.includes('endpointSlices');
  return isReversed ? unsound('endpoints', publishesTwice) : undefined;
}

function writersOf(kind: SharedKind, { ours, vclusters }: Writers): string {
  const names = [...(ours.includes(kind) ? ['Hostward'] : []), ...(vclusters.includes(kind) ? ['vCluster'] : [])];
  return names.length === 0 ? 'off' : names.join(' and ');
}
