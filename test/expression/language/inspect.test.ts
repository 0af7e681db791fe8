import { describe, expect, it } from 'vitest';
import { compileExpression } from '../../../src/expression/language/compile.ts';
import { expressionLimits } from '../../../src/expression/limits.ts';

function messagesOf(source: string): string[] {
  const compiled = compileExpression(source);
  return compiled.kind === 'ok' ? [] : compiled.faults.map(({ message }) => message);
}

/** Each place in an expression where another expression may be: the inspection must reach all of them. */
const places = [
  ...['eval', 'value[eval]', 'value?.[eval]', 'eval.x', 'eval?.x', 'value.x(eval)', 'value.x(1, eval)', 'eval()'],
  ...['({ a: eval })', '({ [eval]: 1 })', '({ eval })', '({ ...eval })', '[eval]', '[...eval]', '`$'.concat('{eval}`')],
  ...['eval + 1', '1 + eval', 'value && eval', 'eval ?? 1', 'eval ? 1 : 2', 'value ? eval : 1', 'value ? 1 : eval'],
  ...['(1, eval)', '!eval', 'typeof eval', '-eval', 'void eval', 'new Map(eval)', 'new eval()'],
  ...['context[eval]', 'context.vcluster[eval]', 'context?.vcluster[eval].x', '(context?.vcluster)[eval].x'],
  ...['context.vcluster.name[eval]', 'context.path.slice(eval)', 'context[eval]()', '(context?.[eval]).x'],
  ...['value[eval]++', '--value[eval]', 'delete value[eval]', 'value[eval] = 1', 'value.a = eval', 'value.a += eval'],
  ...['((a = eval) => a)()', '(({ a = eval }) => a)({})', '(({ [eval]: a }) => a)({})', '(([a = eval]) => a)([])'],
  ...['(() => eval)()', '(() => ({ a: eval }))()', '(function () { return eval })()', '(function f(a = eval) {})()'],
];
const statements = [
  ...['eval', 'return eval', 'throw eval', '{ eval }', 'if (eval) return 1', 'if (1) eval', 'if (1) ; else eval'],
  ...['switch (eval) {}', 'switch (1) { case eval: }', 'switch (1) { case 1: eval }', 'switch (1) { default: eval }'],
  ...['try { eval } catch { }', 'try { } catch { eval }', 'try { } catch (e) { eval }', 'try { } finally { eval }'],
  ...['try { } catch ({ [eval]: e }) { }', 'for (let i = eval; ; ) ;', 'for (; eval; ) ;', 'for (; ; eval) ;'],
  ...['for (; ; ) eval', 'for (const k in eval) ;', 'for (const k of eval) ;', 'for (const k of []) eval'],
  ...['for (const [k = eval] of []) ;', 'for (value[eval] of []) ;', 'while (eval) ;', 'while (1) eval'],
  ...['do ; while (eval)', 'do eval; while (1)', 'let x = eval', 'var x = eval', 'const [x = eval] = []'],
  ...['const { [eval]: x } = {}', 'function f() { return eval }', 'function f(a = eval) {}'],
].map((statement) => `(() => { ${statement} })()`);

describe('a name that is not available', () => {
  it.each([...places, ...statements])('is found in %s', (source) => {
    expect(messagesOf(source).join('; ')).toMatch(/eval\b.* is not available/);
  });
});

describe('what is refused of the builtins', () => {
  it.each([
    'Math.random',
    'Math["random"]',
    'Math?.random',
    'Object.prototype',
    'Map.constructor',
    'Date?.()',
    'Date()',
  ])('%s', (source) => expect(messagesOf(source)).not.toEqual([]));

  it.each([
    'value.localeCompare("a")',
    'value?.localeCompare("a")',
    '(value?.localeCompare)("a")',
    'value.localeCompare?.("a")',
  ])('%s', (source) => {
    expect(messagesOf(source)).toEqual(['localeCompare() depends on where it runs']);
  });

  it.each([
    ...['((Math) => Math.random)({ random: 1 })', '((Date) => Date())(() => 1)', 'Map.name', 'value.name'],
    ...['((a) => new a.b())(value)', 'Math[value]', '({ [value]: 1 })'],
  ])('is not %s', (source) => {
    expect(messagesOf(source).filter((message) => !message.startsWith('new '))).toEqual([]);
  });
});

describe('new', () => {
  it.each([
    ['new atob()', 'new atob is not available'],
    ['new value.a()', 'new value.a is not available'],
    ['((Map) => new Map())(value)', 'new Map is not available'],
    ['new Foo()', '"Foo" is not defined'],
    ['new Date()', 'new Date() reads the clock'],
  ])('%s', (source, message) => expect(messagesOf(source)).toEqual([message]));

  it.each(['new Date(value)', 'new Map()', 'new RegExp(value)'])('may be %s', (source) => {
    expect(messagesOf(source)).toEqual([]);
  });
});

describe('the size of an expression', () => {
  const { maxNesting, maxNodes } = expressionLimits;
  const nested = (levels: number) => `${'['.repeat(levels)}value${']'.repeat(levels)}`;

  it('may nest so deep and no deeper, and is reported once', () => {
    expect(messagesOf(nested(maxNesting))).toEqual([]);
    const both = `[${nested(maxNesting)}, ${nested(maxNesting)}]`;
    expect(messagesOf(both)).toEqual([`expression nests more than ${maxNesting} levels deep`]);
  });

  it.each([
    ...['[%]', '({ a: % })', '({ [%]: 1 })', 'value[%]', 'value.a(%)', 'value(%)', '(() => %)', '((a = %) => 1)'],
    ...[
      '1 + (%)',
      'value && (%)',
      'value ? 1 : %',
      '(() => { switch (%) {} })',
      '(() => { switch (1) { case 1: % } })',
    ],
  ])('counts levels of %s', (around) => {
    let source = 'value';
    for (let level = 0; level <= maxNesting; level++) source = around.replace('%', source);
    expect(messagesOf(source)).toContain(`expression nests more than ${maxNesting} levels deep`);
  });

  it('may lean left further than it may nest', () => {
    expect(messagesOf(`value${'.a'.repeat(maxNesting * 4)}`)).toEqual([]);
    expect(
      messagesOf(
        Array(maxNesting * 4)
          .fill('1')
          .join('+'),
      ),
    ).toEqual([]);
    expect(messagesOf(`value${'.a'.repeat(maxNesting * 9)}`)).not.toEqual([]);
    expect(messagesOf(`context${'.a'.repeat(maxNesting * 4)}`)).toEqual([]);
    expect(messagesOf(`context${'.a'.repeat(maxNesting * 9)}`)).not.toEqual([]);
    expect(messagesOf(`context${'.a'.repeat(maxNesting * 9)}()`)).not.toEqual([]);
  });

  it('has so many parts and no more, of whatever kind, and is reported once', () => {
    const list = (part: string, parts: number) => `((a) => [${Array(parts).fill(part).join()}])(value)`;
    // The arrow, its parameter, the list, the call and its argument.
    const around = 5;
    for (const [part, nodes] of [
      ['1', 1],
      ['a.b', 2],
      ['a.b()', 3],
    ] as const) {
      const most = Math.floor((maxNodes - around) / nodes);
      expect(messagesOf(list(part, most))).toEqual([]);
      expect(messagesOf(list(part, most + 1))).toEqual([`expression has more than ${maxNodes} parts`]);
    }
  });

  it('hides nothing behind its limit, whatever the part is that reaches it', () => {
    for (const part of ['1', 'a.b', 'a.b()', 'a?.b()', 'context.path', 'a.b.c()'])
      for (let lead = 0; lead < 4; lead++) {
        const before = '1,'.repeat(lead);
        const most = Math.floor((expressionLimits.maxChars - 50) / (part.length + 1));
        const source = `((a) => [${before}${Array(most).fill(part).join()}, eval])(value)`;
        expect(messagesOf(source)).toHaveLength(1);
      }
  });
});
