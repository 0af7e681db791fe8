import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SchemaSet } from '../../../src/apiserver/kinds/schema.ts';
import { StatusFault } from '../../../src/apiserver/request/status-fault.ts';
import { applyStrategicMergePatch } from '../../../src/apiserver/verbs/patch/strategic-merge.ts';
import { applyMergePatch } from '../../../src/object/patch/merge-patch.ts';
import type { Json } from '../../../src/object/text/json.ts';
import { processorMs } from '../../own-time.ts';
import { widgetSchemas } from '../shop/widgets.ts';

const node = new SchemaSet(widgetSchemas).node('Widget');
const patched = (value: Json, patch: Json) => applyStrategicMergePatch(value, patch, node);
const parts = (...names: string[]) => ({ spec: { parts: names.map((name) => ({ name, count: 1 })) } });
const names = (value: Json) =>
  ((value as { spec: { parts?: { name: string }[] } }).spec.parts ?? []).map((part) => part.name);

describe('applyStrategicMergePatch()', () => {
  it('merges items of a keyed list by their key', () => {
    const patch = { spec: { parts: [{ name: 'b', count: 2 }] } };
    expect(patched(parts('a', 'b'), patch)).toEqual({
      spec: {
        parts: [
          { name: 'a', count: 1 },
          { name: 'b', count: 2 },
        ],
      },
    });
  });

  it('puts a new item before the items that the patch does not name', () => {
    expect(names(patched(parts('a'), { spec: { parts: [{ name: 'z' }] } }))).toEqual(['z', 'a']);
  });

  it('applies the order of $setElementOrder', () => {
    const patch = {
      spec: { '$setElementOrder/parts': [{ name: 'c' }, { name: 'a' }], parts: [{ name: 'c', count: 9 }] },
    };
    expect(names(patched(parts('a', 'b', 'c'), patch))).toEqual(['b', 'c', 'a']);
  });

  it('deletes an item, replaces a list, deletes and replaces a map', () => {
    expect(names(patched(parts('a', 'b'), { spec: { parts: [{ name: 'a', $patch: 'delete' }] } }))).toEqual(['b']);
    expect(names(patched(parts('a', 'b'), { spec: { parts: [{ $patch: 'replace' }, { name: 'c' }] } }))).toEqual(['c']);
    expect(patched({ spec: { size: 'big' } }, { spec: { $patch: 'delete' } })).toEqual({ spec: {} });
    expect(patched({ spec: { size: 'big' } }, { spec: { $patch: 'replace', tags: ['x'] } })).toEqual({
      spec: { tags: ['x'] },
    });
  });

  it('keeps only the keys in $retainKeys', () => {
    const value = { spec: { size: 'big', tags: ['x'] } };
    expect(patched(value, { spec: { $retainKeys: ['tags'], tags: ['y'] } })).toEqual({ spec: { tags: ['y'] } });
  });

  it('adds to a set and takes single values out of it', () => {
    const value = { metadata: { finalizers: ['a/x', 'b/x'] } };
    expect(patched(value, { metadata: { finalizers: ['b/x', 'c/x'] } })).toEqual({
      metadata: { finalizers: ['a/x', 'b/x', 'c/x'] },
    });
    expect(patched(value, { metadata: { '$deleteFromPrimitiveList/finalizers': ['a/x'] } })).toEqual({
      metadata: { finalizers: ['b/x'] },
    });
  });

  it('takes no longer for long lists than for their items', () => {
    const before = processorMs();
    const old = Array.from({ length: 20_000 }, (_, at) => `a.b/${at}`);
    const more = old.map((name) => `c.${name}`);
    const merged = (metadata: Json) => {
      const result = patched({ metadata: { finalizers: old } }, { metadata }) as { metadata: { finalizers: string[] } };
      return result.metadata.finalizers.join();
    };
    const reversed = [...old].reverse();
    expect(merged({ finalizers: more }) === [...more, ...old].join()).toBe(true);
    expect(merged({ '$setElementOrder/finalizers': reversed }) === reversed.join()).toBe(true);
    expect(merged({ '$deleteFromPrimitiveList/finalizers': more }) === old.join()).toBe(true);
    expect(names(patched(parts(...old), parts(...old, 'z'))).join() === [...old, 'z'].join()).toBe(true);
    expect(processorMs() - before).toBeLessThan(3_000);
  });

  it('refuses items without their merge key, and unknown directives', () => {
    expect(() => patched(parts('a'), { spec: { parts: [{ count: 1 }] } })).toThrow(StatusFault);
    expect(() => patched(parts('a'), { spec: { $patch: 'nonsense' } })).toThrow(StatusFault);
  });

  it('equals a merge patch where no list is merged', () => {
    const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.array(fc.string()));
    const maps = fc.dictionary(fc.constantFrom('a', 'b', 'c'), leaf, { maxKeys: 3 });
    const objects = fc.dictionary(fc.constantFrom('x', 'y', 'z'), fc.oneof(leaf, maps), { maxKeys: 3 });
    fc.assert(
      fc.property(objects, objects, (value, patch) => {
        expect(patched(value as Json, patch as Json)).toEqual(applyMergePatch(value as Json, patch as Json));
      }),
    );
  });
});
