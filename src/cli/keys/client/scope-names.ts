// Finds the names in the scope of a key that the configuration does not have: a key with a mistyped project is valid, and opens
// nothing. In: the scope as the user wrote it, and the settings. Out: sentences.
import type { ManagementSettings } from '../../../config/settings/management-settings.ts';
import { nearestKey } from '../../../object/meta/nearest-key.ts';
import { isRecord } from '../../../object/text/json.ts';

interface Named {
  path: string;
  word: string;
  name: unknown;
  known: readonly string[];
}

export function unknownNames(scope: Record<string, unknown>, settings: ManagementSettings): string[] {
  return [...namesIn(scope, settings)].flatMap(({ path, word, name, known }) => {
    if (typeof name !== 'string' || name === '' || name === '*' || known.includes(name)) return [];
    const nearest = nearestKey(name, known);
    const meant = nearest === undefined ? '' : `, did you mean "${nearest}"?`;
    return [`${path}: the configuration has no ${word} "${name}"${meant}`];
  });
}

function* namesIn(scope: Record<string, unknown>, { projects, clusters }: ManagementSettings): Generator<Named> {
  const projectNames = projects.map(({ name }) => name);
  const clusterNames = clusters.map(({ name }) => name);
  const instanceNames = projects.flatMap(({ name, virtualClusters }) =>
    virtualClusters.map((instance) => `${name}/${instance.name}`),
  );
  const project = (path: string, name: unknown): Named => ({ path, word: 'project', name, known: projectNames });
  for (const list of ['projects', 'spaces', 'virtualClusters'])
    for (const [at, entry] of entriesOf(scope, list)) yield project(`scope.${list}[${at}].project`, entry['project']);
  for (const [kind, member, word] of [
    ['spaces', 'space', 'space'],
    ['virtualClusters', 'virtualCluster', 'virtual cluster'],
  ] as const)
    for (const [at, entry] of entriesOf(scope, kind)) {
      const inProject = projects.find(({ name }) => name === entry['project']);
      // An unknown project has a sentence of its own.
      if (inProject === undefined) continue;
      const known = inProject[kind].map(({ name }) => name);
      yield { path: `scope.${kind}[${at}].${member}`, word, name: entry[member], known };
    }
  for (const list of ['clusters', 'rules'])
    for (const [at, entry] of entriesOf(scope, list))
      yield { path: `scope.${list}[${at}].cluster`, word: 'cluster', name: entry['cluster'], known: clusterNames };
  for (const [at, role] of entriesOf(scope, 'roles')) {
    for (const [of, name] of textsOf(role['projects'])) yield project(`scope.roles[${at}].projects[${of}]`, name);
    for (const [of, name] of textsOf(role['virtualClusters']))
      yield { path: `scope.roles[${at}].virtualClusters[${of}]`, word: 'virtual cluster', name, known: instanceNames };
  }
}

function entriesOf(scope: Record<string, unknown>, list: string): [number, Record<string, unknown>][] {
  const entries = scope[list];
  return (Array.isArray(entries) ? entries : []).map((entry, at) => [at, isRecord(entry) ? entry : {}]);
}

function textsOf(value: unknown): [number, unknown][] {
  return Array.isArray(value) ? [...value.entries()] : [];
}
