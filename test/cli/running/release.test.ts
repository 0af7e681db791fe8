import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { namespaceObject } from '../../../src/cli/demo/demo-story.ts';
import type { ClusterClient } from '../../../src/cli/line/cluster-client.ts';
import { releaseAll } from '../../../src/cli/running/release-objects.ts';
import { systemClock } from '../../../src/clock.ts';
import { endpointsResource, leasesResource, namespacesResource } from '../../../src/cluster/wire/scope.ts';
import { generatedName } from '../../../src/object/meta/names.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { endpointSlicesResource } from '../../../src/sync/kinds/endpointslices/endpointslice-kind.ts';
import { settings } from '../../config/loading.ts';
import { scene } from '../scene.ts';

import { annotations, cluster, copy, folder, host, real, release, releaseWith, setUp } from './release-stage.ts';

setUp();

const contents = [
  { kind: 'Secret', resource: { path: 'api/v1', resource: 'secrets', kind: 'Secret' } },
  { kind: 'ConfigMap', resource: { path: 'api/v1', resource: 'configmaps', kind: 'ConfigMap' } },
] as const;

/** A copy as reference patches leave it behind, with the given changes. */
function contentCopy(kind: string, name: string, hostName: string, extra: Record<string, string> = {}): KubeObject {
  const labels = { 'vcluster.loft.sh/managed-by': 'vc', 'vcluster.loft.sh/namespace': 'shop' };
  const annotations = {
    'vcluster.loft.sh/object-name': name,
    'vcluster.loft.sh/object-namespace': 'shop',
    'vcluster.loft.sh/object-uid': 'u',
    'vcluster.loft.sh/object-kind': `/v1, Kind=${kind}`,
    'vcluster.loft.sh/object-host-name': hostName,
    'vcluster.loft.sh/object-host-namespace': 'vcluster-vc',
    ...extra,
  };
  const metadata = { name: hostName, namespace: 'vcluster-vc', labels, annotations };
  return { apiVersion: 'v1', kind, metadata, data: {} };
}

it('hostward release says of mapped namespaces what a later start needs, and --delete does not', async () => {
  const namespaces = { enabled: true, mappings: { byName: { shop: 'shop-of-vc' } } };
  const { err } = await releaseWith({ namespaces }, '--dry-run');
  expect(err).toContain('hostward docs migrate');
  expect((await releaseWith({ namespaces }, '--dry-run', '--delete')).err).toBe('');
  expect((await release('--dry-run')).err).toBe('');
});

describe('hostward release that is told to stop', () => {
  it.each([true, false])(
    'finishes what it writes, begins nothing else, and says so; with --delete: %s',
    async (isDelete) => {
      for (let at = 0; at < 20; at++) await host.create(endpointsResource, copy(`more-${at}`));
      const stop = new AbortController();
      const told = {
        tryList: host.tryList.bind(host),
        get: host.get.bind(host),
        remove: (...given: Parameters<ClusterClient['remove']>) => {
          stop.abort();
          return host.remove(...given);
        },
        change: (...given: Parameters<ClusterClient['change']>) => {
          stop.abort();
          return host.change(...given);
        },
      } as ClusterClient;
      const environment = { VCLUSTER_NAME: 'vc', NAMESPACE: 'vcluster-vc' };
      const how = { settings: settings('{}', { environment }), isDelete, isDryRun: false, signal: stop.signal };
      const { done, isCut } = await releaseAll(real(scene().context), told, how);
      expect(isCut).toBe(true);
      const left = await host.list(endpointsResource, 'vcluster-vc');
      const still = left.filter(({ metadata }) => metadata.annotations?.['hostward.dev/base'] !== undefined).length;
      // 24 bear our mark, one of them held and one another virtual cluster's.
      expect([done.length > 0, done.length <= 8, still + done.length]).toEqual([true, true, 24]);
    },
  );

  it('says how to go on', async () => {
    const onSignal = (_: string, listener: () => void) => {
      listener();
      return () => {};
    };
    const { code, err, out } = await releaseWith({ context: { onSignal } });
    expect([code, out]).toEqual([3, '0 released, 0 left alone, 0 failed\n']);
    expect(err).toBe('stopped before all objects were looked at; run the command again for the rest\n');
  });
});

describe('hostward release --delete on exported Secrets and ConfigMaps', () => {
  const generated = (name: string) => generatedName({ name, namespace: 'shop' }, 'vc');
  const left = async () =>
    (await Promise.all(contents.map(({ resource }) => host.list(resource, 'vcluster-vc'))))
      .flat()
      .map(({ metadata: { name } }) => name)
      .filter((name) => name !== 'kube-root-ca.crt');

  const clear = async () => {
    for (const { resource } of contents)
      for (const object of await host.list(resource, 'vcluster-vc'))
        await host.remove(resource, { namespace: 'vcluster-vc', name: object.metadata.name! });
  };
  afterAll(clear);
  beforeEach(async () => {
    await clear();
    for (const { kind, resource } of contents) {
      await host.create(resource, contentCopy(kind, 'db', generated('db')));
      await host.create(resource, contentCopy(kind, 'held', generated('held'), { 'hostward.dev/pause': 'true' }));
      await host.create(resource, contentCopy(kind, 'db', 'db-x-shop-x-vc'));
      const own = { name: 'own', namespace: 'vcluster-vc', labels: { 'vcluster.loft.sh/managed-by': 'vc' } };
      await host.create(resource, { apiVersion: 'v1', kind, metadata: own });
    }
  });

  it('deletes our copies, and no object of vCluster or of the host', async () => {
    const { code, out } = await release('--delete');
    expect(code).toBe(0);
    for (const { kind } of contents) {
      expect(out).toContain(`deleted ${kind} vcluster-vc/${generated('db')}\n`);
      expect(out).toContain(`left alone ${kind} vcluster-vc/${generated('held')}: it is marked hostward.dev/pause\n`);
      expect(out).toContain(`left alone ${kind} vcluster-vc/own: no reference patch made it\n`);
    }
    expect(await left()).toEqual(contents.flatMap(() => ['db-x-shop-x-vc', 'own', generated('held')].sort()));
    expect((await release('--delete')).out).toContain('0 deleted');
  });

  it('leaves one that bears our marks in a mapped namespace, under a name that no copy of that object has', async () => {
    const namespaces = { enabled: true, mappings: { byName: { shop: 'shop-of-vc' } } };
    await host.create(namespacesResource, namespaceObject('shop-of-vc'));
    for (const { kind, resource } of contents) {
      for (const name of ['db', 'mine']) {
        const place = {
          'vcluster.loft.sh/object-host-namespace': 'shop-of-vc',
          'hostward.dev/instance': 'vcluster-vc/vc',
        };
        const object = contentCopy(kind, 'db', name, place);
        await host.create(resource, { ...object, metadata: { ...object.metadata, namespace: 'shop-of-vc' } });
      }
      const { out, err } = await releaseWith({ namespaces }, '--delete');
      expect(out).toContain(`deleted ${kind} shop-of-vc/db\n`);
      expect(out).toContain(`left alone ${kind} shop-of-vc/mine: no reference patch made it\n`);
      expect(err).toContain('what was left alone stays on the host: correct its marks');
      expect((await host.remove(resource, { namespace: 'shop-of-vc', name: 'mine' })).kind).toBe('ok');
    }
  });

  it('keeps the copies without --delete, because the handed-back objects name them', async () => {
    const { out } = await release();
    expect(out).not.toContain('Secret');
    expect(await left()).toHaveLength(8);
  });

  it('reports a kind that it may not list, and fails only when a patch names the kind', async () => {
    cluster.access.setRules('operator', [
      { apiGroups: [''], resources: ['endpoints'], verbs: ['get', 'list', 'patch', 'delete'] },
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get'] },
    ]);
    const own = join(folder, 'operator.kubeconfig');
    await writeFile(own, cluster.kubeconfigFor('operator', 'operator-token'));
    const { code, out } = await releaseWith({ kubeconfig: own }, '--delete');
    expect([code, out]).toEqual([0, expect.stringContaining('left alone secrets in vcluster-vc: not searched, ')]);
    expect(out).toContain('1 deleted');
    const patches = [{ path: 'metadata.annotations.k', reference: { apiVersion: 'v1', kind: 'Secret' } }];
    for (const list of ['patches', 'slicePatches']) {
      const named = await releaseWith({ kubeconfig: own, [list]: patches }, '--delete');
      expect([named.code, named.err], list).toEqual([
        3,
        expect.stringContaining('failed secrets in vcluster-vc: cannot list secrets'),
      ]);
    }
    expect(await left()).toHaveLength(8);
  });
});

describe('hostward release', () => {
  it('removes our annotations from our objects, and leaves other objects alone', async () => {
    const { code, out } = await release();
    expect(code).toBe(0);
    expect(out).toContain('released vcluster-vc/one-x-shop-x-vc\n');
    expect(out).toContain('left alone vcluster-vc/held-x-shop-x-vc: it is marked vcluster.loft.sh/controlled-by="x"\n');
    expect(out).toContain(
      'left alone vcluster-vc/others-x-shop-x-vc: its annotation vcluster.loft.sh/object-host-name is "somewhere-else", not "others-x-shop-x-vc"\n',
    );
    expect(out).toContain('2 released, 2 left alone, 0 failed\n');
    expect(await annotations()).toEqual({
      held: ['hostward.dev/base'],
      one: [],
      others: ['hostward.dev/base'],
      two: ['hostward.dev/pause'],
    });
  });

  it('has nothing to do the second time', async () => {
    await release();
    expect(JSON.parse((await release('-o', 'json')).out).done).toEqual([]);
  });

  it('deletes our copies, but no paused copy', async () => {
    expect((await release('--delete')).out).toContain('1 deleted, 3 left alone, 0 failed\n');
    expect(Object.keys(await annotations())).toEqual(['held', 'others', 'two']);
  });

  it('--dry-run lists the objects and changes none', async () => {
    const before = await annotations();
    expect((await release('--delete', '--dry-run')).out).toContain('would be deleted vcluster-vc/one-x-shop-x-vc\n');
    expect(await annotations()).toEqual(before);
  });

  it('refuses to run beside a daemon of the same virtual cluster, and runs beside other daemons', async () => {
    const daemon = { virtualCluster: 'vc', hostNamespace: 'vcluster-vc', isDryRun: false };
    const refused = await releaseWith({ daemon });
    expect([refused.code, refused.out]).toEqual([3, '']);
    expect(refused.err).toContain('a daemon of virtual cluster "vc" runs on 127.0.0.1:9440\nstop the daemon first');
    for (const other of [{ isDryRun: true }, { virtualCluster: 'w' }, { hostNamespace: 'w' }])
      expect((await releaseWith({ daemon: { ...daemon, ...other } })).code).toBe(0);
  });

  it('refuses to run while a daemon holds the lease, and runs when the lease has expired', async () => {
    const lease = (renewTime: Date) => ({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: 'vcluster-vc', name: 'hostward-vc' },
      spec: {
        holderIdentity: 'pod-0',
        leaseDurationSeconds: 15,
        renewTime: renewTime.toISOString().replace('Z', '000Z'),
      },
    });
    await host.create(leasesResource, lease(systemClock.wallTime()));
    const refused = await release();
    expect(refused.code).toBe(3);
    expect(refused.err).toContain('"pod-0" runs and holds the lease vcluster-vc/hostward-vc\nstop the daemon first');
    await host.remove(leasesResource, { namespace: 'vcluster-vc', name: 'hostward-vc' });
    await host.create(leasesResource, lease(new Date('2026-01-01T00:00:00Z')));
    expect((await release()).code).toBe(0);
  });

  it('refuses to run where daemons take a lease that it may not read', async () => {
    const rules = [{ apiGroups: [''], resources: ['endpoints'], verbs: ['get', 'list', 'patch', 'delete'] }];
    cluster.access.setRules('operator', rules);
    const own = join(folder, 'operator.kubeconfig');
    await writeFile(own, cluster.kubeconfigFor('operator', 'operator-token'));
    const refused = await releaseWith({ kubeconfig: own, hostward: { leaderElection: 'always' } }, '--delete');
    expect([refused.code, refused.out]).toEqual([3, '']);
    expect(refused.err).toContain(
      'nobody knows whether a daemon runs: cannot get leases.coordination.k8s.io vcluster-vc/hostward-vc',
    );
    expect((await releaseWith({ kubeconfig: own, hostward: { leaderElection: 'never' } }, '--delete')).code).toBe(0);
  });

  it('reports why it cannot reach the host', async () => {
    const { context, err } = scene();
    const argv = [
      'release',
      '--vcluster-name',
      'vc',
      '--host-namespace',
      'n',
      '--host-kubeconfig',
      join(folder, 'none'),
    ];
    expect(await runCommandLine(real(context), argv)).toBe(3);
    expect(err()).toMatch(/^hostward: .*none/);
  });
});

describe('hostward release on EndpointSlices', () => {
  const place = (name: string) => ({ namespace: 'vcluster-vc', name });
  const slice = (name: string, manager: string | undefined, extra: Record<string, string> = {}): KubeObject => {
    const { metadata } = copy(name, {
      'vcluster.loft.sh/object-kind': 'discovery.k8s.io/v1, Kind=EndpointSlice',
      ...(manager !== undefined && { 'hostward.dev/managed-by': manager }),
      ...extra,
    });
    const labels = { ...metadata.labels, 'endpointslice.kubernetes.io/managed-by': 'hostward.dev' };
    const endpoints = [{ addresses: ['10.0.0.1'] }];
    const kind = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4' };
    return { ...kind, metadata: { ...metadata, labels }, endpoints };
  };
  const clear = async () => {
    for (const { metadata } of await host.list(endpointSlicesResource, 'vcluster-vc'))
      await host.remove(endpointSlicesResource, place(metadata.name!));
  };
  afterAll(clear);
  beforeEach(async () => {
    await clear();
    const mirrored = slice('mirrored', undefined, { 'vcluster.loft.sh/object-kind': '/v1, Kind=Endpoints' });
    for (const object of [slice('s-1', 'my-operator'), slice('s-2', undefined), mirrored])
      await host.create(endpointSlicesResource, object);
  });

  it('hands them back with the manager of the tenant, and says nothing about slices that the host has mirrored', async () => {
    const { code, out } = await release();
    expect(code).toBe(0);
    expect(out).toContain('released EndpointSlice vcluster-vc/s-1-x-shop-x-vc\n');
    expect(out).not.toContain('mirrored');
    const objects = await host.list(endpointSlicesResource, 'vcluster-vc');
    const managers = objects.map(({ metadata: { name, labels = {}, annotations = {} } }) => [
      name,
      labels['endpointslice.kubernetes.io/managed-by'],
      Object.keys(annotations).filter((key) => key.startsWith('hostward.dev/')),
    ]);
    expect(managers.sort()).toEqual([
      ['mirrored-x-shop-x-vc', 'hostward.dev', ['hostward.dev/base']],
      ['s-1-x-shop-x-vc', 'my-operator', []],
      ['s-2-x-shop-x-vc', undefined, []],
    ]);
  });

  it('removes the copies with --delete', async () => {
    await release('--delete');
    const objects = await host.list(endpointSlicesResource, 'vcluster-vc');
    expect(objects.map(({ metadata }) => metadata.name)).toEqual(['mirrored-x-shop-x-vc']);
  });
});
