// The label and annotation keys with a special meaning, of vCluster, Hostward and Kubernetes, each spelled only here.

export const objectKeys = {
  name: 'vcluster.loft.sh/object-name',
  namespace: 'vcluster.loft.sh/object-namespace',
  uid: 'vcluster.loft.sh/object-uid',
  kind: 'vcluster.loft.sh/object-kind',
  hostName: 'vcluster.loft.sh/object-host-name',
  hostNamespace: 'vcluster.loft.sh/object-host-namespace',
} as const;

/** "The six": the annotations by which vCluster and Hostward tell which virtual object a host object is a copy of. */
export const theSix: readonly string[] = Object.values(objectKeys);

export const managedAnnotationsKey = 'vcluster.loft.sh/managed-annotations';
export const markerLabel = 'vcluster.loft.sh/managed-by';
export const namespaceLabel = 'vcluster.loft.sh/namespace';
export const controlledByKey = 'vcluster.loft.sh/controlled-by';
export const skipBackSyncKey = 'vcluster.loft.sh/skip-backsync';

export const baseKey = 'hostward.dev/base';
export const instanceKey = 'hostward.dev/instance';
export const pauseKey = 'hostward.dev/pause';

/** Label of a host object that tenants may import. */
export const importableLabel = 'hostward.dev/importable';
/** Annotation of an imported object: the uid of its host object. */
export const importedFromKey = 'hostward.dev/imported-from';
/** Label of an imported object, by which a daemon finds it whose patches name no object of its kind. */
export const importedLabel = 'hostward.dev/imported';
/** Annotation of an exported copy: the label keys that came from the tenant. */
export const labelKeysKey = 'hostward.dev/label-keys';

/** Annotation in which `kubectl apply` keeps the object as it was applied, with all its labels and annotations. */
export const lastAppliedKey = 'kubectl.kubernetes.io/last-applied-configuration';

export const leaderKey = 'control-plane.alpha.kubernetes.io/leader';

export const fieldManager = 'hostward';

/** The annotations that a create has copied from the tenant, in vCluster too. */
export function copiedAnnotations(host: { annotations?: Record<string, string> }): ReadonlySet<string> {
  return new Set((host.annotations?.[managedAnnotationsKey] ?? '').split('\n'));
}

export function isReserved(key: string): boolean {
  return key.startsWith('vcluster.loft.sh/') || key.startsWith('hostward.dev/');
}

/** Whether the key is the host spelling of a label of the tenant, such as `release`; see hostLabelKey(). */
export function isRewrittenLabel(key: string): boolean {
  return key.startsWith('vcluster.loft.sh/label-');
}

/** Keys that flow forward but never back: controllers of each side maintain their own values. */
export function isNeverBack(
  key: string,
  { controllerKeyPrefixes }: { controllerKeyPrefixes: readonly string[] },
): boolean {
  return (
    key === lastAppliedKey ||
    key === 'service.kubernetes.io/headless' ||
    key === leaderKey ||
    controllerKeyPrefixes.some((prefix) => key.startsWith(prefix)) ||
    isReserved(key)
  );
}
