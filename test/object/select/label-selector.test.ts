import { describe, expect, it } from 'vitest';
import {
  type LabelSelectorResult,
  matchesLabels,
  parseLabelSelector,
  withLabelKeys,
} from '../../../src/object/select/label-selector.ts';
import { cases } from '../fixture.ts';

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
    },
  );

  it('matches every object with an empty selector', () => {
    expect(outcome(parseLabelSelector(''))).toEqual({ matches: true });
  });

  it('never treats an inherited member as a label', () => {
    const result = parseLabelSelector('constructor');
    expect(result.ok && matchesLabels(result.selector, {})).toBe(false);
    expect(result.ok && matchesLabels(result.selector, undefined)).toBe(false);
  });
});

describe('withLabelKeys()', () => {
  const spelled = (key: string) => `${key}.z`;

  it.each(cases<{ text: string; error?: string }>('label-selectors').filter(({ error }) => error === undefined))(
    'changes the keys of $text and nothing else',
    ({ text }) => {
      const before = parseLabelSelector(text);
      const after = parseLabelSelector(withLabelKeys(text, spelled));
      if (!before.ok) throw new Error(before.message);
      const requirements = before.selector.requirements.map((one) => ({ ...one, key: spelled(one.key) }));
      expect(after).toEqual({ ok: true, selector: { requirements } });
      expect(withLabelKeys(text, (key) => key)).toBe(text);
    },
  );

  it('keeps signs, spaces and the order of the values', () => {
    const text = 'in in (b, in,a) ,!x, y , z==1,release != 2,n>3';
    expect(withLabelKeys(text, spelled)).toBe('in.z in (b, in,a) ,!x.z, y.z , z.z==1,release.z != 2,n.z>3');
  });
});
