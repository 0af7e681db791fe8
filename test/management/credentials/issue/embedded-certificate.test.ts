// The certificate form of a kubeconfig without an outside program: signed by a CA at hand, and taken by an embedded cluster whose roles
// decide. Its group is bound for as long as the key lives that asked for it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeAuthority } from '../../../../src/apiserver/tls/certificates.ts';
import { type Devcluster, startDevcluster } from '../../../../src/devcluster/devcluster.ts';
import { subjectNamed, upstreamObjects } from '../../../../src/management/proxy/upstream-roles.ts';
import { ApiClient } from '../../../contract/client.ts';
import { type Bench, keysPath, openBench, people, until } from '../../server/bench.ts';

const path =
  '/kubernetes/management/apis/management.platform/v1/namespaces/p-shop/virtualclusterinstances/v1/kubeconfig';

let cluster: Devcluster;
let bench: Bench;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hostward-embedded-certificate-'));
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const authority = await makeAuthority('clients', new Date());
  cluster = await startDevcluster({
    authorization: 'rbac',
    clientCa: authority.certPem,
    users: [{ name: 'hostward', token: 'hostward-token' }],
  });
  const settings = {
    ...people,
    projects: [
      {
        name: 'shop',
        members: [{ user: 'alice', role: 'admin' as const }],
        virtualClusters: [
          {
            name: 'v1',
            kubeconfig: file('own.kubeconfig', cluster.kubeconfigFor('hostward', 'hostward-token')),
            ingress: {
              server: cluster.url,
              servedBy: 'virtualCluster' as const,
              certificateAuthority: file('serving-ca.crt', cluster.caPem),
            },
            signing: { certificate: file('ca.crt', authority.certPem), key: file('ca.key', authority.keyPem) },
            clientCert: { clusterRole: 'view', maxTTL: 0 },
          },
        ],
        spaces: [],
      },
    ],
  };
  const client = new ApiClient({ url: cluster.url, caPem: cluster.caPem, token: cluster.adminToken });
  const objects = upstreamObjects(settings, { project: 'shop', virtualCluster: 'v1' }, subjectNamed('hostward')) ?? [];
  for (const object of objects) {
    const { kind } = object as { kind: string };
    const resource = `/apis/rbac.authorization.k8s.io/v1/${kind.toLowerCase()}s`;
    expect(await client.request('POST', resource, { body: object })).toMatchObject({ status: 201 });
  }
  await client.close();
  bench = await openBench({ settings });
});

afterAll(async () => {
  await bench?.stop();
  await cluster?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Kubeconfig {
  clusters: { cluster: Record<string, string> }[];
  users: { user: Record<string, string> }[];
}

/** A request as a client sends it that knows nothing but the kubeconfig. */
function codeWith({ clusters, users }: Kubeconfig, method: string, resource: string, body?: object): Promise<number> {
  const [{ cluster: place } = { cluster: {} as Record<string, string> }] = clusters;
  const [{ user } = { user: {} as Record<string, string> }] = users;
  const decode = (text = '') => Buffer.from(text, 'base64').toString('utf8');
  return new Promise((resolve, reject) => {
    const sent = request(
      `${place['server']}${resource}`,
      {
        ...{ method, agent: false, headers: { 'content-type': 'application/json' } },
        ca: decode(place['certificate-authority-data']),
        cert: decode(user['client-certificate-data']),
        key: decode(user['client-key-data']),
      },
      (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
      },
    );
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

describe('a client certificate at an embedded cluster', () => {
  it('has the rights of its ClusterRole, and none any more when its key dies', async () => {
    const key = await bench.keyFor('short-lived', { user: 'alice' });
    const made = await bench.ask('POST', path, { key, body: { spec: { clientCert: true } } });
    expect(made, made.text).toMatchObject({ code: 201 });
    const kubeconfig = load(String(made.body['status']?.['kubeConfig'])) as Kubeconfig;
    const configMaps = '/api/v1/namespaces/default/configmaps';
    expect(await codeWith(kubeconfig, 'GET', configMaps)).toBe(200);
    expect(await codeWith(kubeconfig, 'POST', configMaps, { metadata: { name: 'one' } })).toBe(403);
    await bench.ask('DELETE', `${keysPath}/short-lived`);
    let code = 200;
    await until(async () => {
      code = await codeWith(kubeconfig, 'GET', configMaps);
      return code !== 200;
    }, 'the end of the binding');
    expect(code).toBe(403);
    await until(() => bench.api.status().certificates.removalsWaiting.length === 0, 'the end of the record');
  });
});
