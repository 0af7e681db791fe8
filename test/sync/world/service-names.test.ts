import { expect, it } from 'vitest';
import { type Key, keyOf, splitKey } from '../../../src/object/meta/object.ts';
import { Registry } from '../../../src/sync/world/registry.ts';
import { type NameView, ServiceNames } from '../../../src/sync/world/service-names.ts';
import type { Standing } from '../../../src/sync/world/standing.ts';

/** Of a Service, for each answer to "who gets this name": a tenant may have made thousands. */
const judged = 100;
const place = { namespace: 'host', name: 'a-x-b-x-c' };
const [one, other] = [keyOf('b-x-c', 'a'), keyOf('c', 'a-x-b')];
/** The name of `one` is the name of `other`. */
const placement = {
  placeOf: (service: Key) => ({
    namespace: 'host',
    name: `${splitKey(service).name}-x-${splitKey(service).namespace}`,
  }),
  placeOfObject: ({ namespace, name }: { namespace: string; name: string }) => ({
    namespace: 'host',
    name: `${name}-x-${namespace}`,
  }),
} as unknown as ReturnType<NameView['placement']>;

function world(objects: Readonly<Record<Key, readonly Key[]>>, isEligible: (key: Key) => boolean) {
  const asked: Key[] = [];
  const all: ServiceNames[] = [];
  const view: NameView = {
    ...{ isReady: () => true, isWritten: () => true, wake: () => undefined, placement: () => placement },
    ...{ hasService: () => true, serviceKeyOf: () => undefined },
    objectsOfService: (service) => objects[service] ?? [],
    claimantOf(key) {
      asked.push(key);
      return isEligible(key)
        ? { key, creationTimestamp: key.startsWith('c/') ? '2026-01-01' : '2026-01-02' }
        : undefined;
    },
    behindOf: () => undefined,
  };
  const names = new ServiceNames(view, { all, areAwaited: false });
  all.push(names);
  return { names, asked, view };
}

function registry(): Registry {
  const unknown = () => 'unknown' as unknown as Standing;
  return new Registry({ standingOf: unknown, lastStandingOf: unknown });
}

it('news of a Service wake the objects of the other kinds, at that Service and at its rivals', () => {
  const shared = registry();
  const woken: Key[] = [];
  const viewOf = (kind: string) => {
    const { view } = world({ [one]: [`b-x-c/${kind}`], [other]: [`c/${kind}`] }, () => true);
    return { ...view, wake: (key: Key) => woken.push(key) };
  };
  const names = shared.join('Endpoints', viewOf('endpoints'));
  shared.join('EndpointSlice', viewOf('slice'));
  names.wakeOthers(one);
  expect(woken).toEqual(['b-x-c/slice', 'c/slice']);
});

it('a name stays open while a kind is awaited, until the kind joins or is given up', () => {
  for (const end of ['join', 'goOnWithout'] as const) {
    const shared = registry();
    const { view } = world({}, () => true);
    const names = shared.join('Endpoints', view);
    const isPending = () => names.clashOf(one, place, 'host/new')?.isPending;
    expect(isPending()).toBe(false);
    shared.await('EndpointSlice');
    expect(isPending()).toBe(true);
    if (end === 'join') shared.join('EndpointSlice', world({}, () => true).view);
    else shared.goOnWithout('EndpointSlice');
    expect(isPending()).toBe(false);
  }
});

const many = (namespace: string, count: number) => Array.from({ length: count }, (_, at) => `${namespace}/slice-${at}`);

it('of a Service with thousands of objects the first hundred are judged, and the hundredth counts', () => {
  const objects = { [one]: many('b-x-c', 3_000), [other]: many('c', 3_000) };
  const { names, asked } = world(objects, (key) => key === `c/slice-${judged - 1}`);
  expect(names.clashOf(one, place, 'host/new')).toMatchObject({ rivals: [other], holder: other });
  expect(asked).toHaveLength(2 * judged);
});

it('of thousands of copies behind the name the first hundred are judged, and the hundredth keeps it', () => {
  for (const [eligible, holder] of [
    [judged - 1, one],
    [judged, other],
  ] as const) {
    const copied = `b-x-c/slice-${eligible}`;
    const { names, asked } = world({ [one]: [copied], [other]: ['c/own'] }, (key) => [copied, 'c/own'].includes(key));
    for (const [at, copyOf] of many('b-x-c', 3_000).entries())
      names.noteWrite(`host/copy-${at}`, { service: keyOf(place.namespace, place.name), copyOf });
    expect(names.clashOf(one, place, 'host/new')?.holder).toBe(holder);
    // One object of each Service is asked for its age.
    expect(asked).toHaveLength(2 + judged);
  }
});
