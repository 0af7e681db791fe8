// Two virtual clusters on one host in one process: they share the queue, the connection to the host and the clock, and neither
// sees, delays or overwrites the other. The last case proves that a further kind is one folder and one line.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { registeredKinds } from '../../src/daemon/synced/kinds.ts';
import type { KubeObject } from '../../src/object/meta/object.ts';
import { until } from '../contract/sync-stage/backend.ts';
import { noteKind } from '../sync/kinds/notes/note-kind.ts';
import { Fleet, type Server, type Tenant } from './embedded-fleet.ts';

let fleet: Fleet;

beforeEach(async () => {
  fleet = await new Fleet().start();
});
afterEach(() => fleet.stop());

const service = (name: string): Partial<KubeObject> => ({
  kind: 'Service',
  metadata: { name },
  spec: { ports: [{ port: 80 }] },
});
const endpoints = (name: string, ip: string): Partial<KubeObject> => ({
  kind: 'Endpoints',
  metadata: { name, labels: { team: 'a' } },
  subsets: [{ addresses: [{ ip }], ports: [{ port: 80 }] }],
});
const slice = (name: string, of: string, ip: string): Partial<KubeObject> => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name, labels: { 'kubernetes.io/service-name': of } },
  addressType: 'IPv4',
  endpoints: [{ addresses: [ip] }],
  ports: [],
});

/** A configuration whose patch tells the virtual cluster. */
const patched = (text: string, more: object = {}) => ({
  sync: {
    toHost: {
      endpoints: { enabled: true, patches: [{ path: 'metadata.labels["team"]', expression: `"${text}-" + value` }] },
    },
  },
  hostward: { endpointSlices: { enabled: true }, ...more },
});

const copyOf = (of: Tenant, name: string, kind = 'Endpoints'): Promise<KubeObject | undefined> =>
  fleet.host.get(kind, `${name}-x-default-x-${of.name}`);

const arrived = (of: Tenant, name: string, text: string, kind = 'Endpoints') =>
  until(`${kind} ${name} of ${of.name} with ${text}`, async () => {
    const copy = await copyOf(of, name, kind);
    return copy !== undefined && JSON.stringify(copy).includes(text) ? copy : undefined;
  });

async function put({ virtual }: { virtual: Server }, name: string, ip: string): Promise<void> {
  await virtual.put(service(name));
  await virtual.put(endpoints(name, ip));
}

describe('two virtual clusters in one process', () => {
  it('write their own objects, each by its own rules, and neither sees those of the other', async () => {
    const one = await fleet.add('one', patched('first'));
    const two = await fleet.add('two', patched('second'));
    for (const [tenant, ip] of [
      [one, '10.0.0.1'],
      [two, '10.0.0.2'],
    ] as const) {
      await put(tenant, 'web', ip);
      await tenant.virtual.put(slice('web-1', 'web', ip));
    }
    const [ofOne, ofTwo] = [await arrived(one, 'web', '10.0.0.1'), await arrived(two, 'web', '10.0.0.2')];
    expect([ofOne.metadata.labels?.['team'], ofTwo.metadata.labels?.['team']]).toEqual(['first-a', 'second-a']);
    await arrived(one, 'web-1', '10.0.0.1', 'EndpointSlice');
    await arrived(two, 'web-1', '10.0.0.2', 'EndpointSlice');
    await Promise.all([one.atRest(), two.atRest()]);
    for (const { cluster } of [one, two]) for (const { ledger } of cluster.syncs) expect(ledger.inSync).toBe(1);
  });

  it('a reload, a removed object and the end of one leave the other alone', async () => {
    const one = await fleet.add('one', patched('first'));
    const two = await fleet.add('two', patched('second'));
    for (const tenant of [one, two]) await put(tenant, 'web', '10.0.0.1');
    await Promise.all([arrived(one, 'web', 'first-a'), arrived(two, 'web', 'second-a')]);
    await Promise.all([one.atRest(), two.atRest()]);
    const before = two.writes;
    await one.reload(patched('third'));
    await arrived(one, 'web', 'third-a');
    await one.virtual.remove('Endpoints', 'web');
    await until('the copy of one is gone', async () => ((await copyOf(one, 'web')) === undefined ? true : undefined));
    await fleet.remove(one);
    await put(two, 'late', '10.0.0.9');
    await arrived(two, 'late', '10.0.0.9');
    expect(two.writes).toBe(before + 1);
    expect((await copyOf(two, 'web'))?.metadata.labels?.['team']).toBe('second-a');
  });

  it('a host name that could be one of the other is recognised', async () => {
    const one = await fleet.add('one', patched('first'));
    const two = await fleet.add('one-x-two', patched('second'));
    // "web-x-default-x-one-x-two" could be read as an object of "one" or as one of "one-x-two".
    await put(two, 'web', '10.0.0.2');
    await arrived(two, 'web', '10.0.0.2');
    await put(one, 'web', '10.0.0.1');
    await arrived(one, 'web', '10.0.0.1');
    await one.atRest();
    expect(JSON.stringify(await copyOf(two, 'web'))).toContain('10.0.0.2');
    expect([one.writes, two.writes]).toEqual([1, 1]);
  });

  it('one whose workers all wait for its API server does not delay the other', async () => {
    const one = await fleet.add('one', patched('first'));
    const two = await fleet.add('two', patched('second'));
    for (let at = 0; at < 60; at++) await put(one, `web-${at}`, '10.0.0.1');
    await arrived(one, 'web-59', '10.0.0.1');
    await one.atRest();
    const release = one.virtual.holdPatches();
    // A label of the host flows back first, so every worker of the first waits for its own API server.
    for (let at = 0; at < 60; at++) {
      const labels = { metadata: { labels: { 'of-host': 'x' } } };
      await fleet.host.patch('Endpoints', `web-${at}-x-default-x-one`, labels);
    }
    const [hung] = one.cluster.syncs;
    await until('all workers of one hang', () => (hung?.queue.running === 48 ? true : undefined));
    await put(two, 'web', '10.0.0.2');
    await arrived(two, 'web', '10.0.0.2');
    expect([hung?.queue.running, hung?.queue.waiting]).toEqual([48, 12]);
    release();
  });
});

it('a further kind is one folder and one line, and runs beside the others', async () => {
  const notes = { of: () => noteKind, isOn: () => true };
  const one = await fleet.add('one', patched('first'), [...registeredKinds, notes]);
  await put(one, 'web', '10.0.0.1');
  await one.virtual.put({ kind: 'ConfigMap', metadata: { name: 'web' }, data: { text: 'hello' } });
  await one.virtual.put({ kind: 'ConfigMap', metadata: { name: 'alone' }, data: { text: 'nobody' } });
  const copy = await arrived(one, 'web', 'hello', 'ConfigMap');
  expect(copy.metadata.labels?.['vcluster.loft.sh/managed-by']).toBe('one');
  // A host edit is mended, a label of the host flows back, and both wake only the note.
  const edit = { metadata: { labels: { colour: 'red' } }, data: { text: 'spoilt' } };
  await fleet.host.patch('ConfigMap', 'web-x-default-x-one', edit);
  await arrived(one, 'web', 'hello', 'ConfigMap');
  await until('the label of the host on the note', async () => {
    const note = await one.virtual.get('ConfigMap', 'web', 'default');
    return note?.metadata.labels?.['colour'] === 'red' ? true : undefined;
  });
  // Its Service goes, so the note goes from the host, and the tenant keeps it.
  await one.virtual.remove('Service', 'web');
  await until('the copy of the note is gone', async () =>
    (await copyOf(one, 'web', 'ConfigMap')) === undefined ? true : undefined,
  );
  expect(await one.virtual.get('ConfigMap', 'web', 'default')).toBeDefined();
  expect(await copyOf(one, 'alone', 'ConfigMap')).toBeUndefined();
});
