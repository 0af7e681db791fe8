// The roles of a project on a real kube-apiserver, bound as `hostward upstream-rbac` prints them: what each role may do, whether that
// agrees with the design, and whether reviews through the proxy say the same. For a suite that has a proxied cluster already.
import { beforeAll, describe, expect, it } from 'vitest';
import type { Proxied } from './proxied.ts';

const instance = 'project/shop/virtualcluster/v1';
const space = 'project/shop/space/s1';
type Role = 'viewer' | 'user' | 'admin';

/** Verb, resource, namespace, name, and the roles that may do it at the instance and in the space `shop-s1`. */
type Case = [string, string, string, string, string, string];
const rbac = 'rbac.authorization.k8s.io';
const cases: Case[] = [
  ['list', 'pods', 'shop-s1', '', 'user admin', 'user admin'],
  ['get', 'pods/log', 'shop-s1', 'web', 'user admin', 'user admin'],
  ['create', 'pods/exec', 'shop-s1', 'web', 'user admin', 'user admin'],
  ['list', 'secrets', 'shop-s1', '', 'user admin', 'user admin'],
  ['create', 'configmaps', 'shop-s1', '', 'user admin', 'user admin'],
  ['delete', 'configmaps', 'shop-s1', 'absent', 'user admin', 'user admin'],
  ['create', `rolebindings.${rbac}`, 'shop-s1', '', 'admin', 'admin'],
  ['list', 'pods', 'default', '', 'user admin', ''],
  ['list', 'secrets', 'kube-system', '', 'user admin', ''],
  ['list', 'pods', '', '', 'user admin', ''],
  ['list', 'nodes', '', '', 'admin', ''],
  ['create', 'namespaces', '', '', 'admin', ''],
  ['get', 'nodes/proxy', '', 'node', 'admin', ''],
  ['create', `clusterrolebindings.${rbac}`, '', '', 'admin', ''],
];
const kinds: Record<string, string> = {
  [`rolebindings.${rbac}`]: 'RoleBinding',
  [`clusterrolebindings.${rbac}`]: 'ClusterRoleBinding',
  configmaps: 'ConfigMap',
  namespaces: 'Namespace',
};

/** `proxied` has the rights that `hostward upstream-rbac` prints. */
export function describeRoles(proxied: () => Proxied): void {
  const keys = new Map<Role, string>();

  const ask = (role: Role, method: string, path: string, body?: object) =>
    proxied().bench.ask(method, path, { key: keys.get(role) as string, body });

  /** A 404 about an object, and a 400 because no session was asked for, come from behind the authorizer. */
  async function happens(role: Role, place: string, [verb, full, namespace, name]: Case): Promise<boolean> {
    const [resource = '', subresource] = full.split('/');
    const [plural = '', ...rest] = resource.split('.');
    const root = rest.length === 0 ? 'api/v1' : `apis/${rest.join('.')}/v1`;
    const parts = [...(namespace === '' ? [] : ['namespaces', namespace]), plural, name, subresource ?? ''];
    const dryRun = verb === 'create' && subresource === undefined ? '?dryRun=All' : '';
    const path = `/kubernetes/${place}/${root}/${parts.filter((part) => part !== '').join('/')}${dryRun}`;
    const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name: 'view' };
    const kind = kinds[resource];
    const body =
      kind === undefined ? undefined : { kind, apiVersion: root.replace(/^apis?\//, ''), metadata: { name: 'made' } };
    const whole = kind?.endsWith('Binding') === true ? { ...body, roleRef } : body;
    const method = { create: 'POST', delete: 'DELETE' }[verb] ?? 'GET';
    const { code, body: answer } = await ask(role, method, path, verb === 'create' ? whole : undefined);
    const message = String(answer['message'] ?? '');
    if (code === 401 || code >= 500) throw new Error(`${method} ${path}: ${code} ${message}`);
    return code !== 403 && !(code === 404 && /virtual cluster|space|cannot be found here/.test(message));
  }

  async function isSaid(role: Role, place: string, [verb, full, namespace, name]: Case): Promise<boolean> {
    const [resource = '', subresource = ''] = full.split('/');
    const [plural, ...group] = resource.split('.');
    const resourceAttributes = { verb, group: group.join('.'), resource: plural, subresource, namespace, name };
    const path = `/kubernetes/${place}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews`;
    const review = {
      kind: 'SelfSubjectAccessReview',
      apiVersion: 'authorization.k8s.io/v1',
      spec: { resourceAttributes },
    };
    const { code, body } = await ask(role, 'POST', path, review);
    return code === 201 && String(body['status']?.['allowed']) === 'true';
  }

  describe('the roles of a project', () => {
    beforeAll(async () => {
      for (const [role, user] of [
        ['viewer', 'bob'],
        ['user', 'alice'],
        ['admin', 'dora'],
      ] as const)
        keys.set(role, await proxied().bench.keyFor(`${role}-of-shop`, { user }));
    });

    for (const [at, place] of [instance, space].entries())
      it(`may do at ${place} what the design says, and reviews agree`, async () => {
        const found: string[] = [];
        const wanted: string[] = [];
        for (const one of cases)
          for (const role of ['viewer', 'user', 'admin'] as const) {
            const what = `${role} ${one.slice(0, 4).join(' ')}`;
            const may = (one[4 + at] as string).split(' ').includes(role);
            wanted.push(`${what}: ${may}, review ${may}`);
            found.push(`${what}: ${await happens(role, place, one)}, review ${await isSaid(role, place, one)}`);
          }
        expect(found).toEqual(wanted);
      }, 60_000);

    it('kubectl auth can-i --list shows the rights of the role, and says that a scope may narrow them', async () => {
      const list = async (role: Role, place: string, ...args: string[]) => {
        const { stdout, stderr } = await proxied().kubectl(
          keys.get(role) as string,
          place,
          'auth',
          'can-i',
          '--list',
          ...args,
        );
        return stdout + stderr;
      };
      expect(await list('viewer', instance)).toMatch(/Forbidden|NotFound|not found|could not find/i);
      const [user, admin, inSpace] = await Promise.all([
        list('user', instance, '-n', 'default'),
        list('admin', instance, '-n', 'default'),
        list('user', space, '-n', 'shop-s1'),
      ]);
      expect(user).toMatch(/\nsecrets +\[\] +\[\] +\[[^\]]*create/);
      expect(user).not.toMatch(/\n\*\.\* +\[\] +\[\] +\[\*\]/);
      expect(admin).toMatch(/\n\*\.\* +\[\] +\[\] +\[\*\]/);
      expect(inSpace).toMatch(/\npods\/exec +\[\] +\[\] +\[[^\]]*create/);
      for (const text of [user, admin, inSpace]) expect(text).toMatch(/incomplete|may narrow/i);
    }, 30_000);
  });
}
