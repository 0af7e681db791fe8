// Forty values on which an expression runs out, from the evaluator to the processes, on a virtual clock: how long does a harmless value of
// the same expression wait? Every object tries again when it is told to, as a pass does.
import { afterEach, describe, expect, it } from 'vitest';
import type { Evaluator } from '../../../../src/expression/evaluate/evaluator.ts';
import { ChildSandbox } from '../../../../src/expression/sandbox/child-sandbox.ts';
import { silentLog } from '../../../../src/log.ts';
import { VirtualClock } from '../../../virtual-clock.ts';
import { compiled, startEvaluator } from '../../evaluator-fixture.ts';
import { fakeProcesses } from '../../sandbox/fake-process.ts';

const expression = compiled('value + "!"');
const wordOf = (text: string): string => JSON.parse(text)[3][0];
const answerTo = (text: string) => JSON.stringify([[`${wordOf(text)}!`]]);
const stepMs = 5;

async function turns(): Promise<void> {
  for (let at = 0; at < 6; at++) await new Promise((resolve) => setImmediate(resolve));
}

const clocks: { isStopped: boolean }[] = [];
afterEach(() => {
  for (const clock of clocks.splice(0)) clock.isStopped = true;
});

async function opened({ rebuildMs = 0 } = {}) {
  const clock = new VirtualClock();
  const { launch } = fakeProcesses(clock, { wordOf, answerTo, rebuildMs });
  const isRunning = { isStopped: false };
  clocks.push(isRunning);
  const pass = async (ms: number) => {
    for (let at = 0; at < ms; at += stepMs) {
      await clock.advance(stepMs);
      await turns();
    }
  };
  let evaluator: Evaluator | undefined;
  const started = startEvaluator({
    expressions: [expression],
    clock,
    openSandbox: (setup) => new ChildSandbox({ setup, clock, log: silentLog, nodePath: process.execPath, launch }),
  }).then((one) => {
    evaluator = one;
  });
  while (evaluator === undefined) await pass(stepMs);
  await started;
  /** Resolves with the milliseconds until the value has its result. */
  const settle = async (word: string, isKnown = false): Promise<number> => {
    const askedMs = clock.now();
    for (;;) {
      const groups = [{ expression, values: [word] }];
      const asked = { subject: word, hostObject: null, virtualObject: null, isKnown, groups };
      const [result] = await (evaluator as Evaluator).evaluate(asked);
      const error = result?.errors[0]?.error;
      if (error === undefined) return clock.now() - askedMs;
      if (isRunning.isStopped) return Number.NaN;
      await new Promise<void>((resolve) => void clock.after(error.retryAfterMs ?? 1_000, resolve));
    }
  };
  return { clock, pass, settle };
}

const bad = (kind: string) => Array.from({ length: 40 }, (_, at) => `${kind}${at}`);

describe.each(['slow', 'hang', 'die'])('beside forty values on which the process would %s', (kind) => {
  it('a harmless value waits a second at most, whenever it comes later', async () => {
    const { pass, settle } = await opened();
    for (const word of bad(kind)) void settle(word);
    const waits: number[] = [];
    for (let at = 0; at < 60; at++) {
      await pass(185);
      void settle(`good${at}`).then((ms) => waits.push(ms));
    }
    await pass(2_000);
    expect(waits).toHaveLength(60);
    expect(Math.max(...waits)).toBeLessThan(1_000);
  });

  it('a harmless value of an object with a copy waits a second at most, among them too', async () => {
    for (const at of [0, 20, 40]) {
      const { pass, settle } = await opened();
      const waits: number[] = [];
      const words = bad(kind);
      for (const word of words.slice(0, at)) void settle(word);
      void settle('good', true).then((ms) => waits.push(ms));
      for (const word of words.slice(at)) void settle(word);
      await pass(1_000);
      expect(waits).toHaveLength(1);
    }
  });
});

describe('beside forty values that loop', () => {
  it('a harmless value of a new object waits three quarters of a second at most, with the isolate that each of them costs', async () => {
    for (const at of [0, 20, 40]) {
      const { pass, settle } = await opened({ rebuildMs: 8 });
      const words = bad('slow');
      words.splice(at, 0, 'good');
      const waits: number[] = [];
      for (const word of words) void settle(word).then((ms) => waits.push(ms));
      await pass(2_000);
      expect(Math.min(...waits)).toBeLessThan(750);
      expect(waits).toHaveLength(1);
    }
  });

  it('a harmless value that needs more than a glance comes after the glances, before the first of them gets its whole time', async () => {
    const { pass, settle } = await opened({ rebuildMs: 8 });
    const waits: number[] = [];
    void settle('costly').then((ms) => waits.push(ms));
    for (const word of bad('slow')) void settle(word);
    await pass(3_000);
    expect(Math.max(...waits)).toBeLessThan(1_500);
    expect(waits).toHaveLength(1);
  });
});
