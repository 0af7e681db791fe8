import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { createExpressionMetrics } from '../../../../src/expression/evaluate/expression-metrics.ts';
import type { SandboxOutcome } from '../../../../src/expression/sandbox/sandbox.ts';
import { VirtualClock } from '../../../virtual-clock.ts';
import { compiled, evaluateOne, run, startEvaluator } from '../../evaluator-fixture.ts';
import { noObjects, openRecorded } from './stage.ts';

describe('an expression that runs out of time', () => {
  const timeout: SandboxOutcome = { kind: 'timeout' };

  it('has each group of the object tried by itself, so that only its own group fails', async () => {
    const { evaluator, expressions, sandbox } = await openRecorded(['"a" + value', '"b" + value', '"c" + value']);
    sandbox.answers = [timeout, undefined, timeout];
    const results = await evaluator.evaluate({
      ...noObjects,
      groups: expressions.map((expression) => ({ expression, values: ['v'] })),
    });
    expect(results.map((result) => result.errors[0]?.error.kind ?? result.results[0])).toEqual(['av', 'timeout', 'cv']);
    expect(sandbox.sent).toHaveLength(4);
  });

  it('has only the failed value set aside, with pauses that double', async () => {
    const clock = new VirtualClock();
    const { evaluator, expressions, sandbox } = await openRecorded(['"a" + value'], { clock });
    const ask = (value: string) => evaluateOne(evaluator, expressions[0] as never, { value });
    const failed = { error: { kind: 'timeout', message: expect.any(String), retryAfterMs: expect.any(Number) } };
    sandbox.answers = [timeout];
    expect(await ask('bad')).toEqual(failed);
    expect(await ask('good')).toEqual({ value: 'agood' });
    expect(await ask('bad')).toEqual({
      error: { kind: 'timeout', message: expect.stringContaining('set aside for a while'), retryAfterMs: 1_000 },
    });
    expect(sandbox.sent).toHaveLength(2);
    await clock.advance(1_001);
    sandbox.answers = [timeout];
    expect(await ask('bad')).toEqual(failed);
    await clock.advance(1_001);
    expect(await ask('bad')).toMatchObject({ error: { retryAfterMs: 999 } });
    await clock.advance(1_001);
    expect(await ask('bad')).toEqual({ value: 'abad' });
  });

  it('is set aside for all objects after failures on three objects in a row while a crowd waits, until one succeeds', async () => {
    const clock = new VirtualClock();
    const { evaluator, expressions, sandbox } = await openRecorded(['"a" + value', '"b" + value'], { clock });
    const ask = (value: string, at = 0) =>
      evaluateOne(evaluator, expressions[at] as never, { value, subject: `default/${value}` });
    expect(await ask('remembered')).toEqual({ value: 'aremembered' });
    let end = () => {};
    sandbox.busy = new Promise((resolve) => {
      end = resolve;
    });
    const crowd = Array.from({ length: 100 }, (_, at) => ask(`crowd ${at}`, 1));
    sandbox.busy = undefined;
    sandbox.answers = Array.from({ length: 3 }, () => timeout);
    for (const value of ['one', 'two']) await ask(value);
    expect(evaluator.quarantined.expressions).toBe(0);
    await ask('three');
    expect(evaluator.quarantined).toEqual({ expressions: 1, values: 3 });
    expect(await ask('four')).toMatchObject({ error: { kind: 'timeout', retryAfterMs: 1_000 } });
    expect(await ask('remembered')).toEqual({ value: 'aremembered' });
    expect(await ask('four', 1)).toEqual({ value: 'bfour' });
    await clock.advance(1_001);
    expect(await ask('four')).toEqual({ value: 'afour' });
    expect(evaluator.quarantined.expressions).toBe(0);
    end();
    await Promise.all(crowd);
  });

  it('is not counted or set aside for an onlooker, which neither runs it again nor takes it back', async () => {
    const clock = new VirtualClock();
    const registry = new Registry();
    const metrics = createExpressionMetrics(registry);
    const { evaluator, expressions, sandbox } = await openRecorded(['"a" + value'], { clock, metrics });
    const look = (value: string) => evaluateOne(evaluator.onlooker, expressions[0] as never, { value });
    const known = async () => [evaluator.quarantined, await registry.metrics()];
    const before = await known();
    sandbox.answers = [timeout];
    expect(await look('bad')).toMatchObject({ error: { kind: 'timeout' } });
    expect(await look('good')).toEqual({ value: 'agood' });
    expect(await known()).toEqual(before);
    sandbox.answers = [timeout];
    await evaluateOne(evaluator, expressions[0] as never, { value: 'bad' });
    const [sent, after] = [sandbox.sent.length, await known()];
    expect(await look('bad')).toMatchObject({ error: { message: expect.stringContaining('set aside') } });
    await clock.advance(1_001);
    expect(await look('bad')).toMatchObject({ error: { message: expect.stringContaining('set aside') } });
    await look('good');
    expect([sandbox.sent.length, (await known())[1]]).toEqual([sent, after[1]]);
  });

  it('leaves the other expressions of its object to be remembered', async () => {
    const clock = new VirtualClock();
    const { evaluator, expressions, sandbox } = await openRecorded(['"a" + value', '"b" + value', '"c" + value'], {
      clock,
    });
    const groups = expressions.map((expression) => ({ expression, values: ['v'] }));
    const ask = async () =>
      (await evaluator.evaluate({ ...noObjects, groups })).map(({ results, errors }) => [results, errors[0]]);
    // The whole request times out, the first group succeeds alone, and the second group times out alone.
    sandbox.answers = [timeout, undefined, timeout];
    await ask();
    const setAside = { at: 0, error: expect.objectContaining({ kind: 'timeout', retryAfterMs: 1_000 }) };
    const expected = [
      [['av'], undefined],
      [['v'], setAside],
      [['cv'], undefined],
    ];
    expect(await ask()).toEqual(expected);
    expect(sandbox.sent).toHaveLength(5);
    expect(await ask()).toEqual(expected);
    expect(sandbox.sent).toHaveLength(5);
    // After the pause only the second group is sent; the results of the others are remembered.
    await clock.advance(1_001);
    sandbox.answers = [timeout];
    await ask();
    expect(sandbox.sent).toHaveLength(6);
  });

  it('is not set aside for all objects because of one object, however many bad values the object brings', async () => {
    const clock = new VirtualClock();
    const { evaluator, expressions, sandbox } = await openRecorded(['"a" + value'], { clock });
    const ask = (subject: string, value: string) => evaluateOne(evaluator, expressions[0] as never, { value, subject });
    for (let at = 0; at < 40; at++) {
      sandbox.answers = [timeout];
      expect(await ask('default/evil', `bad ${at}`)).toMatchObject({ error: { kind: 'timeout' } });
      sandbox.answers = [];
      expect(await ask('default/good', `good ${at}`)).toEqual({ value: `agood ${at}` });
      await clock.advance(100);
    }
    // The first two values are tried once each, and one more value after each pause; the pauses double.
    expect(sandbox.sent.length - 40).toBeLessThan(12);
    expect(await ask('default/evil', 'harmless')).toMatchObject({
      error: { retryAfterMs: expect.any(Number), message: expect.stringContaining('set aside') },
    });
    await clock.advance(5_000);
    expect(await ask('default/evil', 'harmless')).toEqual({ value: 'aharmless' });
  });

  it('causes digests neither for other expressions, nor for values of another length, nor after it is forgotten', async () => {
    const clock = new VirtualClock();
    let digests = 0;
    const digestOf = (text: string) => {
      digests++;
      return text;
    };
    const { evaluator, expressions, sandbox } = await openRecorded(['"a" + value', '"b" + value'], { clock, digestOf });
    const ask = (value: string, at = 0) =>
      evaluateOne(evaluator, expressions[at] as never, { value, subject: 'default/web' });
    sandbox.answers = [timeout];
    await ask('bad');
    expect(digests).toBeGreaterThan(0);
    digests = 0;
    for (let at = 0; at < 20; at++) await ask(`good ${at}`, 1);
    for (let at = 0; at < 20; at++) await ask(`a good value of another length ${at}`);
    expect(digests).toBe(0);
    await clock.advance(200_000);
    for (let at = 0; at < 20; at++) await ask(`${at + 100}`);
    expect(digests).toBe(0);
  });

  it('is counted by the metrics while it is set aside', async () => {
    const clock = new VirtualClock();
    const registry = new Registry();
    const metrics = createExpressionMetrics(registry);
    const { evaluator, expressions, sandbox } = await openRecorded(['"a" + value'], { clock, metrics });
    metrics.quarantined(() => evaluator.quarantined);
    sandbox.answers = [timeout];
    await evaluateOne(evaluator, expressions[0] as never, { value: 'bad' });
    expect(await registry.metrics()).toContain('hostward_expression_quarantined{what="values"} 1');
    await clock.advance(1_001);
    expect(await registry.metrics()).toContain('hostward_expression_quarantined{what="values"} 0');
    expect(await registry.metrics()).toContain('hostward_expression_quarantined{what="expressions"} 0');
  });

  it('has a value that failed before sent alone, and only that value', async () => {
    const clock = new VirtualClock();
    const { evaluator, expressions, sandbox } = await openRecorded(['"a" + value'], { clock });
    const ask = (value: string) => evaluateOne(evaluator, expressions[0] as never, { value });
    sandbox.answers = [timeout];
    await ask('bad');
    await clock.advance(1_001);
    await ask('bad');
    await ask('bed');
    expect(sandbox.alone).toEqual([false, true, false]);
  });

  it('is set aside for a second again when it fails after a quiet time', async () => {
    const clock = new VirtualClock();
    const { evaluator, expressions, sandbox } = await openRecorded(['"a" + value'], { clock });
    const ask = (value: string) => evaluateOne(evaluator, expressions[0] as never, { value, subject: 'default/web' });
    for (const value of ['one', 'two', 'three']) {
      sandbox.answers = [timeout];
      expect(await ask(value)).toMatchObject({ error: { retryAfterMs: 1_000 } });
      await clock.advance(70_000);
    }
  });

  it('names the time of the next try when the sandbox is unavailable', async () => {
    const { evaluator, expressions, sandbox } = await openRecorded(['"a" + value']);
    sandbox.answers = [{ kind: 'unavailable', message: 'the sandbox is not running' }];
    expect(await evaluateOne(evaluator, expressions[0] as never, { value: 'v' })).toEqual({
      error: { kind: 'crash', message: 'the sandbox is not running', retryAfterMs: 1_000 },
    });
  });

  it('ends after its time in a real isolate, and the next request succeeds', async () => {
    const expression = compiled('value === "bad" ? (() => { for (;;); })() : "a" + value');
    const evaluator = await startEvaluator({ expressions: [expression], softMs: 60 });
    const values = ['x', 'bad', 'y'];
    const [result] = await evaluator.evaluate({ ...noObjects, groups: [{ expression, values }] });
    expect(result?.errors.map(({ error }) => error.kind)).toEqual(['timeout', 'timeout', 'timeout']);
    expect(await evaluateOne(evaluator, expression, { value: 'x' })).toEqual({ value: 'ax' });
  });

  it('fails in the same way when it runs out of memory', async () => {
    const outcome = await run('(() => { const a = []; for (;;) a[a.length % 1e5] = [..."x".repeat(1e5)] })()');
    expect(outcome).toMatchObject({ error: { kind: expect.stringMatching(/memory|timeout/) } });
  });
});
