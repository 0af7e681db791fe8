import { describe, expect, it } from 'vitest';
import { compileExpression } from '../../../src/expression/language/compile.ts';
import { residentMbOf } from '../../../src/expression/sandbox/launch.ts';
import { children, openChild, startEvaluator } from '../evaluator-fixture.ts';
import { growingBuiltins, largeBuiltins } from '../large-builtins.ts';

const mostSandboxMb = 200;
const mostGrowthMb = 100;
/** `npm cit` takes every sixteenth expression, `npm run proof` all of them, and so does the gate of bench/memory.bench.ts. */
const share = process.env['HOSTWARD_LARGE_BUILTINS'] === 'all' ? 1 : 16;

describe('the memory of the sandbox processes, seen from outside', () => {
  it.each(growingBuiltins)('is tried with %s', (name) =>
    expect(largeBuiltins.some((source) => source.includes(name))).toBe(true),
  );

  it('stays bounded for every builtin that can produce large results, and so does the memory of the daemon', {
    timeout: 300_000,
  }, async () => {
    const tried = largeBuiltins.filter((_, at) => at % share === 0);
    const expressions = tried.flatMap((source) => {
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
        const mb = (children[0]?.pids ?? []).reduce((sum, pid) => sum + (residentMbOf(pid) ?? 0), 0);
        if (mb > peak.sandbox) Object.assign(peak, { sandbox: mb, by: expression.source.slice(-90) });
        peak.own = Math.max(peak.own, ownMb() - beforeMb);
        await new Promise((resolve) => setTimeout(resolve, 3));
      }
    }
    expect(peak.sandbox, peak.by).toBeLessThan(mostSandboxMb);
    expect(peak.own).toBeLessThan(mostGrowthMb);
  });
});
