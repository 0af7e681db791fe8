import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubeconfigText } from '../../management/proxy/upstream.ts';
import { newFolder, runKeys } from './keys-bench.ts';

const { folder, remove } = newFolder();
const kubeconfig = `${folder}.kubeconfig`;
let server: Server;
let userInfo: object = { username: 'system:serviceaccount:hostward:proxy', groups: ['system:authenticated'] };

beforeAll(async () => {
  server = createServer((_request, response) => {
    response.writeHead(201, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ kind: 'SelfSubjectReview', metadata: {}, status: { userInfo } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  writeFileSync(kubeconfig, kubeconfigText(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'secret'));
});
afterAll(() => {
  server.close();
  remove();
});

function print(...argv: string[]) {
  const management = {
    listen: '127.0.0.1:0',
    dataDir: join(folder, 'data'),
    users: [{ name: 'alice', groups: ['devs'] }],
    teams: [{ name: 'red', users: ['alice'] }],
    clusters: [{ name: 'c1', kubeconfig }, { name: 'c2' }],
    projects: [
      {
        name: 'shop',
        members: [
          { user: 'alice', role: 'admin' },
          { group: 'ops', role: 'user' },
        ],
        virtualClusters: [
          {
            name: 'v1',
            kubeconfig,
            ingress: { server: 'https://v1.example.com' },
            clientCert: { clusterRole: 'admin' },
          },
        ],
        spaces: [{ name: 's1', cluster: 'c1', namespace: 'shop-s1' }],
      },
      { name: 'bank', members: [{ user: 'alice', role: 'viewer' }] },
    ],
  };
  const files = { '/home/h.yaml': JSON.stringify({ hostward: { management } }) };
  return runKeys(['upstream-rbac', '--config', 'h.yaml', ...argv], { files });
}

interface Printed {
  kind: string;
  metadata: { name: string; namespace?: string };
  rules?: { resources: string[]; resourceNames?: string[]; verbs: string[] }[];
  roleRef?: { name: string };
  subjects?: object[];
}

describe('hostward upstream-rbac', () => {
  it('lets Hostward act for the names of the configuration and no other, for the user that it logs in as', async () => {
    const { code, out, err } = await print('--cluster', 'c1');
    expect([code, err]).toEqual([0, '']);
    const objects = loadAll(out) as Printed[];
    expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`)).toEqual([
      'ClusterRole /hostward:proxy:c1',
      'ClusterRoleBinding /hostward:proxy:c1',
      'RoleBinding shop-s1/hostward:project:shop:user',
      'RoleBinding shop-s1/hostward:project:shop:admin',
    ]);
    const [role, binding, user] = objects;
    expect(role?.rules).toMatchObject([
      {
        resources: ['users'],
        resourceNames: ['hostward:user:admin', 'hostward:user:alice', 'hostward:team:red', 'hostward:subject'],
      },
      {
        resources: ['groups'],
        resourceNames: [
          ...['user', 'admin'].map((name) => `hostward:project:shop:${name}`),
          ...['hostward:group:devs', 'hostward:group:ops', 'system:authenticated'],
        ],
      },
      { resources: ['userextras/hostward.dev/key', 'userextras/hostward.dev/subject'] },
    ]);
    expect(role?.rules?.every(({ verbs }) => verbs.join() === 'impersonate')).toBe(true);
    expect(binding?.subjects).toEqual([{ kind: 'ServiceAccount', namespace: 'hostward', name: 'proxy' }]);
    expect(user).toMatchObject({
      roleRef: { name: 'edit' },
      subjects: [{ kind: 'Group', name: 'hostward:project:shop:user' }],
    });
  });

  it('adds the rights for certificates where the virtual cluster signs them', async () => {
    const { out } = await print('--instance', 'shop/v1', '--user', 'hostward', '-o', 'json');
    const { items } = JSON.parse(out) as { items: Printed[] };
    const rules = items[0]?.rules ?? [];
    expect(rules).toContainEqual(
      expect.objectContaining({ resources: ['clusterroles'], verbs: ['bind'], resourceNames: ['admin'] }),
    );
    expect(rules).toContainEqual(
      expect.objectContaining({ resources: ['signers'], resourceNames: ['kubernetes.io/kube-apiserver-client'] }),
    );
    expect(items[1]?.subjects).toEqual([{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'hostward' }]);
    expect(items.at(-1)).toMatchObject({ kind: 'ClusterRoleBinding', roleRef: { name: 'admin' } });
  });

  it('says so when Hostward may do everything there already', async () => {
    userInfo = { username: 'root', groups: ['system:masters'] };
    const { code, err } = await print('--cluster', 'c1');
    expect([code, err]).toEqual([0, expect.stringMatching(/^root may do everything there already/)]);
  });

  it.each([
    [[], 2, 'say which cluster is meant'],
    [['--cluster', 'c1', '--instance', 'shop/v1'], 2, 'say which cluster is meant'],
    [['--instance', 'v1'], 2, '--instance wants PROJECT/NAME'],
    [['--cluster', 'c9'], 1, 'the configuration has no cluster c9'],
    [['--instance', 'shop/v9'], 1, 'the configuration has no virtual cluster shop/v9'],
    [['--cluster', 'c2'], 1, 'the configuration has no kubeconfig of cluster c2'],
  ])('%j: %i, %s', async (argv, exitCode, sentence) => {
    const { code, err, out } = await print(...argv);
    expect([code, out]).toEqual([exitCode, '']);
    expect(err).toContain(sentence);
  });
});
