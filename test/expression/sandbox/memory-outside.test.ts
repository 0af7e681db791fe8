import { describe, expect, it } from 'vitest';
import { compileExpression } from '../../../src/expression/language/compile.ts';
import { residentMbOf } from '../../../src/expression/sandbox/resident-memory.ts';
import { children, openChild, startEvaluator } from '../evaluator-fixture.ts';

/** All builtins whose results can be much larger than their inputs. `text`, `wide` and `list` have the largest allowed size. */
const given = `((text, wide, list) => %)("x".repeat(1e6), "\\u2003".repeat(1e6), Array(1e5).fill("y".repeat(100)))`;
const large = [
  'JSON.stringify(around(Array(1e5).fill(1), 190), null, Object("\\u2003".repeat(10)))',
  'JSON.stringify(around(Array(1e5).fill(1), 190), null, Object(10))',
  'JSON.stringify(around(Array(1e5).fill(1), 190), null, "\\u2003".repeat(10))',
  'JSON.stringify(deep(100), null, Object("\\u2003".repeat(10)))',
  'JSON.stringify(deep(100), null, "\\u2003".repeat(10))',
  'JSON.stringify(deep(190), null, Object(10))',
  'JSON.stringify([..."ab"].map(() => list), null, Object(10))',
  'JSON.stringify(list.map(() => "\\u0000".repeat(10)))',
  'JSON.stringify("\\u0000".repeat(1e6))',
  'JSON.parse("[" + "[],".repeat(3e5) + "1]")',
  'JSON.parse("[" + "{},".repeat(3e5) + "1]").map((x) => ({ ...x, a: [1], b: [2], c: {} }))',
  'JSON.parse("[" + "[".repeat(4e5) + "]".repeat(4e5) + "]")',
  'Array(1e5).fill(text).map((x, at) => x + at)',
  'Array(1e5).fill(wide).map((x, at) => x.slice(at) + at).map((x) => x.toUpperCase())',
  'Array(1e3).fill(wide).map((x, at) => (x + at).toLowerCase())',
  'Array(1e5).fill(0).map(() => Array(1e5).fill(1))',
  'Array(1e3).fill(0).map((_, at) => text.padStart(1e6 - at, "\\u2003"))',
  'Array(1e3).fill(0).map((_, at) => text.slice(at + 10).padEnd(1e6 + at, "\\u2003z"))',
  'Array(1e3).fill(0).map((_, at) => "\\u2003".repeat(1e6 - at) + "a")',
  'Array(1e3).fill(list).flat(1)',
  'list.map(() => list.concat(list.slice(1)))',
  'Array(1e3).fill(0).map(() => list.join("\\u2003").length)',
  'Array(1e3).fill(0).map((_, at) => [...text.slice(at)])',
  'Array(1e3).fill(0).map((_, at) => text.slice(at).split("").slice(0, 1e5))',
  'Array(1e3).fill(0).map((_, at) => text.slice(0, 2e5).replace(/x/g, "yy" + at))',
  'Array(1e3).fill(0).map((_, at) => text.slice(0, 2e5).replaceAll("x", "\\u2003y" + at))',
  'Array(1e3).fill(0).map((_, at) => [...text.slice(0, 2e5).matchAll(/x/g)].concat(at))',
  'Array(1e3).fill(0).map(() => text.slice(0, 2e5).match(/x/g))',
  'Array(1e3).fill(0).map(() => text.slice(0, 2e5).match(/(x)(x)(x)(x)(x)/g))',
  'Array(1e3).fill(0).map(() => Object.groupBy(list, (x, at) => x + at))',
  'Array(1e3).fill(0).map(() => Object.entries(Object.assign({}, list)))',
  'Array(1e3).fill(0).map(() => new Map(list.map((x, at) => [x + at, { at }])))',
  'Array(1e3).fill(0).map(() => new Set(list.map((x, at) => x + at)))',
  'Array(1e4).fill("\\u1e9b\\u0323\\ufdfa".repeat(2700)).map((x, at) => (x.slice(at % 9)).normalize("NFKD"))',
  'Array(1e3).fill(0).map((_, at) => btoa(wide.slice(0, 2e5) + at))',
  'Array(1e3).fill(0).map((_, at) => encodeURIComponent(wide.slice(0, 2e5) + at))',
  'Array(1e3).fill(0).map((_, at) => String.fromCodePoint(...list.map(() => 8195)))',
  'Array(1e5).fill(0).map((_, at) => new Error(text.slice(at)))',
  'Array(1e5).fill(0).map((_, at) => new RegExp("a" + at + "b".repeat(900)))',
  'Array(1e5).fill(0).map((_, at) => (1 / 3 + at).toString(2).repeat(900))',
  'Array(1e5).fill(0).map((_, at) => (1e21 + at).toFixed(100).repeat(900))',
  '((a) => { for (let i = 0; ; i++) a = [a, a, text + i] })([])',
  '((a) => { for (let i = 0; ; i++) a["k" + i + text.slice(0, 999)] = i })({})',
  '((a) => { for (;;) a = { a, b: a } })({})',
  '((a) => { for (let i = 0; ; i++) a += text.slice(i % 99) + wide })("")',
].map((source) => {
  const around = '(a, n) => { for (let i = 0; i < n; i++) a = [a]; return a; }';
  const deep = `((around, deep) => %)(${around}, (n) => { let a = [1]; for (let i = 0; i < n; i++) a = [a, i]; return a; })`;
  return given.replace('%', () => deep.replace('%', () => source));
});

const mostSandboxMb = 200;
const mostGrowthMb = 100;

describe('the memory of the sandbox process, seen from outside', () => {
  it('stays bounded for every builtin that can produce large results, and so does the memory of the daemon', {
    timeout: 300_000,
  }, async () => {
    const expressions = large.flatMap((source) => {
      const compiled = compileExpression(source);
      expect(compiled.kind, source).toBe('ok');
      return compiled.kind === 'ok' ? [compiled.expression] : [];
    });
    const evaluator = await startEvaluator({
      expressions,
      openSandbox: (setup) => openChild(setup),
      memory: { entries: 0 },
    });
    const ownMb = () => process.memoryUsage.rss() / 1_048_576;
    const beforeMb = ownMb();
    const peak = { sandbox: 0, own: 0, by: '' };
    for (const expression of expressions) {
      let isOver = false;
      // Several values, because one request holds the results of all its values at once.
      const group = { expression, values: ['a', 'b', 'c'] };
      const asked = Promise.resolve(evaluator.evaluate({ hostObject: null, virtualObject: null, groups: [group] }));
      void asked.finally(() => {
        isOver = true;
      });
      while (!isOver) {
        const mb = residentMbOf(children[0]?.pid ?? 0) ?? 0;
        if (mb > peak.sandbox) Object.assign(peak, { sandbox: mb, by: expression.source.slice(-90) });
        peak.own = Math.max(peak.own, ownMb() - beforeMb);
        await new Promise((resolve) => setTimeout(resolve, 3));
      }
    }
    expect(peak.sandbox, peak.by).toBeLessThan(mostSandboxMb);
    expect(peak.own).toBeLessThan(mostGrowthMb);
  });
});
