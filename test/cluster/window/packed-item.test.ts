import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isSameContent, markOf, packItem, unpackItem, versionOf } from '../../../src/cluster/window/packed-item.ts';
import type { Item } from '../../../src/cluster/window/window.ts';
import { keyOf } from '../../../src/object/meta/object.ts';

interface Thing extends Item {
  labels?: Record<string, string>;
  load?: unknown;
  more?: unknown;
}

const payloadFields = ['load', 'more'];
const text = fc.string({ unit: 'binary', maxLength: 6 });
const things: fc.Arbitrary<Thing> = fc.record(
  {
    namespace: text.filter((namespace) => !namespace.includes('/')),
    name: text,
    uid: text,
    resourceVersion: fc.nat().map(String),
    mark: text.filter((mark) => mark !== ''),
    labels: fc.dictionary(text, text),
    load: fc.jsonValue().filter((value) => value !== null),
    more: fc.array(text),
  },
  { requiredKeys: ['namespace', 'name', 'uid', 'resourceVersion'] },
);
const pack = (thing: Thing) => packItem(thing, payloadFields, undefined);

test('unpacking returns an equal item, and packing does not change the item', () => {
  fc.assert(
    fc.property(things, (thing) => {
      const before = structuredClone(thing);
      const packed = pack(thing);
      expect(thing).toEqual(before);
      expect(unpackItem<Thing>(keyOf(before.namespace, before.name), packed)).toEqual(
        JSON.parse(JSON.stringify(before)),
      );
      expect([versionOf(packed), markOf(packed)]).toEqual([before.resourceVersion, before.mark ?? '']);
    }),
    { examples: [[{ namespace: 'n', name: '"],[{', uid: '\\', resourceVersion: '1', mark: '",{', load: '"]' }]] },
  );
});

test('the metadata text depends on the metadata alone, not on key, version or payload', () => {
  fc.assert(
    fc.property(things, things, (one, other) => {
      const { namespace, name, resourceVersion, load, more } = other;
      const moved = { ...one, namespace, name, resourceVersion, load, more };
      expect(pack(moved).metadata).toBe(pack(one).metadata);
      const rest = ({ uid, mark, labels }: Thing) => JSON.stringify([uid, mark ?? '', labels ?? 'none']);
      const isSame = rest(one) === rest(other);
      expect(pack(one).metadata === pack(other).metadata).toBe(isSame);
    }),
  );
});

test('the content is the same when only the version differs', () => {
  fc.assert(
    fc.property(things, things, (one, other) => {
      expect(isSameContent(pack(one), pack({ ...one, resourceVersion: '77' }))).toBe(true);
      const { namespace, name, resourceVersion } = one;
      const isSame = JSON.stringify(one) === JSON.stringify({ ...other, namespace, name, resourceVersion });
      expect(isSameContent(pack(one), pack(other))).toBe(isSame);
    }),
  );
});
