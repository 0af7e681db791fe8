// The Role of docs/replicas.md is all that a replica needs in the namespace of its records.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { systemClock } from '../../../../src/clock.ts';
import { type Devcluster, startDevcluster } from '../../../../src/devcluster/devcluster.ts';
import { silentLog } from '../../../../src/log.ts';
import { ManagementApi } from '../../../../src/management/server/server.ts';
import { ApiClient } from '../../../contract/client.ts';
import { people, until } from '../bench.ts';

const folder = mkdtempSync(join(tmpdir(), 'hostward-rights-'));
const namespace = 'hostward-records';
let host: Devcluster;
beforeAll(async () => {
  host = await startDevcluster({ name: 'host', authorization: 'rbac', users: [{ name: 'replica', token: 'replica' }] });
});
afterAll(async () => {
  await host.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('a replica with the rights of docs/replicas.md', () => {
  const client = () => new ApiClient({ url: host.url, caPem: host.caPem, token: host.adminToken });
  const post = async (path: string, body: object) => {
    const { status, text } = await client().request('POST', path, { body });
    if (status !== 201) throw new Error(`${path} was answered ${status}: ${text}`);
  };
  const serverWith = (name: string) => {
    const kubeconfig = join(folder, 'kubeconfig');
    const cluster = { server: host.url, 'certificate-authority-data': Buffer.from(host.caPem).toString('base64') };
    const text = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'host', cluster }],
      users: [{ name: 'replica', user: { token: 'replica' } }],
      contexts: [{ name: 'host', context: { cluster: 'host', user: 'replica' } }],
      'current-context': 'host',
    };
    writeFileSync(kubeconfig, JSON.stringify(text), { mode: 0o600 });
    const store = { kubernetes: { kubeconfig, namespace }, maxRecords: 1_000, maxBytes: 1_000_000 };
    const places = {
      listen: '127.0.0.1:0',
      baseURL: 'https://localhost',
      dataDir: join(folder, name),
      ingressListen: undefined,
    };
    return { ...places, store };
  };
  const apiOf = (name: string) =>
    new ManagementApi({
      settings: people,
      server: serverWith(name),
      clock: systemClock,
      log: silentLog,
      version: '0.1.0',
    });

  it('does not start without them, in one sentence that names what is missing', async () => {
    await post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    await expect(apiOf('none').open()).rejects.toThrow(/cannot get resource "secrets"/);
  });

  it('starts, makes keys, writes uses and sweeps with them', async () => {
    const page = readFileSync(new URL('../../../../docs/replicas.md', import.meta.url), 'utf8');
    const block = /```yaml\n([^`]*kind: Role\n[^`]*)```/.exec(page)?.[1] ?? '';
    const role = parse(block.replace(/^ {3}/gm, '')) as { metadata: object };
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
    await post(`${rbac}/roles`, role);
    await post(`${rbac}/rolebindings`, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'replica' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'hostward-records' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'replica' }],
    });
    const api = apiOf('one');
    await api.open();
    try {
      await api.serve();
      const made = await api.createKey({ metadata: { name: 'root' }, spec: { user: 'admin' } });
      const { key } = made['spec'] as { key: string };
      const own = new ApiClient({ url: `https://localhost:${api.port}`, caPem: api.caPem, token: key });
      const path = '/kubernetes/management/apis/management.platform/v1/ownedaccesskeys/root';
      expect((await own.request('GET', path)).status).toBe(200);
      await until(() => api.status().store?.sweeper !== undefined, 'a sweeper', 20_000);
      expect((await own.request('DELETE', path)).status).toBe(200);
      expect(api.status()).toMatchObject({ store: { troubles: [] } });
    } finally {
      await api.close();
    }
  }, 40_000);
});
