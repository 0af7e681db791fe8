// Single changes whose watch event can be lost: on either side, to objects of either kind and to their Services, with the state
// on the host when the loss is mended.
import type { KubeObject } from '../../src/object/meta/object.ts';
import { objectKeys } from '../../src/sync/plan/keys/reserved-keys.ts';
import type { Side } from './sync-stage/backend.ts';
import { copyPlace, type SyncStage, subsetsOf } from './sync-stage/stage.ts';

export interface Loss {
  side: Side;
  resource: 'endpoints' | 'endpointslices' | 'services';
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  what: string;
  /** Makes what must exist before the daemon starts. Each loss has a name of its own, so that no event of another one mends it. */
  prepare: (name: string) => Promise<unknown>;
  lose: (name: string) => Promise<unknown>;
  /** The addresses on the host when the loss is mended, of both kinds where both depend on the lost object. */
  isMended: (name: string) => Promise<boolean>;
}

function actsOn(stage: SyncStage) {
  const sliceOf = (name: string, address: string): KubeObject => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `${name}-own`, namespace: stage.tenant, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address] }],
    ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
  });
  const makeSlice = (name: string) => stage.create('virtual', 'endpointslices', sliceOf(name, '10.0.0.1'));
  const makePair = (name: string) => stage.pair({ name, ips: ['10.0.0.1'] });
  const makeBoth = async (name: string): Promise<void> => {
    await makePair(name);
    await makeSlice(name);
  };
  const copyOf = (name: string) => copyPlace(stage.tenant, name);
  const sliceCopyOf = (name: string) => copyPlace(stage.tenant, `${name}-own`);
  const tenants = (name: string) => ({ namespace: stage.tenant, name });
  const endpointsAre = (ip?: string) => async (name: string) =>
    addressOf(await stage.get('host', 'endpoints', copyOf(name))) === ip;
  const sliceIs = (ip?: string) => async (name: string) =>
    addressOf(await stage.get('host', 'endpointslices', sliceCopyOf(name))) === ip;
  return { tenants, sliceCopyOf, makeSlice, makePair, makeBoth, endpointsAre, sliceIs };
}

export function lossesOfTheTenant(stage: SyncStage): Loss[] {
  const { tenants, makeSlice, makePair, makeBoth, endpointsAre, sliceIs } = actsOn(stage);
  return [
    {
      side: 'virtual',
      resource: 'endpoints',
      type: 'ADDED',
      what: 'the tenant makes an Endpoints',
      prepare: (name) => stage.service({ name }),
      lose: (name) =>
        stage.create('virtual', 'endpoints', { metadata: tenants(name), subsets: subsetsOf('10.0.0.2') } as never),
      isMended: endpointsAre('10.0.0.2'),
    },
    {
      side: 'virtual',
      resource: 'endpoints',
      type: 'MODIFIED',
      what: 'the tenant changes an address',
      prepare: makePair,
      lose: (name) => stage.editTenants(name, { subsets: subsetsOf('10.0.0.2') }),
      isMended: endpointsAre('10.0.0.2'),
    },
    {
      side: 'virtual',
      resource: 'endpoints',
      type: 'DELETED',
      what: 'the tenant deletes an Endpoints',
      prepare: makePair,
      lose: (name) => stage.removeTenants(name),
      isMended: endpointsAre(),
    },
    {
      side: 'virtual',
      resource: 'endpointslices',
      type: 'ADDED',
      what: 'the tenant makes a slice',
      prepare: (name) => stage.service({ name }),
      lose: makeSlice,
      isMended: sliceIs('10.0.0.1'),
    },
    {
      side: 'virtual',
      resource: 'endpointslices',
      type: 'MODIFIED',
      what: 'the tenant changes a slice',
      prepare: makeBoth,
      lose: (name) =>
        stage.patch('virtual', 'endpointslices', {
          ...tenants(`${name}-own`),
          mergePatch: { endpoints: [{ addresses: ['10.0.0.2'] }] },
        }),
      isMended: sliceIs('10.0.0.2'),
    },
    {
      side: 'virtual',
      resource: 'endpointslices',
      type: 'DELETED',
      what: 'the tenant deletes a slice',
      prepare: makeBoth,
      lose: (name) => stage.remove('virtual', 'endpointslices', tenants(`${name}-own`)),
      isMended: sliceIs(),
    },
  ];
}

export function lossesOfServices(stage: SyncStage): Loss[] {
  const { tenants, makeSlice, makeBoth, sliceIs } = actsOn(stage);
  return [
    {
      side: 'virtual',
      resource: 'services',
      type: 'ADDED',
      what: 'the Service comes after its slice',
      prepare: makeSlice,
      lose: (name) => stage.service({ name, onHost: false }),
      isMended: sliceIs('10.0.0.1'),
    },
    {
      side: 'virtual',
      resource: 'services',
      type: 'MODIFIED',
      what: 'the Service gains a selector',
      prepare: makeBoth,
      lose: (name) =>
        stage.patch('virtual', 'services', { ...tenants(name), mergePatch: { spec: { selector: { app: 'web' } } } }),
      isMended: sliceIs(),
    },
    {
      side: 'virtual',
      resource: 'services',
      type: 'DELETED',
      what: 'the Service is deleted',
      prepare: makeBoth,
      lose: (name) => stage.remove('virtual', 'services', tenants(name)),
      isMended: sliceIs(),
    },
  ];
}

export function lossesOfCopies(stage: SyncStage): Loss[] {
  const { sliceCopyOf, makePair, makeBoth, endpointsAre, sliceIs } = actsOn(stage);
  return [
    {
      side: 'host',
      resource: 'endpoints',
      type: 'MODIFIED',
      what: 'somebody edits the copy',
      prepare: makePair,
      lose: (name) => stage.editCopy(name, { subsets: subsetsOf('10.6.6.6') }),
      isMended: endpointsAre('10.0.0.1'),
    },
    {
      side: 'host',
      resource: 'endpoints',
      type: 'DELETED',
      what: 'somebody deletes the copy',
      prepare: makePair,
      lose: (name) => stage.removeCopy(name),
      isMended: endpointsAre('10.0.0.1'),
    },
    {
      side: 'host',
      resource: 'endpointslices',
      type: 'MODIFIED',
      what: 'somebody edits the copy of a slice',
      prepare: makeBoth,
      lose: (name) =>
        stage.patch('host', 'endpointslices', {
          ...sliceCopyOf(name),
          mergePatch: { endpoints: [{ addresses: ['10.6.6.6'] }] },
        }),
      isMended: sliceIs('10.0.0.1'),
    },
    {
      side: 'host',
      resource: 'endpointslices',
      type: 'DELETED',
      what: 'somebody deletes the copy of a slice',
      prepare: makeBoth,
      lose: (name) => stage.remove('host', 'endpointslices', sliceCopyOf(name)),
      isMended: sliceIs('10.0.0.1'),
    },
  ];
}

/** An Endpoints and a slice of one Service. */
export function makePairAndSlice(stage: SyncStage, name: string): Promise<void> {
  return actsOn(stage).makeBoth(name);
}

/** The tenant's namespace must be mapped to this one. */
export const mappedNamespace = 'h-a';

/** Services of the host, which decide about the names of copies where namespaces are mapped. */
export function lossesOfHostServices(stage: SyncStage): Loss[] {
  const { makeSlice } = actsOn(stage);
  const spec = { ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 80 }] };
  const onHost = (name: string) => ({ namespace: mappedNamespace, name });
  const makeMapped = async (name: string): Promise<void> => {
    await stage.pair({ name, service: { onHost: false } });
    await makeSlice(name);
  };
  const makeHostService = (name: string, annotations: Record<string, string> = {}) =>
    stage.create('host', 'services', { metadata: { ...onHost(name), annotations }, spec });
  const isCopyOf = (name: string) => ({ [objectKeys.name]: name, [objectKeys.namespace]: stage.tenant });
  const areBoth = (ip?: string) => async (name: string) => {
    const copies = await Promise.all([
      stage.get('host', 'endpoints', onHost(name)),
      stage.get('host', 'endpointslices', onHost(`${name}-own`)),
    ]);
    return copies.every((copy) => addressOf(copy) === ip);
  };
  return [
    {
      side: 'host',
      resource: 'services',
      type: 'ADDED',
      what: 'a Service of the host itself takes the name',
      prepare: makeMapped,
      lose: (name) => makeHostService(name),
      isMended: areBoth(),
    },
    {
      side: 'host',
      resource: 'services',
      type: 'MODIFIED',
      what: 'the copy of the tenant’s Service becomes one of the host itself',
      prepare: async (name) => {
        await makeHostService(name, isCopyOf(name));
        await makeMapped(name);
      },
      lose: (name) =>
        stage.patch('host', 'services', { ...onHost(name), mergePatch: { metadata: { annotations: null } } }),
      isMended: areBoth(),
    },
    {
      side: 'host',
      resource: 'services',
      type: 'DELETED',
      what: 'a Service of the host itself goes',
      prepare: async (name) => {
        await makeHostService(name);
        await makeMapped(name);
      },
      lose: (name) => stage.remove('host', 'services', onHost(name)),
      isMended: areBoth('10.0.0.1'),
    },
  ];
}

function addressOf(object: KubeObject | undefined): string | undefined {
  const [subset] = (object?.['subsets'] ?? []) as { addresses?: { ip: string }[] }[];
  const [endpoint] = (object?.['endpoints'] ?? []) as { addresses: string[] }[];
  return subset?.addresses?.[0]?.ip ?? endpoint?.addresses[0];
}
