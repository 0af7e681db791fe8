// Two Services of two tenants' namespaces that get one host name: their objects must never stand behind it together.
import { afterEach, describe, expect, it } from 'vitest';
import { hostName } from '../../../../src/object/meta/names.ts';
import { endpointsKind } from '../../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { createRules } from '../../../../src/sync/loop/pass/rules.ts';
import { sameNamed } from '../../../../src/sync/plan/placement.ts';
import { defaultSettings, endpoints, putPair } from '../../fake-sync.ts';
import { hostNamespace, SliceWorld, service, slice } from './fake-slices.ts';

/** The two Services; the names of their slices differ on the host. */
const first = { namespace: 'default', name: 'col-x-default', slice: 'one', at: '2026-01-01T00:00:00Z' };
const second = { namespace: 'default-x-default', name: 'col', slice: 'two', at: '2026-01-02T00:00:00Z' };
type Side = typeof first;
const shared = hostName(first, 'vc');

let world: SliceWorld;
afterEach(async () => {
  await world.slices.stop(100);
  await world.sync?.stop(100);
});

function putService({ name, namespace }: Side, spec: object = {}): void {
  world.put(service(name, namespace, spec));
}

/** vCluster's copy of the Service. */
function putHostService({ name, namespace }: Side, spec: object = {}): void {
  const copy = service(shared, hostNamespace, spec);
  copy.metadata.annotations = { 'vcluster.loft.sh/object-name': name, 'vcluster.loft.sh/object-namespace': namespace };
  world.host.put('services', copy);
}

function putSlice({ namespace, name, slice: own, at }: Side, more: { name?: string; at?: string } = {}): void {
  const metadata = { namespace, creationTimestamp: more.at ?? at };
  world.put(slice({ name: more.name ?? own, service: name, metadata, addresses: [addressOf(namespace)] }));
}

const addressOf = (namespace: string): string => (namespace === first.namespace ? '10.1.1.1' : '10.2.2.2');
const both = [first, second];

/** The virtual namespaces whose addresses stand behind the host name. */
function behind(): string[] {
  const copies = world.host
    .list('endpointslices')
    .filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === shared);
  const pair = world.host.get('endpoints', hostNamespace, shared);
  const found = [...copies, ...(pair === undefined ? [] : [pair])].map(
    ({ metadata }) => metadata.annotations?.['vcluster.loft.sh/object-namespace'] ?? '',
  );
  return [...new Set(found)].sort();
}

const outcome = ({ namespace, slice: name }: Side) => world.slices.ledger.outcomeOf(`${namespace}/${name}`);
const removeSlice = ({ namespace, slice: name }: Side) => world.virtual.remove('endpointslices', namespace, name);

/** Fails as soon as a write on the host leaves two namespaces behind the name. */
function neverMixed(): void {
  for (const verb of ['put', 'remove'] as const) {
    const real = world.host[verb].bind(world.host) as (...given: unknown[]) => unknown;
    world.host[verb] = ((...given: unknown[]) => {
      const answer = real(...given);
      expect(behind().length).toBeLessThanOrEqual(1);
      return answer;
    }) as never;
  }
}

describe('slices of two Services with one host name', () => {
  it.each([
    ['the older one first', both],
    ['the younger one first', [second, first]],
  ])('the first is published, the second is refused with both names, %s', async (_, [early, late]) => {
    world = new SliceWorld();
    neverMixed();
    for (const side of both) putService(side);
    putSlice(early as Side);
    await world.runSlices();
    putSlice(late as Side);
    putSlice(late as Side, { name: 'three' });
    await world.rest();
    expect(behind()).toEqual([(early as Side).namespace]);
    expect(outcome(late as Side)).toMatchObject({ kind: 'refused', reason: 'NameCollision' });
    const { message } = outcome(late as Side) as { message: string };
    for (const { namespace, name } of both) expect(message).toContain(`"${namespace}/${name}"`);
    await world.slices.stop(100);
    await world.runSlices();
    expect(behind()).toEqual([(early as Side).namespace]);
    expect(world.virtual.list('endpointslices')).toHaveLength(3);
  });

  it('the second gets the name when the first goes, and not before its copies are gone', async () => {
    world = new SliceWorld();
    neverMixed();
    for (const side of both) {
      putService(side);
      putSlice(side);
    }
    await world.runSlices();
    expect(behind()).toEqual(['default']);
    removeSlice(first);
    world.virtual.remove('services', first.namespace, first.name);
    await world.rest();
    await world.clock.advance(2000);
    expect(behind()).toEqual(['default-x-default']);
    expect(outcome(second)).toEqual({ kind: 'inSync' });
    putService(first);
    putSlice(first);
    await world.rest();
    expect(behind()).toEqual(['default-x-default']);
    expect(outcome(first)).toMatchObject({ reason: 'NameCollision' });
  });

  it('copies of both that were there before are unmixed, and both slices of the tenants stay', async () => {
    world = new SliceWorld();
    putService(first);
    putSlice(first);
    await world.runSlices();
    await world.slices.stop(100);
    const copies = world.host.list('endpointslices');
    for (const copy of copies) world.host.remove('endpointslices', hostNamespace, copy.metadata.name as string);
    world.virtual.remove('services', first.namespace, first.name);
    putService(second);
    putSlice(second);
    await world.runSlices();
    await world.slices.stop(100);
    for (const { metadata, ...copy } of copies) {
      const { uid: _, resourceVersion: __, ...kept } = metadata;
      world.host.put('endpointslices', { ...copy, metadata: kept } as never);
    }
    putService(first);
    expect(behind()).toHaveLength(2);
    await world.runSlices();
    await world.clock.advance(2000);
    expect(behind()).toHaveLength(1);
    expect(world.virtual.list('endpointslices')).toHaveLength(2);
  });

  it('the host Service says whose name it is, also for a Service with a selector', async () => {
    world = new SliceWorld();
    putService(first, { selector: { app: 'a' } });
    putService(second);
    putSlice(second);
    putHostService(first, { selector: { app: 'a' } });
    await world.runSlices();
    expect(behind()).toEqual([]);
    expect(outcome(second)).toMatchObject({ reason: 'NameCollision' });
    world.host.remove('services', hostNamespace, shared);
    world.virtual.remove('services', first.namespace, first.name);
    await world.rest();
    expect(behind()).toEqual(['default-x-default']);
  });

  it('slices that get one host name too follow their Services, though the slice of the other Service is older', async () => {
    world = new SliceWorld();
    neverMixed();
    for (const side of both) {
      putService(side);
      putSlice(side, { name: side.name });
    }
    putHostService(second);
    await world.runSlices();
    await world.clock.advance(2000);
    expect(behind()).toEqual([second.namespace]);
    const outcomeOf = ({ namespace, name }: Side) => world.slices.ledger.outcomeOf(`${namespace}/${name}`);
    expect(outcomeOf(second)).toEqual({ kind: 'inSync' });
    expect(outcomeOf(first)).toMatchObject({ reason: 'NameCollision' });
  });
});

describe('slices of one Service and Endpoints of the other', () => {
  const putEndpoints = ({ namespace, name, at }: Side) =>
    putPair(world, name, addressOf(namespace), { namespace, creationTimestamp: at });
  const runBoth = async () => {
    await world.run({ awaits: 'EndpointSlice' });
    await world.runSlices({ isBeside: true });
  };

  it.each([
    ['slices', (side: Side) => putSlice(side), (side: Side) => putEndpoints(side)],
    ['Endpoints', (side: Side) => putEndpoints(side), (side: Side) => putSlice(side)],
  ])('the first holds the name with its %s, also after a restart', async (_, early, late) => {
    world = new SliceWorld();
    neverMixed();
    for (const side of both) putService(side);
    early(second);
    await runBoth();
    await world.clock.advance(1000);
    late(first);
    await world.rest();
    await world.clock.advance(2000);
    expect(behind()).toEqual(['default-x-default']);
    await world.slices.stop(100);
    await world.sync.stop(100);
    await runBoth();
    await world.clock.advance(2000);
    expect(behind()).toEqual(['default-x-default']);
    world.virtual.remove('services', second.namespace, second.name);
    await world.rest();
    await world.clock.advance(2000);
    expect(behind()).toEqual(['default']);
  });

  it('Endpoints wait while the host Service is a copy of the other Service, though that one has no object left', async () => {
    world = new SliceWorld();
    for (const side of both) putService(side);
    const copyOf = service(shared, hostNamespace);
    copyOf.metadata.annotations = {
      'vcluster.loft.sh/object-name': first.name,
      'vcluster.loft.sh/object-namespace': first.namespace,
    };
    world.host.put('services', copyOf);
    putEndpoints(first);
    putEndpoints(second);
    await runBoth();
    world.virtual.remove('endpoints', first.namespace, first.name);
    await world.rest();
    await world.clock.advance(2000);
    expect(behind()).toEqual([]);
    const refused = world.sync.ledger.outcomeOf(`${second.namespace}/${second.name}`) as { message: string };
    expect(refused).toMatchObject({ kind: 'refused', reason: 'NameCollision' });
    for (const { namespace, name } of both) expect(refused.message).toContain(`Service "${namespace}/${name}"`);
    world.virtual.remove('services', first.namespace, first.name);
    world.host.remove('services', hostNamespace, shared);
    await world.rest();
    await world.clock.advance(2000);
    expect(behind()).toEqual(['default-x-default']);
  });

  it('Endpoints that a slice keeps away name both Services, because there is no Endpoints of the other one', async () => {
    world = new SliceWorld();
    for (const side of both) putService(side);
    putSlice(first);
    await runBoth();
    putEndpoints(second);
    await world.rest();
    const refused = world.sync.ledger.outcomeOf(`${second.namespace}/${second.name}`) as { message: string };
    expect(refused).toMatchObject({
      reason: 'NameCollision',
      message: `its Service "default-x-default/col" and the Service "default/col-x-default" have one host name, "${shared}", which belongs to "default/col-x-default"`,
    });
    putEndpoints(first);
    await world.rest();
    const now = world.sync.ledger.outcomeOf(`${second.namespace}/${second.name}`) as { message: string };
    expect(now.message).toMatch(/^its host name belongs to "default\/col-x-default"/);
  });

  it('slices and Endpoints of one Service go together', async () => {
    world = new SliceWorld();
    for (const side of both) putService(side);
    putSlice(first);
    putEndpoints(second);
    putSlice(second, { at: '2026-01-03T00:00:00Z' });
    world.virtual.put('endpoints', endpoints(first.name, '10.1.1.1', { creationTimestamp: '2026-01-04T00:00:00Z' }));
    await runBoth();
    await world.clock.advance(2000);
    expect(behind()).toEqual(['default']);
  });
});

it.each([
  ['default/col-x-default', ['default-x-default/col']],
  ['default/web', []],
  ['b/web-x-a', ['a-x-b/web']],
  [`b/${'w'.repeat(30)}-x-${'a'.repeat(20)}`, [`${'a'.repeat(20)}-x-b/${'w'.repeat(30)}`]],
  ['c-x-d/a-x-b', ['b-x-c-x-d/a', 'd/a-x-b-x-c']],
])('%s has its host name in common with %j', (key, others) => {
  const { placement } = createRules(endpointsKind, defaultSettings).translation;
  expect(sameNamed(key, placement)).toEqual(others);
});
