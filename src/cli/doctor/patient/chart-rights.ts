// The rights that an installation needs on the host: to make and to delete what the chart makes, to keep what Helm keeps, and every
// right that the chart grants, because Kubernetes lets nobody grant a right that he lacks. In: the rendered chart, or what the
// configuration wants of it. Out: rights, each once. A test compares the lists with the templates, another one installs with these rights alone.
import type { Permission } from '../../../cluster/permission.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import { isRecord, textsIn } from '../../../object/text/json.ts';
import { type ResourceRule, referenceRules, shippedRules } from './shipped-rules.ts';

/** Helm 3 looks for an object before it makes it, and Helm 4 makes it by a patch. An upgrade deletes what a value switches off. */
const makes = ['get', 'create', 'patch', 'delete'] as const;

/** The kinds that the chart makes by default, with one virtual cluster in one namespace. */
export const chartKinds = [
  ['', 'serviceaccounts'],
  ['', 'configmaps'],
  ['', 'services'],
  ['apps', 'deployments'],
  ['policy', 'poddisruptionbudgets'],
  ['coordination.k8s.io', 'leases'],
  ['rbac.authorization.k8s.io', 'roles'],
  ['rbac.authorization.k8s.io', 'rolebindings'],
] as const;

/** With copies in several namespaces of the host. */
export const mappedKinds = [
  ['rbac.authorization.k8s.io', 'clusterroles'],
  ['rbac.authorization.k8s.io', 'clusterrolebindings'],
] as const;

/** Made where the cluster knows the kinds. */
export const monitoringGroup = 'monitoring.coreos.com';
export const monitoringKinds = [
  [monitoringGroup, 'servicemonitors'],
  [monitoringGroup, 'prometheusrules'],
] as const;

/** Helm keeps each release in a Secret. */
const helmRules: readonly ResourceRule[] = [
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'create', 'update', 'delete'] },
];

export interface Installation {
  namespace: string;
  /** Copies live in several namespaces of the host. */
  isMapped: boolean;
  hasReferences: boolean;
  hasMonitoring: boolean;
}

export function rightsToInstall({ namespace, isMapped, hasReferences, hasMonitoring }: Installation): Permission[] {
  const ofKinds = (kinds: readonly (readonly [string, string])[]): ResourceRule[] =>
    kinds.map(([group, resource]) => ({ apiGroups: [group], resources: [resource], verbs: makes }));
  const granted = [...shippedRules, ...(hasReferences ? referenceRules : [])];
  // In the one namespace whatever the copies need elsewhere.
  const own = granted.filter(({ resources }) => ['namespaces', 'leases'].some((one) => resources.includes(one)));
  const here = [...ofKinds([...chartKinds, ...(hasMonitoring ? monitoringKinds : [])]), ...helmRules];
  const everywhere = isMapped ? [...ofKinds(mappedKinds), ...granted.filter((one) => !own.includes(one))] : [];
  return unique([
    ...permissions([...here, ...(isMapped ? own : granted)], namespace),
    ...permissions(everywhere, undefined),
  ]);
}

/** How a cluster serves a kind. */
export interface ServedKind {
  group: string;
  resource: string;
  isNamespaced: boolean;
}

export interface Manifests {
  objects: readonly KubeObject[];
  /** Of the release, and of objects that name none. */
  namespace: string;
  servedAs(object: KubeObject): ServedKind | undefined;
}

/** Whatever the values switch on. `unknown` are the kinds that the cluster does not serve. */
export function rightsToInstallManifests({ objects, namespace, servedAs }: Manifests): {
  rights: Permission[];
  unknown: string[];
} {
  const rights = permissions(helmRules, namespace);
  const unknown = new Set<string>();
  for (const object of objects) {
    const served = servedAs(object);
    if (served === undefined) {
      unknown.add(`${object.kind} of ${object.apiVersion}`);
      continue;
    }
    const place = served.isNamespaced ? (object.metadata.namespace ?? namespace) : undefined;
    const made = { apiGroups: [served.group], resources: [served.resource], verbs: makes };
    rights.push(...permissions([made, ...rulesOf(object)], place));
  }
  return { rights: unique(rights), unknown: [...unknown] };
}

/** Only Roles have rules of this form. */
function rulesOf({ kind, rules }: KubeObject): ResourceRule[] {
  if ((kind !== 'Role' && kind !== 'ClusterRole') || !Array.isArray(rules)) return [];
  return rules.filter(isRecord).map((rule) => ({
    apiGroups: textsIn(rule['apiGroups']),
    resources: textsIn(rule['resources']),
    verbs: textsIn(rule['verbs']),
  }));
}

function permissions(rules: readonly ResourceRule[], namespace: string | undefined): Permission[] {
  return rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.map((verb) => ({ verb: verb as Permission['verb'], group, resource, namespace })),
      ),
    ),
  );
}

function unique(rights: readonly Permission[]): Permission[] {
  return [...new Map(rights.map((one) => [JSON.stringify(one), one])).values()];
}
