// The whole way without an outside program: the management server in front of an embedded cluster whose roles decide.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Devcluster, startDevcluster } from '../../../src/devcluster/devcluster.ts';
import { subjectNamed, upstreamObjects } from '../../../src/management/proxy/upstream-roles.ts';
import { createMetrics } from '../../../src/metrics.ts';
import { ApiClient } from '../../contract/client.ts';
import { type Bench, keysPath, openBench, people, until } from '../server/bench.ts';
import { placesAt } from './upstream.ts';

const instance = '/kubernetes/project/shop/virtualcluster/v1';
const configMaps = '/api/v1/namespaces/default/configmaps';

let cluster: Devcluster;
let bench: Bench;
let folder: string;
const metrics = createMetrics();
let alice: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hostward-embedded-'));
  cluster = await startDevcluster({ authorization: 'rbac', users: [{ name: 'proxy', token: 'proxy-token' }] });
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, cluster.kubeconfigFor('proxy', 'proxy-token'), { mode: 0o600 });
  const settings = { ...people, ...placesAt(kubeconfig) };
  const client = new ApiClient({ url: cluster.url, caPem: cluster.caPem, token: cluster.adminToken });
  const objects = upstreamObjects(settings, { project: 'shop', virtualCluster: 'v1' }, subjectNamed('proxy')) ?? [];
  for (const object of objects) {
    const { kind } = object as { kind: string };
    const path = `/apis/rbac.authorization.k8s.io/v1/${kind.toLowerCase()}s`;
    expect(await client.request('POST', path, { body: object })).toMatchObject({ status: 201 });
  }
  await client.close();
  bench = await openBench({ settings, metrics });
  alice = await bench.keyFor('alice-key', { user: 'alice' });
});

afterAll(async () => {
  await bench.stop();
  await cluster.stop();
  rmSync(folder, { recursive: true, force: true });
});

const ask = (method: string, path: string, how: object = {}) =>
  bench.ask(method, instance + path, { key: alice, ...how });

describe('an embedded cluster behind the management server', () => {
  it('serves a member of the project as the role allows, under the own name', async () => {
    const body = { metadata: { name: 'one' }, data: { a: 'b' } };
    expect(await ask('POST', configMaps, { body })).toMatchObject({ code: 201 });
    expect(await ask('GET', `${configMaps}/one`)).toMatchObject({ code: 200, body: { data: { a: 'b' } } });
    const refused = await ask('GET', '/api/v1/nodes');
    expect(refused).toMatchObject({ code: 403 });
    // The cluster may lack the bindings of the project, and only its operator can tell.
    expect(refused.headers['warning']).toMatch(
      /^299 hostward "virtual cluster shop\/v1 itself refused this; .* hostward upstream-rbac --instance shop\/v1 --config FILE >rights.yaml && kubectl --kubeconfig ADMIN-THERE apply -f rights.yaml"$/,
    );
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const whoAmI = await ask('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', { body: review });
    expect(whoAmI.body['status']?.['userInfo']).toMatchObject({
      username: 'hostward:user:alice',
      groups: ['hostward:project:shop:user', 'hostward:group:devs', 'system:authenticated'],
      extra: { 'hostward.dev/key': ['alice-key'] },
    });
  });

  it('answers reviews with the truth of both', async () => {
    const mayI = async (verb: string, resource: string, key = alice) => {
      const spec = { resourceAttributes: { verb, resource, namespace: 'default' } };
      const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec };
      const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
      return (await ask('POST', path, { body, key })).body['status']?.['allowed'];
    };
    expect([await mayI('create', 'configmaps'), await mayI('list', 'nodes')]).toEqual([true, false]);
    const scope = { rules: [{ verbs: ['get'] }] };
    const reader = await bench.keyFor('reader', { user: 'alice', scope });
    expect([await mayI('get', 'configmaps', reader), await mayI('create', 'configmaps', reader)]).toEqual([
      true,
      false,
    ]);
  });

  it('ends a watch with its key', async () => {
    const key = await bench.keyFor('watcher', { user: 'alice' });
    const watch = await bench.follow(`${instance}${configMaps}?watch=true`, key);
    await until(() => watch.events.length > 0, 'the first event');
    expect(await metrics.metrics()).toMatch(/^hostward_proxied_requests 1$/m);
    await bench.ask('GET', `${instance}${configMaps}`, { key: 'mpk_wrong' });
    expect(await metrics.metrics()).toMatch(/^hostward_failed_authentications_total 1$/m);
    await bench.ask('DELETE', `${keysPath}/watcher`);
    await watch.ended;
    await until(async () => /^hostward_proxied_requests 0$/m.test(await metrics.metrics()), 'the end');
    expect(watch.events.at(-1)).toMatchObject({ type: 'ERROR', object: { code: 401 } });
  });
});
