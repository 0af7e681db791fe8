import { describe, expect, it } from 'vitest';
import { expansionFault, isTooDeep, maxDepth } from '../../../src/object/text/nesting.ts';

describe('isTooDeep()', () => {
  it('counts levels, and no brackets inside texts', () => {
    expect(isTooDeep('['.repeat(maxDepth) + ']'.repeat(maxDepth))).toBe(false);
    expect(isTooDeep('{"a":'.repeat(maxDepth + 1))).toBe(true);
    expect(isTooDeep(JSON.stringify({ a: '['.repeat(maxDepth * 2), b: '\\"[['.repeat(maxDepth) }))).toBe(false);
    expect(isTooDeep('[],'.repeat(maxDepth * 2))).toBe(false);
  });
});

describe('expansionFault()', () => {
  it('counts what an alias names each time, and stops at the limit', () => {
    let value: unknown = ['x'];
    for (let level = 0; level < 30; level++) value = [value, value];
    expect(expansionFault(value, 10_000)).toBe('too long');
    expect(expansionFault({ a: ['text', 1, null] }, 100)).toBeUndefined();
    expect(expansionFault({ a: 'x'.repeat(101) }, 100)).toBe('too long');
  });

  it('ends at a document that contains itself', () => {
    const value: unknown[] = [];
    value.push(value);
    expect(expansionFault(value, 1_000_000)).toBe('too deep');
  });
});
