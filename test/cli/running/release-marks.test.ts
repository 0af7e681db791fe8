import { beforeAll, describe, expect, it } from 'vitest';
import doubts from '../../../fixtures/release/doubts.json' with { type: 'json' };
import { endpointsObject, namespaceObject } from '../../../src/cli/demo/demo-story.ts';
import { endpointsResource, namespacesResource } from '../../../src/cluster/wire/scope.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { endpointSlicesResource } from '../../../src/sync/kinds/endpointslices/endpointslice-kind.ts';
import { copy, host, release, releaseWith, setUp } from './release-stage.ts';

setUp();

interface Doubt {
  claim: string;
  mode: string;
  change: { name?: string; labels?: object; annotations?: Record<string, string | null>; ownerReferences?: object[] };
  left: string | null;
}

/** A copy as the mode has it, with what somebody changed on it by hand. */
function changed({ mode, change }: Doubt, kind: 'Endpoints' | 'EndpointSlice'): KubeObject {
  const isMapped = mode === 'mapped';
  const place = { namespace: isMapped ? 'shop-of-vc' : 'vcluster-vc', name: isMapped ? 'db' : 'db-x-shop-x-vc' };
  const { metadata, ...object } = copy('db');
  const { name = place.name, labels = metadata.labels, ownerReferences = [] } = change;
  const annotations: Record<string, string | null> = {
    ...metadata.annotations,
    'vcluster.loft.sh/object-host-name': place.name,
    'vcluster.loft.sh/object-host-namespace': place.namespace,
    ...(isMapped && { 'hostward.dev/instance': 'vcluster-vc/vc' }),
    ...(kind === 'EndpointSlice' && { 'vcluster.loft.sh/object-kind': 'discovery.k8s.io/v1, Kind=EndpointSlice' }),
    ...change.annotations,
  };
  const kept = Object.fromEntries(Object.entries(annotations).filter(([, value]) => value !== null));
  const meta = {
    namespace: place.namespace,
    name,
    labels,
    annotations: kept,
    ownerReferences,
  } as KubeObject['metadata'];
  if (kind === 'Endpoints') return { ...object, metadata: meta };
  const payload = { addressType: 'IPv4', endpoints: [{ addresses: ['10.0.0.1'] }] };
  return { apiVersion: 'discovery.k8s.io/v1', kind, metadata: meta, ...payload };
}

describe.each([
  ['Endpoints', endpointsResource],
  ['EndpointSlice', endpointSlicesResource],
] as const)('hostward release --delete on %s with marks that somebody has changed', (kind, resource) => {
  const namespaces = { enabled: true, mappings: { byName: { shop: 'shop-of-vc' } } };
  beforeAll(async () => void (await host.create(namespacesResource, namespaceObject('shop-of-vc'))));

  it.each((doubts.cases as unknown as Doubt[]).map((one) => [one.mode, one.claim, one] as const))(
    '%s: %s',
    async (mode, _, one) => {
      const object = changed(one, kind);
      const { namespace = '', name = '' } = object.metadata;
      expect((await host.create(resource, object)).kind).toBe('ok');
      const { code, out } = await releaseWith(mode === 'mapped' ? { namespaces } : {}, '--delete');
      const about = `${kind === 'Endpoints' ? '' : 'EndpointSlice '}${namespace}/${name}`;
      const isLeft = (await host.get(resource, { namespace, name })).kind === 'ok';
      await host.remove(resource, { namespace, name });
      expect(code).toBe(0);
      if (one.left === null) expect(out).toContain(`deleted ${about}\n`);
      else expect(out).toContain(`left alone ${about}: ${one.left.replaceAll('KIND', kindAnnotations[kind])}\n`);
      expect(isLeft).toBe(one.left !== null);
    },
  );
});

const kindAnnotations = { Endpoints: '/v1, Kind=Endpoints', EndpointSlice: 'discovery.k8s.io/v1, Kind=EndpointSlice' };

describe('hostward release --delete', () => {
  it('deletes a copy whose label somebody has changed or taken away, because the daemon takes it for ours too', async () => {
    for (const [name, labels] of [
      ['relabelled', { 'vcluster.loft.sh/managed-by': 'other' }],
      ['unlabelled', {}],
    ] as const) {
      const object = copy(name);
      await host.create(endpointsResource, { ...object, metadata: { ...object.metadata, labels } });
    }
    const native = endpointsObject('vcluster-vc', 'native', ['10.0.0.9'], { app: 'x' });
    await host.create(endpointsResource, native);
    const { code, out } = await release('--delete');
    expect(code).toBe(0);
    expect(out).toContain('deleted vcluster-vc/relabelled-x-shop-x-vc\n');
    expect(out).toContain('deleted vcluster-vc/unlabelled-x-shop-x-vc\n');
    expect(out).toContain('3 deleted, 3 left alone, 0 failed\n');
    expect(out).not.toContain('native');
  });

  it('says that nothing bears the marks, where a name is misspelt', async () => {
    const { code, out, err } = await release('--delete', '--vcluster-name', 'vd');
    expect([code, out]).toEqual([0, '0 deleted, 0 left alone, 0 failed\n']);
    expect(err).toBe(
      'nothing in namespace vcluster-vc bears the marks of a virtual cluster "vd"; if there should be copies, check --vcluster-name and --host-namespace\n',
    );
  });

  it('ends with 3 where the namespace does not exist', async () => {
    const { code, out, err } = await release('--delete', '--host-namespace', 'vcluster-vd');
    expect([code, out]).toEqual([3, '']);
    expect(err).toContain('the host has no namespace "vcluster-vd"');
  });

  it('says nothing of the kind when copies are there that need nothing', async () => {
    await release();
    expect((await release()).err).toBe('');
  });
});
