import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { equalJson } from '../../../src/object/text/json.ts';

describe('equalJson()', () => {
  it.each([
    { a: { x: 1, y: [1, 2] }, b: { y: [1, 2], x: 1 }, isEqual: true },
    { a: [1, 2], b: [2, 1], isEqual: false },
    { a: { x: 1 }, b: { x: '1' }, isEqual: false },
    { a: {}, b: [], isEqual: false },
    { a: [], b: {}, isEqual: false },
    { a: null, b: undefined, isEqual: false },
    { a: null, b: {}, isEqual: false },
    { a: { x: null }, b: {}, isEqual: false },
    { a: { x: 1 }, b: { x: 1, y: 2 }, isEqual: false },
    { a: { x: 1, y: 2 }, b: { x: 1 }, isEqual: false },
  ])('$a and $b: $isEqual', ({ a, b, isEqual }) => expect(equalJson(a, b)).toBe(isEqual));

  it.each([
    { a: { x: 1, y: undefined }, b: { x: 1 }, isEqual: true },
    { a: { x: undefined }, b: { y: undefined }, isEqual: true },
    { a: { list: [{ x: undefined }] }, b: { list: [{}] }, isEqual: true },
    { a: { x: undefined }, b: { x: null }, isEqual: false },
    { a: { x: undefined }, b: { x: 1 }, isEqual: false },
    { a: { x: 1, y: undefined }, b: { x: 1, y: 2 }, isEqual: false },
  ])('a member that is undefined is not there, as in the text of it: $a and $b: $isEqual', ({ a, b, isEqual }) => {
    expect(equalJson(a, b)).toBe(isEqual);
    expect(equalJson(b, a)).toBe(isEqual);
  });

  it('ignores inherited members and treats __proto__ as an ordinary member', () => {
    expect(equalJson({ toString: 1 }, {})).toBe(false);
    expect(equalJson({}, { toString: undefined })).toBe(true);
    expect(equalJson(JSON.parse('{"__proto__": {}}'), {})).toBe(false);
    expect(equalJson(JSON.parse('{"__proto__": 1}'), JSON.parse('{"__proto__": 1}'))).toBe(true);
  });

  it('agrees with a comparison of both texts with sorted members', () => {
    const inOrder = (_: string, value: unknown): unknown =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
        : value;
    const leaf = fc.constantFrom(null, undefined, 0, 1, '', 'a', true);
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        leaf,
        fc.array(
          tie('value').map((item) => item ?? null),
          { maxLength: 2 },
        ),
        fc.dictionary(fc.constantFrom('x', 'y'), tie('value'), { maxKeys: 2 }),
      ),
    }));
    fc.assert(
      fc.property(value, value, (a, b) => {
        expect(equalJson(a, b)).toBe(JSON.stringify(a, inOrder) === JSON.stringify(b, inOrder));
      }),
      { numRuns: 2_000 },
    );
  });
});
