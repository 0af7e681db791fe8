import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Cache } from '../../../src/cluster/window/cache.ts';
import { compareVersions } from '../../../src/cluster/window/text/resource-version.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { projectTestItem } from '../subject.ts';

const make = (name: string, rv: number, value: unknown = rv): KubeObject => ({
  metadata: { name, namespace: 'n', uid: `uid-${name}`, resourceVersion: String(rv) },
  value,
});

test('get() returns a frozen item with its stored version', () => {
  const cache = new Cache(projectTestItem);
  cache.set(make('a', 9));
  const first = cache.get('n/a');
  expect(first).toEqual({ namespace: 'n', name: 'a', uid: 'uid-a', resourceVersion: '9', value: 9 });
  expect(() => Object.assign(first ?? {}, { value: 'spoilt' })).toThrow(TypeError);
  expect(cache.get('n/a')?.value).toBe(9);
});

test('any mark is read back unchanged and belongs to the item', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (mark) => {
      const cache = new Cache((object) => ({ ...projectTestItem(object), mark }));
      const gathered = cache.gather();
      gathered.add(make('a', 9, '",{"'));
      cache.swap(gathered, { isAuthoritative: false });
      expect(cache.markOf('n/a')).toBe(mark);
      expect(cache.get('n/a')?.mark ?? '').toBe(mark);
      expect(cache.get('n/a')).toMatchObject({ resourceVersion: '9', value: '",{"' });
    }),
    { examples: [['"'], ['\\'], ['",{'], ['\\",{'], ['a/b'], ['']] },
  );
});

test('markOf() is empty without a mark and undefined without an item; a changed mark is a changed item', () => {
  let mark: string | undefined;
  const cache = new Cache((object) => ({ ...projectTestItem(object), ...(mark !== undefined && { mark }) }));
  expect(cache.markOf('n/a')).toBeUndefined();
  cache.set(make('a', 9, 'same'));
  expect(cache.markOf('n/a')).toBe('');
  mark = 'other';
  expect(cache.set(make('a', 10, 'same'))).toBe('set');
  expect(cache.set(make('a', 11, 'same'))).toBe('none');
});

test('versions are compared as numbers: 10 is newer than 9', () => {
  const cache = new Cache(projectTestItem);
  cache.set(make('a', 9));
  expect(cache.set(make('a', 10))).toBe('set');
  expect(cache.set(make('a', 9))).toBe('none');
  expect(cache.get('n/a')?.value).toBe(10);
});

test('a newer version with the same content is stored and not reported', () => {
  const cache = new Cache(projectTestItem);
  cache.set(make('a', 9, 'same'));
  expect(cache.set(make('a', 10, 'same'))).toBe('none');
  expect(cache.versionOf('n/a')).toBe('10');
});

test('an object that the projection begins to hide is removed', () => {
  const cache = new Cache((object) => (object['value'] === 'hidden' ? undefined : projectTestItem(object)));
  cache.set(make('a', 1));
  expect(cache.set(make('a', 2, 'hidden'))).toBe('removed');
  expect(cache.has('n/a')).toBe(false);
});

test('a delete older than the known version is ignored, because it belongs to an earlier object', () => {
  const cache = new Cache(projectTestItem);
  cache.remember(make('a', 20));
  expect(cache.remove(make('a', 15))).toBe('none');
  expect(cache.has('n/a')).toBe(true);
});

test('forget() keeps an item that is newer than the given version', () => {
  const cache = new Cache(projectTestItem);
  cache.set(make('a', 20));
  cache.forget('n/a', '15');
  expect(cache.has('n/a')).toBe(true);
});

test('__proto__ and constructor are ordinary names', () => {
  const cache = new Cache(projectTestItem);
  for (const name of ['__proto__', 'constructor', 'toString']) {
    expect(cache.has(`n/${name}`)).toBe(false);
    cache.set(make(name, 5));
    expect(cache.get(`n/${name}`)?.value).toBe(5);
  }
});

test('an authoritative list replaces all items, also newer ones', () => {
  const cache = new Cache(projectTestItem);
  cache.set(make('a', 100));
  const gathered = cache.gather();
  cache.remember(make('b', 101));
  gathered.add(make('a', 5));
  gathered.rv = '6';
  cache.swap(gathered, { isAuthoritative: true });
  expect([...cache.keys()]).toEqual(['n/a']);
  expect(cache.versionOf('n/a')).toBe('5');
});

test('compareVersions() orders decimal texts of any length as numbers', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n }), fc.bigInt({ min: 1n }), (a, b) => {
      const order = compareVersions(String(a), String(b));
      expect(Math.sign(order)).toBe(a < b ? -1 : a > b ? 1 : 0);
    }),
  );
});

test('an event between an earlier delete and an own delete does not bring the object back', () => {
  const cache = new Cache(projectTestItem);
  cache.remember(make('a', 103));
  cache.forget('n/a', '103');
  cache.remove(make('a', 101));
  expect(cache.set(make('a', 102))).toBe('none');
  expect(cache.has('n/a')).toBe(false);
});

interface ClusterEvent {
  name: number;
  what: 'foreign' | 'foreignDelete' | 'own' | 'ownDelete';
}

// The server makes a sequence of changes. The cache receives own changes at once, and all changes later in their order, from
// a watch or from a list. The cache must never show an older state than before, and must end with the state of the server.
test('own writes, a late watch and lists in any mixture never go back and end at the state of the server', () => {
  const happening = fc.record<ClusterEvent>({
    name: fc.integer({ min: 0, max: 3 }),
    what: fc.constantFrom('foreign', 'foreignDelete', 'own', 'ownDelete'),
  });
  const listAt = fc.option(fc.record({ beganAfter: fc.nat(12), cameAfter: fc.nat(12) }));
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 12 }), fc.nat(12), listAt, (happenings, lag, list) => {
      const cache = new Cache(projectTestItem);
      const truth = new Map<string, KubeObject>();
      const events: { type: 'SET' | 'DELETED'; object: KubeObject }[] = [];
      const shown = new Map<string, number>();
      let delivered = 0;
      let gathering: ReturnType<typeof cache.gather> | undefined;
      const check = () => {
        for (const name of ['0', '1', '2', '3']) {
          const rv = Number(cache.versionOf(`n/${name}`) ?? 0);
          if (rv === 0) continue;
          expect(rv).toBeGreaterThanOrEqual(shown.get(name) ?? 0);
          shown.set(name, rv);
        }
      };
      const deliver = (upTo: number) => {
        for (; delivered < upTo; delivered++) {
          const event = events[delivered];
          if (event?.type === 'DELETED') cache.remove(event.object);
          else if (event !== undefined) cache.set(event.object);
          check();
        }
      };
      happenings.forEach(({ name, what }, index) => {
        const rv = 100 + index;
        const object = make(String(name), rv);
        const before = truth.get(String(name));
        if (what === 'foreign' || what === 'own') truth.set(String(name), object);
        else truth.delete(String(name));
        const isDelete = what === 'foreignDelete' || what === 'ownDelete';
        if (!isDelete || before !== undefined) events.push({ type: isDelete ? 'DELETED' : 'SET', object });
        if (list?.beganAfter === index && gathering === undefined) {
          gathering = cache.gather();
          for (const each of truth.values()) gathering.add(each);
          gathering.rv = String(rv);
        }
        if (what === 'own') cache.remember(object);
        if (what === 'ownDelete' && before !== undefined) cache.forget(`n/${name}`, before.metadata.resourceVersion);
        check();
        if (gathering === undefined) deliver(Math.max(delivered, events.length - lag));
        else if (list !== null && list.cameAfter <= index) {
          const upTo = Number(gathering.rv);
          cache.swap(gathering, { isAuthoritative: false });
          check();
          gathering = undefined;
          // The watch continues from the version of the list.
          delivered = Math.max(
            delivered,
            events.filter(({ object }) => Number(object.metadata.resourceVersion) <= upTo).length,
          );
        }
      });
      if (gathering !== undefined) cache.giveUpGathering();
      deliver(events.length);
      const expected = [...truth].map(([name, object]) => [`n/${name}`, object.metadata.resourceVersion]);
      expect([...cache.keys()].map((key) => [key, cache.versionOf(key)]).sort()).toEqual(expected.sort());
    }),
    { numRuns: 500 },
  );
});
