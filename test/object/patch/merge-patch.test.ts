import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyMergePatch } from '../../../src/object/patch/merge-patch.ts';
import { copyJson, type Json } from '../../../src/object/text/json.ts';

// The examples come from RFC 7396, appendix A.
const examples: [value: Json, mergePatch: Json, result: Json][] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];

const member = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor');
const json = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.constantFrom<Json[]>(1, 's', true, false),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.array(fc.tuple(member, tie('value')), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  ),
})).value;

describe('applyMergePatch()', () => {
  it.each(examples)('%j and %j give %j', (value, mergePatch, result) => {
    expect(applyMergePatch(value, mergePatch)).toEqual(result);
  });

  it('changes neither input', () => {
    fc.assert(
      fc.property(json, json, (value, mergePatch) => {
        const before = [copyJson(value), copyJson(mergePatch)];
        applyMergePatch(value, mergePatch);
        expect([value, mergePatch]).toEqual(before);
      }),
    );
  });

  it('treats __proto__ as an ordinary member and changes no prototype', () => {
    const result = applyMergePatch({}, JSON.parse('{"__proto__":{"polluted":true}}'));
    expect(Object.getPrototypeOf(result)).toBe(Object.prototype);
    expect(JSON.stringify(result)).toBe('{"__proto__":{"polluted":true}}');
    expect('polluted' in {}).toBe(false);
  });
});
