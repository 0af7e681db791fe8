// The keys that carry meaning on both sides: vCluster's own, ours, and Kubernetes'. One place, so that a key is spelled
// once. Nothing here decides anything.

export const objectKeys = {
  name: 'vcluster.loft.sh/object-name',
  namespace: 'vcluster.loft.sh/object-namespace',
  uid: 'vcluster.loft.sh/object-uid',
  kind: 'vcluster.loft.sh/object-kind',
  hostName: 'vcluster.loft.sh/object-host-name',
  hostNamespace: 'vcluster.loft.sh/object-host-namespace',
} as const;

/** "The six" of the design. */
export const theSix: readonly string[] = Object.values(objectKeys);

export const managedAnnotationsKey = 'vcluster.loft.sh/managed-annotations';
export const markerLabel = 'vcluster.loft.sh/managed-by';
export const namespaceLabel = 'vcluster.loft.sh/namespace';
export const controlledByKey = 'vcluster.loft.sh/controlled-by';
export const skipBackSyncKey = 'vcluster.loft.sh/skip-backsync';

export const baseKey = 'hostward.dev/base';
export const instanceKey = 'hostward.dev/instance';
export const pauseKey = 'hostward.dev/pause';

/** On a host object: tenants may have a copy of it. */
export const importableLabel = 'hostward.dev/importable';
/** On a tenant's object: the uid of the host object that it is a copy of. */
export const importedFromKey = 'hostward.dev/imported-from';
/** On an exported copy: which of its labels came from the tenant. */
export const labelKeysKey = 'hostward.dev/label-keys';

export const leaderKey = 'control-plane.alpha.kubernetes.io/leader';

export const fieldManager = 'hostward';

export function isReserved(key: string): boolean {
  return key.startsWith('vcluster.loft.sh/') || key.startsWith('hostward.dev/');
}

/** Keys that go forward like any other but never come back: their owners live on the side where they stand. */
export function isNeverBack(
  key: string,
  { controllerKeyPrefixes }: { controllerKeyPrefixes: readonly string[] },
): boolean {
  return (
    key === 'kubectl.kubernetes.io/last-applied-configuration' ||
    key === 'service.kubernetes.io/headless' ||
    key === leaderKey ||
    controllerKeyPrefixes.some((prefix) => key.startsWith(prefix)) ||
    isReserved(key)
  );
}
