import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { ExpressionTrial } from '../../../src/expression/evaluate/expression-trial.ts';
import { silentLog } from '../../../src/log.ts';
import { virtualToHostDNS } from '../evaluator-fixture.ts';

const trial = new ExpressionTrial({
  clock: systemClock,
  log: silentLog,
  nodePath: process.execPath,
  vcluster: { name: 'vcluster', namespace: 'vcluster-ns', config: { a: 1 } },
  functions: { virtualToHostDNS },
});
afterAll(() => trial.stop());

describe('ExpressionTrial', () => {
  it('tries one expression after the other in one process', async () => {
    for (let at = 0; at < 20; at++) {
      expect(await trial.try(`value + ${at}`, { value: 'v' })).toEqual({ kind: 'value', value: `v${at}` });
    }
    expect(await trial.try('undefined', { value: 'v' })).toEqual({ kind: 'value', value: null });
    expect(await trial.try('[context.path, valueExists]', { value: null, path: 'a.b', valueExists: false })).toEqual({
      kind: 'value',
      value: ['a.b', false],
    });
    expect(
      await trial.try('context.virtualObject.kind + context.vcluster.config.a', {
        value: 1,
        virtualObject: { kind: 'K' },
      }),
    ).toEqual({ kind: 'value', value: 'K1' });
  });

  const cases: [string, string, unknown?][] = [
    ['value +', 'syntax'],
    ['foo', 'rejected'],
    ['value.a.b', 'threw'],
    ['(() => { for (;;); })()', 'timeout'],
    ['"x".repeat(1e9)', 'size'],
    ['() => 1', 'type'],
    ['(() => { const a = []; for (;;) a[a.length % 1e5] = "x".repeat(1e5) + a.length })()', 'memory'],
  ];
  it.each(cases)('%s: %s', async (source, kind) => {
    const tried = await trial.try(source, { value: 'v' });
    const expected = kind === 'memory' ? /memory|timeout/ : new RegExp(kind);
    expect(tried).toMatchObject({ kind: 'error', error: { kind: expect.stringMatching(expected) } });
    expect(await trial.try('value', { value: 'after' })).toEqual({ kind: 'value', value: 'after' });
  });

  const places: [source: string, line: number, column: number][] = [
    ['value.a.b.c', 1, 9],
    ['value +\n  context.virtualObject.name', 2, 25],
    ['[1, 2].map((x) => value.no(x))', 1, 25],
    ['"a".repeat(3) + ((x) => {\n  if (x) throw new Error("no");\n  return x })(value)', 2, 16],
    ['value[0].x["y" + 1] + 1', 1, 12],
    ['["1", { a: value.replaceAll("v", value.b.c) }]', 1, 42],
  ];
  it.each(places)('reports the position where %j throws', async (source, line, column) => {
    const tried = await trial.try(source, { value: 'v' });
    expect(tried).toMatchObject({ kind: 'error', error: { kind: 'threw', position: { line, column } } });
  });

  it('hides the stack from the expression', async () => {
    const source = '(() => { try { null.x } catch (e) { if (e.stack) return 1; throw new Error(typeof e.stack) } })()';
    expect(await trial.try(source, { value: 'v' })).toMatchObject({ error: { message: 'undefined' } });
  });

  it('reports the position of a fault', async () => {
    const tried = await trial.try('value +\n  foo', { value: 'v' });
    expect(tried).toMatchObject({ error: { position: { line: 2, column: 3 } } });
  });
});
