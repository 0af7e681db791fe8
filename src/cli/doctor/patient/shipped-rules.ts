// What the Roles in config/ grant on the host, so that a right which is shipped is not called one too many, even where the present
// configuration does not need it. A test compares this list with config/role.yaml, config/cluster-role.yaml and the chart.

export interface ResourceRule {
  verbs: readonly string[];
  apiGroups: readonly string[];
  resources: readonly string[];
}

const copies = ['get', 'list', 'watch', 'create', 'patch', 'delete'] as const;

export const shippedRules: readonly ResourceRule[] = [
  { apiGroups: [''], resources: ['endpoints'], verbs: copies },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: copies },
  { apiGroups: [''], resources: ['services'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] },
];

/** What the chart grants with sync.references=true. */
export const referenceRules: readonly ResourceRule[] = [
  { apiGroups: [''], resources: ['secrets', 'configmaps'], verbs: copies },
];
