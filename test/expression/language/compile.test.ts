import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileExpression } from '../../../src/expression/language/compile.ts';
import type { ContextUse } from '../../../src/expression/language/context-use.ts';
import { generate, sourceIndexAt } from '../../../src/expression/language/generate.ts';
import { lintExpression } from '../../../src/expression/language/lint.ts';
import { rootOf } from '../../../src/expression/language/member-chain.ts';
import { parseExpression } from '../../../src/expression/language/parse.ts';
import { expressionLimits } from '../../../src/expression/limits.ts';
import { compiled, evaluateOne, fixture, startEvaluator } from '../evaluator-fixture.ts';

interface Refused {
  expression: string;
  kind: 'syntax' | 'rejected';
  message: string;
  fix?: string;
  line: number;
  column?: number;
}

describe('an expression of the greatest length', () => {
  it.each([
    [expressionLimits.maxChars, 'ok'],
    [expressionLimits.maxChars + 1, 'fault'],
  ])('%d characters: %s', (length, kind) => {
    expect(parseExpression(`"${'x'.repeat(length - 2)}"`).kind).toBe(kind);
  });
});

describe('the code of a loop', () => {
  it.each([
    'while (n < 3) n++',
    'do n++; while (n < 3)',
    'do { n++; } while (n < 3)',
    'for (;;) n++',
    'for (let i = 0; i < 3; i++) n++',
    'for (const one of value) n++',
    'for (const one in value) n++',
  ])('%s calls a function in each turn, so that the time limit is looked at', (loop) => {
    const { code } = compiled(`(() => { let n = 0; ${loop}; return n; })()`);
    expect(code).toMatch(/(?:\)|do)\{\$\$turn\(\);/);
  });
});

describe('sourceIndexAt()', () => {
  const sources = fixture<{ expression: string }[]>('evaluations.json').map(({ expression }) => expression);

  it('finds the first part at the begin of the code, and leaves the code as it was', () => {
    for (const source of sources) {
      const { tree, code } = compiled(source);
      expect(sourceIndexAt(source, tree, 0)).toBeGreaterThanOrEqual(tree.start);
      expect(generate(tree)).toBe(code);
    }
  });

  it('finds every name where it is', () => {
    for (const source of sources) {
      const { tree, code } = compiled(source);
      for (const { index } of code.matchAll(/(?<![\w"'])value\b(?!")/g)) {
        const at = sourceIndexAt(source, tree, index) ?? -1;
        if (!/["'`/]/.test(source)) expect(source.slice(at, at + 5)).toBe('value');
      }
    }
  });
});

describe('compileExpression() refuses', () => {
  it.each(fixture<Refused[]>('refused.json').map((row) => [row.expression.slice(0, 60), row] as const))(
    '%s',
    (_, row) => {
      const result = compileExpression(row.expression);
      const faults = result.kind === 'faults' ? result.faults : [];
      const [first] = faults;
      expect(first?.kind).toBe(row.kind);
      expect(faults.map(({ message }) => message).join('\n')).toContain(row.message);
      expect(first?.line).toBe(row.line);
      if (row.column !== undefined) expect(first?.column).toBe(row.column);
      if (row.fix !== undefined) expect(first?.fix).toBe(row.fix);
      for (const { fix } of faults) expect(fix).not.toBe('');
    },
  );

  it('everything at once', () => {
    const result = compileExpression('foo + bar(this)');
    expect(result.kind === 'faults' && result.faults.map(({ column }) => column)).toEqual([1, 7, 11]);
  });

  it('only after walking each link of a long chain of members once', () => {
    let walked = 0;
    let node: object = { type: 'Identifier', name: 'value' };
    const links: object[] = [];
    for (let link = 0; link < 2_000; link++) {
      const inner = node;
      node = {
        type: 'MemberExpression',
        get object() {
          walked++;
          return inner;
        },
      };
      links.unshift(node);
    }
    const known = new Map();
    for (const link of links) expect(rootOf(link as never, known)).toMatchObject({ name: 'value' });
    expect(walked).toBe(2_000);
  });

  it('never by throwing, whatever the text', () => {
    const pieces = [
      'value',
      'context',
      '.',
      '[',
      ']',
      '(',
      ')',
      '"',
      '`',
      '${',
      '}',
      '{',
      '=>',
      '+',
      '=',
      ',',
      ' ',
      '\n',
      '/',
      '1',
      'x',
      '?',
      ':',
      ';',
      'in',
      '...',
      '<!--',
      '\u2028',
      '\\u0061',
      '#',
      '*',
      'async',
      'class',
      'new',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 14 }), (parts) => {
        expect(['ok', 'faults']).toContain(compileExpression(parts.join('')).kind);
      }),
      { numRuns: 3_000 },
    );
  });
});

function keysOf(use: ContextUse): unknown {
  return use.isWhole ? true : Object.fromEntries([...use.keys].map(([key, next]) => [key, keysOf(next)]));
}

describe('compileExpression() finds what is named of the context', () => {
  const cases: [string, unknown][] = [
    ['value', {}],
    ['context.path', { path: true }],
    ['context.vcluster.config.a["b.c"].d', { vcluster: { config: { a: { 'b.c': { d: true } } } } }],
    ['context.hostObject.metadata.name.startsWith("x")', { hostObject: { metadata: { name: true } } }],
    ['context?.hostObject?.["metadata"]?.labels?.x', { hostObject: { metadata: { labels: { x: true } } } }],
    ['context.hostObject.metadata[value].x', { hostObject: { metadata: true } }],
    ['context.virtualObject.a + context.virtualObject.b', { virtualObject: { a: true, b: true } }],
    ['context.virtualObject.a.b + context.virtualObject.a', { virtualObject: { a: true } }],
    ['((context) => context.x)({})', {}],
    ['((c) => c.x)(context)', true],
    ['context[value]', true],
    ['Object.keys(context.vcluster)', { vcluster: true }],
  ];
  it.each(cases)('%s', (source, expected) => {
    expect(keysOf(compiled(source).context)).toEqual(expected);
  });
});

interface Warned {
  expression: string;
  rules: string[];
  fix?: string;
  direction?: 'forward' | 'back';
  onMissing?: 'skip' | 'create';
}

describe('lintExpression()', () => {
  it.each(fixture<Warned[]>('warnings.json').map((row) => [row.expression, row.rules.join(), row] as const))(
    '%s: %s',
    (_, __, row) => {
      const { direction = 'forward', onMissing = 'skip' } = row;
      const warnings = lintExpression(compiled(row.expression), { direction, onMissing });
      expect(warnings.map(({ rule }) => rule)).toEqual(row.rules);
      if (row.fix !== undefined) expect(warnings[0]?.fix).toBe(row.fix);
    },
  );
});

// Expressions built from pieces whose meaning JavaScript itself can tell: the printed and guarded code must agree with it.
const leaf = fc.constantFrom(
  'value',
  '1',
  '-2.5',
  '"a"',
  ['`t$', '{value}`'].join(''),
  'null',
  'true',
  '[1, "b"]',
  '({k: value, "x-y": 2})',
  '/b+/',
);
const source: fc.Memo<string> = fc.memo((depth): fc.Arbitrary<string> => {
  if (depth <= 1) return leaf;
  const one = source(depth - 1);
  const two = fc.tuple(one, one);
  return fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc
      .tuple(two, fc.constantFrom('+', '-', '*', '<', '===', '!=', '&&', '||', ',', '%', '>>>'))
      .map(([[a, b], op]) => `(${a}) ${op} (${b})`),
    two.map(([a, b]) => `(${a}) ?? ${b === 'null' ? '0' : `(${b})`}`),
    fc.tuple(one, one, one).map(([a, b, c]) => `(${a}) ? (${b}) : (${c})`),
    one.map(
      (a) => `((x, ...r) => { let s = "" + r.length; for (const c of [${a}, x]) s += typeof c; return s })(${a}, 1)`,
    ),
    one.map(
      (a) =>
        `(() => { const o = {n: [${a}]}; o.n[0] += "z"; o["n"].push(1); const {n: [p, q = 2]} = o; return [p, q, !o, typeof p] })()`,
    ),
    one.map((a) => `String(${a}).replace(/[a-m]/g, (m) => m + "$&").split("").reverse().join("")`),
    one.map((a) => `[...String(${a})].filter((c) => c > "0").map((c, i) => c + i).sort()`),
    one.map(
      (a) =>
        `(() => { switch (typeof (${a})) { case "string": return "s"; case "number": { return 1 } default: try { throw new Error("e") } catch (e) { return e.message } } })()`,
    ),
    one.map((a) => `JSON.stringify({a: ${a}, b: [undefined]})`),
    one.map((a) => `(-(${a})) ** 2`),
  );
});

function native(text: string, value: unknown): string {
  try {
    // The expressions are this test's own.
    const result = new Function('value', `'use strict'; return (${text})`)(value);
    return JSON.stringify({ value: result ?? null });
  } catch {
    return 'threw';
  }
}

describe('generated code', () => {
  it('means what the expression means', { timeout: 30_000 }, async () => {
    const sources = fc.sample(source(4), { numRuns: 400, seed: 7 }).filter((text) => text.length < 3_000);
    const expressions = sources.map(compiled);
    const evaluator = await startEvaluator({ expressions });
    let compared = 0;
    for (const [at, expression] of expressions.entries()) {
      for (const value of ['abc', 3, { k: [1] }]) {
        const ours = await evaluateOne(evaluator, expression, { value: structuredClone(value) });
        // NaN, functions and objects of a class are no data; there the two differ by design.
        if ('error' in ours && ours.error.kind !== 'threw') continue;
        const text = 'error' in ours ? 'threw' : JSON.stringify(ours);
        expect(`${sources[at]}: ${text}`).toBe(
          `${sources[at]}: ${native(sources[at] as string, structuredClone(value))}`,
        );
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(600);
  });
});
