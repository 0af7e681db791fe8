// The emulation of vCluster's syncers against the recording of a running vCluster: each row of section 2 of the facts has a test.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { hostNamespace, virtualCluster } from '../../contract/sync-stage/backend.ts';
import { copyPlace, SyncStage } from '../../contract/sync-stage/stage.ts';
import { managerLabel, type SliceGolden, serviceLabel } from '../kinds/endpointslices/golden-slices.ts';
import { type EmbeddedBackend, startEmbeddedBackend } from './embedded-backend.ts';
import {
  endpointsOf,
  hostNameOf,
  isLost,
  labelsOf,
  mergedKeys,
  serviceLabelOf,
  updateOf,
  VClusterEmulation,
  verdictOf,
} from './vcluster-emulation.ts';

const file = new URL('../../../fixtures/sync/golden-slices.json', import.meta.url);
const golden: SliceGolden = JSON.parse(readFileSync(file, 'utf8'));
const written = golden.cases.filter(({ host }) => host !== null);
const slices = 'endpointslices';

const slice = (metadata: object = {}, fields: object = {}): KubeObject =>
  ({
    addressType: 'IPv4',
    endpoints: [],
    metadata: { name: 's', namespace: 'default', ...metadata },
    ...fields,
  }) as never;

describe('vCluster as emulated, and as recorded', () => {
  it('the Service decides whether a slice goes', () => {
    const service = (spec: object): KubeObject => ({ metadata: { name: 'web' }, spec }) as never;
    expect(verdictOf(slice(), undefined)).toBe('skip');
    expect(verdictOf(slice(), service({}))).toBe('sync');
    expect(verdictOf(slice(), service({ selector: {} }))).toBe('sync');
    expect(verdictOf(slice(), service({ selector: { app: 'web' } }))).toBe('remove');
    expect(verdictOf(slice({ labels: { 'vcluster.loft.sh/controlled-by': 'x' } }), service({}))).toBe('skip');
  });

  it('the name is that of every object, and a slice named kubernetes has none', () => {
    for (const { virtual, host } of written)
      expect(hostNameOf(virtual.endpointSlice, virtualCluster)).toBe(host?.metadata.name);
    expect(hostNameOf(slice({ name: 'kubernetes' }), virtualCluster)).toBeUndefined();
  });

  it('the Service label is plain text at the creation and the bare name afterwards', () => {
    for (const { virtual, host } of written) {
      const label = serviceLabelOf(virtual.endpointSlice, virtualCluster, { isCreation: true });
      expect(label).toBe(host?.metadata.labels?.[serviceLabel]);
    }
    const web = slice({ labels: { [serviceLabel]: 'web' } });
    expect(serviceLabelOf(web, virtualCluster, { isCreation: false })).toBe('web');
  });

  it('managed-by is copied unchanged', () => {
    for (const { virtual, host } of written)
      expect(labelsOf(virtual.endpointSlice, virtualCluster)[managerLabel]).toBe(host?.metadata.labels?.[managerLabel]);
    const managers = written.map(({ host }) => host?.metadata.labels?.[managerLabel]);
    expect(managers).toContain('endpointslice-controller.k8s.io');
  });

  it('an update carries endpoints and no ports', () => {
    const wanted = slice({}, { endpoints: [{ addresses: ['10.0.0.2'] }], ports: [{ port: 9090 }] });
    const host = slice({}, { endpoints: [{ addresses: ['10.0.0.1'] }], ports: [{ port: 8080 }] });
    expect(updateOf(wanted, host, virtualCluster)).toEqual({ endpoints: [{ addresses: ['10.0.0.2'] }] });
    expect(updateOf({ ...wanted, endpoints: host['endpoints'] }, host, virtualCluster)).toBeUndefined();
  });

  it('Pods of a targetRef get their host names, and all other fields pass', () => {
    const named = written.filter(({ virtual }) => !JSON.stringify(virtual).includes('"deprecatedTopology"'));
    const withPods = named.filter(({ virtual }) =>
      JSON.stringify(virtual.endpointSlice).includes('"kind":"Pod","name"'),
    );
    expect(withPods.length).toBeGreaterThan(0);
    for (const { virtual, host } of withPods)
      expect(endpointsOf(virtual.endpointSlice, virtualCluster)).toEqual(host?.['endpoints']);
  });

  it('a host slice that vanished takes the slice of the tenant with it', () => {
    expect(isLost({ virtual: slice(), host: slice() }, undefined)).toBe(true);
    expect(isLost({ virtual: slice(), host: undefined }, undefined)).toBe(false);
    expect(isLost(undefined, undefined)).toBe(false);
  });

  it('labels flow both ways, the virtual side first, and the leader annotation flows neither way', () => {
    const of = (annotations: Record<string, string>) => slice({ annotations });
    const known = { virtual: of({ a: '1', b: '1' }), host: of({ a: '1', b: '1' }) };
    const now = {
      virtual: of({ a: '2', b: '1', 'control-plane.alpha.kubernetes.io/leader': 'x' }),
      host: of({ a: '3' }),
    };
    expect(mergedKeys('annotations', known, now)).toEqual({ toHost: { a: '2' }, toVirtual: { b: null } });
  });
});

describe('vCluster as emulated, between two embedded API servers', () => {
  let backend: EmbeddedBackend;
  let stage: SyncStage;
  beforeAll(async () => {
    backend = await startEmbeddedBackend();
    stage = new SyncStage(backend);
    await stage.set();
  });
  afterAll(async () => {
    await stage.clear();
    stage.close();
    await backend.stop();
  });
  const emulation = (): VClusterEmulation =>
    new VClusterEmulation({
      virtual: backend.virtual.admin,
      host: backend.host.admin,
      virtualCluster,
      hostNamespace,
      syncs: ['endpoints', 'endpointslices'],
    });

  it('copies Endpoints and slices, detaches a slice from its Service at a restart, and deletes the slice of a lost copy', async () => {
    await stage.pair({ name: 'web' });
    const ports = [{ name: 'http', port: 8080, protocol: 'TCP' }];
    await stage.create('virtual', slices, {
      ...slice({ name: 'web-1', namespace: stage.tenant, labels: { [serviceLabel]: 'web' } }),
      endpoints: [{ addresses: ['10.0.0.1'] }],
      ports,
    });
    const first = emulation();
    const at = copyPlace(stage.tenant, 'web-1');
    const copy = () => stage.get('host', slices, at);
    const inTurn = async (vcluster: VClusterEmulation) => {
      for (let look = 0; look < 3; look++) await vcluster.look();
    };
    await inTurn(first);
    expect((await stage.copy('web'))?.['subsets']).toEqual((await stage.tenants('web'))?.['subsets']);
    expect((await copy())?.metadata.labels?.[serviceLabel]).toBe(copyPlace(stage.tenant, 'web').name);

    const own = { namespace: stage.tenant, name: 'web-1' };
    const changed = { endpoints: [{ addresses: ['10.0.0.2'] }], ports: [{ name: 'http', port: 9090 }] };
    await stage.patch('virtual', slices, { ...own, mergePatch: changed });
    await stage.editTenants('web', { subsets: null });
    await inTurn(first);
    expect(await copy()).toMatchObject({ endpoints: [{ addresses: ['10.0.0.2'] }], ports });
    expect((await stage.copy('web'))?.['subsets']).toBeUndefined();

    const restarted = emulation();
    await inTurn(restarted);
    expect((await copy())?.metadata.labels?.[serviceLabel]).toBe('web');
    await stage.remove('host', slices, at);
    await inTurn(restarted);
    expect(await stage.get('virtual', slices, own)).toBeUndefined();

    await stage.service({ name: 'selected', spec: { selector: { app: 'web' } } });
    const native = { metadata: copyPlace(stage.tenant, 'selected') };
    await stage.create('virtual', 'endpoints', { metadata: { namespace: stage.tenant, name: 'selected' } });
    await stage.create('host', 'endpoints', native);
    await inTurn(restarted);
    expect(await stage.copy('selected')).toBeDefined();

    await stage.removeTenants('web');
    await inTurn(restarted);
    expect(await stage.copy('web')).toBeUndefined();
  });
});
