// Writes what `kubectl auth reconcile` grants: the rights that an account lacks, as a Role for each namespace, and a ClusterRole for those
// in all namespaces. In: the rights and the account. Out: YAML. Pure.
import { subjectNamed } from '../../management/proxy/upstream-roles.ts';
import { toYaml } from '../offline/yaml-text.ts';
import type { LackedRight } from './patient/patient.ts';

export interface LackedRights {
  user: string;
  /** Of the virtual cluster, for names that stay apart. */
  name: string;
  lacked: readonly LackedRight[];
}

export function grantsText({ user, name, lacked }: LackedRights): string {
  const places = Map.groupBy(lacked, ({ namespace }) => namespace);
  return [...places]
    .flatMap(([namespace, rights]) => roleWithBinding({ namespace, rights, user, name: `hostward-${name}-rights` }))
    .map(toYaml)
    .join('---\n');
}

const group = 'rbac.authorization.k8s.io';

function roleWithBinding({
  namespace,
  rights,
  user,
  name,
}: {
  namespace: string | undefined;
  rights: readonly LackedRight[];
  user: string;
  name: string;
}): object[] {
  const kind = namespace === undefined ? 'ClusterRole' : 'Role';
  const metadata = { name, ...(namespace !== undefined && { namespace }) };
  const byResource = Map.groupBy(rights, ({ group, resource, names }) => JSON.stringify([group, resource, names]));
  const rules = [...byResource.values()].map((same) => {
    const [{ group: ofResource, resource, names }] = same as [LackedRight];
    const verbs = [...new Set(same.map(({ verb }) => verb))];
    return { apiGroups: [ofResource], resources: [resource], ...(names && { resourceNames: [...names] }), verbs };
  });
  return [
    { apiVersion: `${group}/v1`, kind, metadata, rules },
    {
      apiVersion: `${group}/v1`,
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup: group, kind, name },
      subjects: [subjectNamed(user)],
    },
  ];
}
