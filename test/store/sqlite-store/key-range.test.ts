import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compareKeys } from '../../../src/store/key-order.ts';
import { beyondPrefix, firstBehind } from '../../../src/store/sqlite/key-range.ts';

// Characters at whose borders the order of bytes and the order of JavaScript differ.
const text = fc.string({
  unit: fc.constantFrom('a', 'b', '/', '\u0000', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}'),
  maxLength: 4,
});

it('the range of a prefix holds the keys that begin with it, and no others', () => {
  fc.assert(
    fc.property(text, text, fc.boolean(), (prefix, rest, isBehind) => {
      const key = isBehind ? prefix + rest : rest;
      const beyond = beyondPrefix(prefix);
      const isBelow = typeof beyond !== 'string' || compareKeys(key, beyond) < 0;
      expect(compareKeys(key, firstBehind(prefix, undefined)) >= 0 && isBelow).toBe(key.startsWith(prefix));
    }),
    { numRuns: 500 },
  );
});
