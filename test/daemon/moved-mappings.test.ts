// A mapping changes, or is switched off, while the daemon is down: the copies of the former mapping go, and nobody else's do.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { instanceKey, markerLabel, objectKeys } from '../../src/sync/plan/keys/reserved-keys.ts';
import { until } from '../contract/sync-stage/backend.ts';
import { Fleet, hostNamespace, type Tenant } from './embedded-fleet.ts';

let fleet: Fleet;

beforeEach(async () => {
  fleet = await new Fleet().start();
  for (const name of ['ha', 'hb']) await fleet.host.put({ kind: 'Namespace', metadata: { name, namespace: '' } });
});
afterEach(() => fleet.stop());

const reference = {
  path: 'metadata.annotations["example.com/secret"]',
  reference: { kind: 'Secret', apiVersion: 'v1' },
};
const configuration = (byName?: Record<string, string>, { mappingsOnly = false } = {}) => ({
  sync: {
    toHost: {
      endpoints: { enabled: true, patches: [reference] },
      secrets: { enabled: true },
      ...(byName && { namespaces: { enabled: true, mappingsOnly, mappings: { byName } } }),
    },
  },
  hostward: { endpointSlices: { enabled: true } },
});

async function fill({ virtual }: Tenant, name: string): Promise<void> {
  await virtual.put({ kind: 'Service', metadata: { name }, spec: { ports: [{ port: 80 }] } });
  await virtual.put({ kind: 'Secret', metadata: { name: `${name}-secret` }, data: { a: 'YQ==' } });
  await virtual.put({
    kind: 'Endpoints',
    metadata: { name, annotations: { 'example.com/secret': `${name}-secret` } },
    subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80 }] }],
  });
  await virtual.put({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `${name}-1`, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.0.0.1'] }],
    ports: [],
  });
}

/** What stands in a host namespace for the tenant's objects, under their own names. */
async function standing(namespace: string): Promise<string[]> {
  const wanted = [
    ['Endpoints', 'web'],
    ['EndpointSlice', 'web-1'],
    ['Secret', 'web-secret'],
  ] as const;
  const found = await Promise.all(
    wanted.map(async ([kind, name]) => ((await fleet.host.get(kind, name, namespace)) ? [kind] : [])),
  );
  return found.flat();
}

const all = ['Endpoints', 'EndpointSlice', 'Secret'];
const stands = (namespace: string, kinds: readonly string[]) =>
  until(`${kinds.join(', ') || 'nothing'} in ${namespace}`, async () =>
    (await standing(namespace)).join() === kinds.join() ? true : undefined,
  );

describe('copies of a former mapping', () => {
  it('go once the new ones stand, of both kinds and of what references name', async () => {
    const before = await fleet.add('one', configuration({ default: 'ha' }));
    await fill(before, 'web');
    await stands('ha', all);
    await before.atRest();
    const after = await fleet.restart(before, configuration({ default: 'hb' }));
    await stands('hb', all);
    await stands('ha', []);
    await after.atRest();
    expect(after.cluster.windows.strayNamespaces.sentences).toEqual([]);
  });

  it('go when mapping is switched off', async () => {
    const before = await fleet.add('one', configuration({ default: 'ha' }));
    await fill(before, 'web');
    await stands('ha', all);
    await fleet.restart(before, configuration());
    await until('the copy under the rewritten name', () => fleet.host.get('Endpoints', 'web-x-default-x-one'));
    await stands('ha', []);
  });

  it('go from the own namespace when only mapped namespaces are synced', async () => {
    const before = await fleet.add('one', configuration());
    await fill(before, 'web');
    const own = 'web-x-default-x-one';
    await until('the copy under the rewritten name', () => fleet.host.get('Endpoints', own));
    await fleet.restart(before, configuration({ default: 'ha' }, { mappingsOnly: true }));
    await stands('ha', all);
    await until('the former copy is gone', async () =>
      (await fleet.host.get('Endpoints', own, hostNamespace)) === undefined ? true : undefined,
    );
  });

  it('go when their object has gone meanwhile, and those that a host operator paused stay', async () => {
    const before = await fleet.add('one', configuration({ default: 'ha' }));
    await fill(before, 'web');
    await fill(before, 'old');
    await stands('ha', all);
    await until('the copy of old', () => fleet.host.get('Endpoints', 'old', 'ha'));
    await fleet.host.patch(
      'EndpointSlice',
      'web-1',
      { metadata: { annotations: { 'hostward.dev/pause': 'true' } } },
      'ha',
    );
    await before.cluster.stop(1000);
    await before.virtual.remove('Endpoints', 'old');
    await fleet.restart(before, configuration({ default: 'hb' }));
    await stands('hb', all);
    await until('the copy of old is gone', async () =>
      (await fleet.host.get('Endpoints', 'old', 'ha')) === undefined ? true : undefined,
    );
    await stands('ha', ['EndpointSlice']);
  });

  it('of another virtual cluster of the same name are not touched', async () => {
    const before = await fleet.add('one', configuration({ default: 'ha' }));
    await fill(before, 'web');
    await stands('ha', all);
    const ours = await fleet.host.get('Endpoints', 'web', 'ha');
    const annotations = {
      ...ours?.metadata.annotations,
      [instanceKey]: 'elsewhere/one',
      [objectKeys.name]: 'theirs',
      [objectKeys.hostName]: 'theirs',
    };
    const theirs = { name: 'theirs', namespace: 'ha', labels: { [markerLabel]: 'one' }, annotations };
    await fleet.host.put({ kind: 'Endpoints', metadata: theirs });
    const after = await fleet.restart(before, configuration({ default: 'hb' }));
    await stands('ha', []);
    await after.atRest();
    expect(await fleet.host.get('Endpoints', 'theirs', 'ha')).toBeDefined();
  });
});
