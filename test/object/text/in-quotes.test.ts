import { describe, expect, it } from 'vitest';
import { inQuotes } from '../../../src/object/text/in-quotes.ts';

describe('inQuotes()', () => {
  it.each([
    ['web', '"web"'],
    ['', '""'],
    ["it's", '"it\'s"'],
    ['a\\d', '"a\\d"'],
    ['metadata.labels["team"]', '`metadata.labels["team"]`'],
    ['two\nlines', '"two\\nlines"'],
    ['"a`b"', '"\\"a`b\\""'],
  ])('%j reads %s', (text, shown) => expect(inQuotes(text)).toBe(shown));
});
