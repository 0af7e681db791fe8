// The rights that the daemon needs in both clusters.
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { hostNamespace, type Right } from './backend.ts';

const roleFile = new URL('../../../config/role.yaml', import.meta.url);

/** Rights in the virtual cluster. A sidecar is the administrator there, but needs only these. */
export const virtualRights: readonly Right[] = [
  { group: '', resources: ['endpoints'], verbs: ['get', 'list', 'watch', 'patch'] },
  { group: '', resources: ['services'], verbs: ['get', 'list', 'watch'] },
  { group: '', resources: ['namespaces'], verbs: ['get'] },
  { group: 'discovery.k8s.io', resources: ['endpointslices'], verbs: ['get', 'list', 'watch', 'patch'] },
  { group: '', resources: ['events'], verbs: ['create', 'patch'] },
];

/** The rights of config/role.yaml, in the namespace of the test. */
export function roleRights(namespace = hostNamespace): Right[] {
  const role = parseAllDocuments(readFileSync(roleFile, 'utf8'))
    .map(
      (document) =>
        document.toJS() as { kind?: string; rules?: { apiGroups: string[]; resources: string[]; verbs: string[] }[] },
    )
    .find(({ kind }) => kind === 'Role');
  return (role?.rules ?? []).flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.map((group) => ({ group, resources, verbs, namespace })),
  );
}
