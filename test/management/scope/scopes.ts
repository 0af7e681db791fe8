import { loadConfiguration } from '../../../src/config/load/load.ts';
import { allows } from '../../../src/management/scope/allows.ts';
import { Directory, type KeyGroups, type Subject, type SubjectName } from '../../../src/management/scope/directory.ts';
import { parseScope } from '../../../src/management/scope/parse-scope.ts';
import type { AccessRequest, Destination, ScopedRequest } from '../../../src/management/scope/request.ts';
import type { Scope } from '../../../src/management/scope/scope.ts';
import { fieldErrorText } from '../../../src/object/meta/field-error.ts';

/** Two projects, two clusters and one person for every right. */
export const shopText = `
hostward:
  management:
    administrators: {users: [root], groups: [ops]}
    users:
      - {name: alice, groups: [devs]}
      - {name: bob}
      - {name: carol, disabled: true}
      - {name: vera}
    teams:
      - {name: red, users: [alice], groups: []}
      - {name: blue, groups: [devs]}
    clusters:
      - {name: c1, members: [{user: alice}]}
      - {name: c2}
    projects:
      - name: a
        members: [{user: alice, role: admin}, {team: red, role: user}, {user: vera, role: viewer}, {group: qa, role: user}]
        virtualClusters: [{name: v}, {name: w}]
        spaces: [{name: s, cluster: c1, namespace: a-s}]
      - name: b
        members: [{team: blue, role: user}]
        virtualClusters: [{name: v}]
        spaces: [{name: s, cluster: c2, namespace: b-s}]
`;

export function directoryOf(text: string): Directory {
  const loaded = loadConfiguration({ environment: {}, files: [{ name: 'f.yaml', text }] });
  const settings = loaded.kind === 'ok' ? loaded.settings.management : undefined;
  if (settings === undefined) throw new Error(`load a configuration: want one without faults, got ${loaded.kind}`);
  return new Directory(settings);
}

export const shop = directoryOf(shopText);

export function subject(name: string, groups?: KeyGroups, kind: SubjectName['kind'] = 'user'): Subject {
  const resolved = shop.resolve({ kind, name }, groups);
  if (resolved.kind !== 'here') throw new Error(`resolve a subject: want ${name}, who is ${resolved.kind}`);
  return resolved.subject;
}

/** Throws when the scope has a fault. */
export function scope(value: unknown): Scope {
  const parsed = parseScope(value);
  if (parsed.errors.length > 0) throw new Error(parsed.errors.map(fieldErrorText).join('\n'));
  return parsed.scope;
}

/**
 * `get pods/log.apps name in namespace @ cluster/c1`, the parts behind the second word optional; a path in place of the
 * resource; `@ vc/a/v` and `@ space/a/s` for the other targets; `all` for a request across all namespaces.
 */
export function request(text: string): AccessRequest {
  const [what = '', place] = text.split(' @ ');
  const target = destination(place);
  const [verb = '', resource = '', ...rest] = what.split(' ');
  if (resource.startsWith('/')) return { isResource: false, target, verb, path: resource };
  const namespace = rest.at(-2) === 'in' ? (rest.at(-1) ?? '') : '';
  const name = rest[0] === 'in' || rest[0] === 'all' ? '' : (rest[0] ?? '');
  const dot = resource.indexOf('.');
  const [plain = '', subresource = ''] = (dot < 0 ? resource : resource.slice(0, dot)).split('/');
  const group = dot < 0 ? '' : resource.slice(dot + 1);
  const found: ScopedRequest = {
    isResource: true,
    target,
    verb,
    group,
    resource: plain,
    subresource,
    namespace,
    name,
  };
  return rest.includes('all') ? { ...found, allNamespaces: true } : found;
}

function destination(place: string | undefined): Destination {
  const [kind, first = '', second = ''] = (place ?? '').split('/');
  if (kind === 'cluster') return { kind: 'Cluster', cluster: first };
  if (kind === 'vc') return { kind: 'ProjectVirtualCluster', project: first, virtualCluster: second };
  if (kind === 'space') return { kind: 'ProjectSpace', project: first, space: second };
  return { kind: 'Management' };
}

/** Whether the shop allows the request to a key of this person with these scopes. */
export function answer(who: string, text: string, ...scopes: unknown[]): boolean {
  const given = scopes.map((value) => (value === undefined ? undefined : scope(value)));
  const credential = { subject: subject(who), keyName: 'own', scopes: given.length === 0 ? [undefined] : given };
  return allows(shop, credential, request(text)).allowed;
}
