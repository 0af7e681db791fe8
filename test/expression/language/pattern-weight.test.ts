import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileExpression } from '../../../src/expression/language/compile.ts';
import { patternWeight } from '../../../src/expression/language/pattern-weight.ts';
import { realmLimits } from '../../../src/expression/limits.ts';
import { run } from '../evaluator-fixture.ts';

const heavy: readonly [pattern: string, flags: string][] = [
  [`(?:${'a?'.repeat(60)})${'a'.repeat(60)}`, ''],
  ['a?'.repeat(40), ''],
  ['a*'.repeat(40), 'g'],
  ['(?:a|)'.repeat(30), ''],
  ['(?:(?:a?b?c?){3}d?){3}', ''],
  ['\\p{L}'.repeat(8), 'iu'],
  ['\\p{L}{3}.\\b'.repeat(3), 'u'],
  ['[\\p{L}\\p{N}]{3}', 'u'],
  ['(?=a?)'.repeat(30), ''],
  [')'.repeat(3) + 'a?'.repeat(40), ''],
];

const light: readonly [pattern: string, flags: string][] = [
  ['^((25[0-5]|2[0-4]\\d|1?\\d?\\d)\\.){3}(25[0-5]|2[0-4]\\d|1?\\d?\\d)$', ''],
  ['^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$', ''],
  ['^v?(\\d+)\\.(\\d+)\\.(\\d+)(?:-([\\w.-]+))?(?:\\+([\\w.-]+))?$', ''],
  ['(?<name>[^:/]+):(?<port>\\d{1,5})', ''],
  ['https?:[^?#]+(?:\\?[^#]*)?(?:#.*)?', 'i'],
  ['\\p{L}+', 'u'],
  ['[\\]|(]{2}', ''],
  [Array.from({ length: 100 }, (_, at) => `name-${at}`).join('|'), ''],
];

describe('patternWeight()', () => {
  // What is in braces is searched once more for each repetition, and once where it is repeated not at all.
  it.each([
    ['(?:a?b?)', 2],
    ['(?:a?b?){0}', 2],
    ['(?:a?b?){1}', 2],
    ['(?:a?){9}', 4],
    ['(?:a?b?){10}', 8],
  ])('of %s is %i', (pattern, weight) => {
    expect(patternWeight(pattern, false)).toBe(weight);
  });

  it.each(heavy)(
    'is above the limit for /%s/%s, which is refused as a literal and from a value',
    async (pattern, flags) => {
      expect(patternWeight(pattern, flags.includes('u'))).toBeGreaterThan(realmLimits.patternWeight);
      if (!pattern.startsWith(')')) {
        const literal = compileExpression(`/${pattern}/${flags}.test(value)`);
        expect(literal.kind === 'faults' && literal.faults[0].message).toMatch(/too many optional parts/);
      }
      const made = await run(`new RegExp(value, "${flags}").test("a")`, { value: pattern });
      expect(made).toMatchObject({
        error: { kind: 'size', message: expect.stringMatching(/too many optional parts/) },
      });
    },
  );

  it.each(light)('lets pass what people write: /%s/%s', async (pattern, flags) => {
    expect(patternWeight(pattern, flags.includes('u'))).toBeLessThanOrEqual(realmLimits.patternWeight);
    expect(compileExpression(`/${pattern}/${flags}.test(value)`).kind).toBe('ok');
    const made = await run(`new RegExp(value, "${flags}").source`, { value: pattern });
    expect(made).toEqual({ value: new RegExp(pattern, flags).source });
  });

  it('is the same function in the realm: match(), matchAll() and search() make patterns of texts too', async () => {
    const value = 'a?'.repeat(60);
    for (const source of [
      '"a".match(value)',
      '[..."a".matchAll(value)]',
      '"a".search(value)',
      'RegExp(value).source',
    ]) {
      expect(await run(source, { value })).toMatchObject({ error: { kind: 'size' } });
    }
  });

  it('compiles every pattern below the limit in a short time', () => {
    const atom = fc.constantFrom(
      'a',
      '.',
      '\\w',
      '[ab]',
      '[^a]',
      '\\b',
      '\\p{L}',
      '^',
      '$',
      '()',
      '(?:)',
      '\\W',
      '\\1',
    );
    const quantifier = fc.constantFrom('', '', '?', '*', '+', '{0,2}', '{1,3}', '{3}', '??', '{2,}', '{0,5}');
    const { pattern } = fc.letrec<{ pattern: string; term: string; group: string }>((tie) => ({
      pattern: fc.array(tie('term'), { maxLength: 6 }).map((terms) => terms.join('')),
      term: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.tuple(atom, quantifier).map(([a, q]) => (/^(\\b|\^|\$)/.test(a) ? a : a + q)),
        tie('group'),
      ),
      group: fc
        .tuple(
          fc.constantFrom('(', '(?:', '(?=', '(?!'),
          fc.array(tie('pattern'), { minLength: 1, maxLength: 3 }),
          quantifier,
        )
        .map(([open, parts, q]) => `${open}${parts.join('|')})${open.length === 3 && open !== '(?:' ? '' : q}`),
    }));
    const input = fc.tuple(pattern, fc.integer({ min: 1, max: 12 }), fc.constantFrom('', 'i', 'u', 'iu'));
    let slowestMs = 0;
    fc.assert(
      fc.property(input, ([part, times, flags]) => {
        const source = part.repeat(times);
        if (source.length > realmLimits.pattern) return;
        if (patternWeight(source, flags.includes('u')) > realmLimits.patternWeight) return;
        const before = process.threadCpuUsage();
        try {
          new RegExp(source, flags).test('\u0100');
        } catch {
          return;
        }
        const { user, system } = process.threadCpuUsage(before);
        slowestMs = Math.max(slowestMs, (user + system) / 1_000);
      }),
      { numRuns: 1_000 },
    );
    // Half of what an isolate gives to requests that come together would be 50; this is processor time.
    expect(slowestMs).toBeLessThan(300);
  });
});
