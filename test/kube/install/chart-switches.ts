// The switches of the chart, as values of --set.

export const replicated = ['management.enabled=true', 'management.replicas=2', 'management.store.type=kubernetes'];

/** Each switch of the chart, one after the other, and all of them together. */
export const switches: Readonly<Record<string, readonly string[]>> = {
  'nothing but the name': [],
  'one replica': ['sync.replicas=1'],
  'an image by digest, with pull secrets': [`image.digest=sha256:${'0'.repeat(64)}`, 'pullSecrets[0]=registry'],
  references: ['sync.references=true', 'sync.toHost.secrets.enabled=true'],
  'namespace mapping': ['sync.toHost.namespaces.enabled=true', 'sync.toHost.namespaces.mappings.byName.a=b'],
  'namespace mapping without cluster-scoped objects': [
    'cluster=false',
    'sync.toHost.namespaces.enabled=true',
    'sync.toHost.namespaces.mappings.byName.a=b',
  ],
  'the management API alone': ['sync.enabled=false', 'management.enabled=true'],
  'the management API with its Secrets': [
    'management.enabled=true',
    'management.tlsSecret=t',
    'management.upstreamsSecret=u',
  ],
  'a store in the cluster': ['management.enabled=true', 'management.store.type=kubernetes'],
  'two replicas of the management API': replicated,
  'two replicas on another cluster, with their secrets in a Secret': [
    ...replicated,
    'management.store.kubeconfigSecret=k',
    'management.secrets.existingSecret=s',
  ],
  'two replicas without cluster-scoped objects': [...replicated, 'cluster=false'],
  'the wall of admission policies': ['admissionPolicy.enabled=true', 'sync.hostward.addressPolicy.deny={10.66.0.0/16}'],
  'the wall of admission policies, with namespace mapping': [
    'admissionPolicy.enabled=true',
    'sync.toHost.namespaces.enabled=true',
    'sync.toHost.namespaces.mappings.byName.a=b',
  ],
  'a dashboard': ['monitoring.dashboard=true'],
  'network policies': ['networkPolicy.enabled=true', 'management.enabled=true'],
  'where the pods go': ['nodeSelector.a=b', 'tolerations[0].key=c', 'priorityClassName=high', 'podLabels.d=e'],
};
