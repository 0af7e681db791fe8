import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exactValue, matchesFields, parseFieldSelector } from '../../../src/object/select/field-selector.ts';
import { cases } from '../fixture.ts';

const fields = new Map([
  ['metadata.name', 'x,y'],
  ['metadata.namespace', 'default'],
]);
const lookup = (field: string) => fields.get(field) ?? '';

describe('parseFieldSelector()', () => {
  it.each(cases<{ text: string; error?: string; matches?: boolean }>('field-selectors'))(
    'reads, matches and refuses as Kubernetes does: $text',
    ({ text, ...expected }) => {
      const result = parseFieldSelector(text);
      expect(result.ok ? { matches: matchesFields(result.selector, lookup) } : { error: result.message }).toEqual(
        expected,
      );
    },
  );

  it('reads any value back from its escaped form', () => {
    fc.assert(
      fc.property(fc.string(), (value) => {
        const selector = { requirements: [{ field: 'f', operator: 'equals' as const, value }] };
        expect(parseFieldSelector(`f=${value.replace(/[\\,=]/g, '\\$&')}`)).toEqual({ ok: true, selector });
      }),
    );
  });
});

describe('exactValue()', () => {
  it('returns a value only for an equality', () => {
    const result = parseFieldSelector('metadata.name=x,metadata.namespace!=y');
    if (!result.ok) throw new Error(result.message);
    expect(exactValue(result.selector, 'metadata.name')).toBe('x');
    expect(exactValue(result.selector, 'metadata.namespace')).toBeUndefined();
  });
});
