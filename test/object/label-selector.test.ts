import { describe, expect, it } from 'vitest';
import {
  type LabelSelectorResult,
  labelSelectorText,
  matchesLabels,
  parseLabelSelector,
} from '../../src/object/label-selector.ts';
import { cases } from './fixture.ts';

const labels = { a: '1', b: 'x', 'c.d/e': '', in: 'in', n: '42' };

function outcome(result: LabelSelectorResult): { error: string } | { matches: boolean } {
  return result.ok ? { matches: matchesLabels(result.selector, labels) } : { error: result.message };
}

describe('parseLabelSelector()', () => {
  it.each(cases<{ text: string; error?: string; matches?: boolean }>('label-selectors'))(
    'reads, matches and refuses as Kubernetes does: $text',
    ({ text, ...expected }) => {
      const result = parseLabelSelector(text);
      expect(outcome(result)).toEqual(expected);
      if (result.ok) expect(parseLabelSelector(labelSelectorText(result.selector))).toEqual(result);
    },
  );

  it('takes an empty one for everything', () => {
    expect(outcome(parseLabelSelector(''))).toEqual({ matches: true });
  });

  it('never takes an inherited member for a label', () => {
    const result = parseLabelSelector('constructor');
    expect(result.ok && matchesLabels(result.selector, {})).toBe(false);
    expect(result.ok && matchesLabels(result.selector, undefined)).toBe(false);
  });
});
