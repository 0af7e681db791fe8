import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  hasHead,
  isSameContent,
  markOf,
  packItem,
  unpackItem,
  versionOf,
} from '../../../src/cluster/window/packed-item.ts';
import { Outlines } from '../../../src/cluster/window/text/outline.ts';
import type { Item } from '../../../src/cluster/window/window.ts';
import { keyOf } from '../../../src/object/meta/object.ts';

interface Thing extends Item {
  labels?: Record<string, string>;
  load?: unknown;
  more?: unknown;
}

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
const outlines = new Outlines();
/** With the outlines of all before, or with new ones. */
const pack = (thing: Thing, used = outlines) => packItem(thing, used, undefined);

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
      const { uid, resourceVersion } = before;
      const others = [
        { uid: `${uid}.`, resourceVersion },
        { uid, resourceVersion: `${resourceVersion}0` },
      ];
      expect([before, ...others].map((head) => hasHead(packed, head))).toEqual([true, false, false]);
    }),
    { examples: [[{ namespace: 'n', name: '"],[{', uid: '\\', resourceVersion: '1', mark: '",{', load: '"]' }]] },
  );
});

test('the content is the same when only the version differs', () => {
  fc.assert(
    fc.property(things, things, (one, other) => {
      expect(isSameContent(pack(one), pack({ ...one, resourceVersion: '77' }))).toBe(true);
      const { namespace, name, resourceVersion } = one;
      const isSame = JSON.stringify(one) === JSON.stringify({ ...other, namespace, name, resourceVersion });
      for (const used of [outlines, new Outlines()]) expect(isSameContent(pack(one), pack(other, used))).toBe(isSame);
    }),
  );
});
