import { expect, it } from 'vitest';
import { Offenders } from '../../../src/expression/evaluate/offenders.ts';
import { offenceLimits } from '../../../src/expression/limits.ts';
import { VirtualClock } from '../../virtual-clock.ts';

/** One step: advance the clock, let requests wait, or report an outcome of expression 0 for an object and a value. */
type Report =
  | { ms: number }
  | { waiting: number }
  | { failed: [object: string | undefined, value: string] }
  | { succeeded: string };

interface Expected {
  /** Remaining pause of a value of an object. */
  pauses: [object: string | undefined, value: string, ms: number][];
  expressions?: number;
  values?: number;
  isSuspected?: boolean;
  /** Values with their answer of hasFailedBefore(). */
  failedBefore?: [value: string, hasFailed: boolean][];
}

const { remembered } = offenceLimits;
/** As many as set an expression aside. */
const crowd: Report = { waiting: 100 };
const fail = (value: string, object?: string): Report => ({ failed: [object, value] });

const cases: [claim: string, reports: Report[], expected: Expected][] = [
  ['knows no suspects at first', [], { pauses: [['a', 'x', 0]], isSuspected: false }],
  [
    'sets a failed value aside for a second, and no other value',
    [fail('x', 'a')],
    {
      pauses: [
        ['a', 'x', 1_000],
        ['b', 'x', 1_000],
        ['a', 'y', 0],
      ],
      expressions: 0,
      values: 1,
    },
  ],
  [
    'distinguishes values of equal length',
    [fail('xx', 'a')],
    {
      failedBefore: [
        ['xx', true],
        ['xy', false],
        ['x', false],
      ],
      pauses: [
        ['b', 'xx', 1_000],
        ['b', 'xy', 0],
      ],
    },
  ],
  ['ends a pause with its time', [fail('x', 'a'), { ms: 999 }], { pauses: [['a', 'x', 1]] }],
  [
    'allows a try after the pause',
    [fail('x', 'a'), { ms: 1_000 }],
    { pauses: [['a', 'x', 0]], values: 0, isSuspected: true },
  ],
  [
    'doubles the pause of a value that fails again',
    [fail('x', 'a'), { ms: 1_000 }, fail('x', 'a'), { ms: 2_000 }, fail('x', 'a')],
    { pauses: [['b', 'x', 4_000]] },
  ],
  [
    'limits the pause of a value to ten minutes',
    Array.from({ length: 12 }, (_, at) => [fail('x', 'a'), { ms: Math.min(600_000, 1_000 * 2 ** at) }])
      .flat()
      .slice(0, -1),
    { pauses: [['a', 'x', 600_000]] },
  ],
  [
    'sets an object aside after two failed values',
    [fail('x', 'a'), fail('y', 'a')],
    {
      pauses: [
        ['a', 'z', 1_000],
        ['b', 'z', 0],
      ],
      expressions: 0,
      values: 2,
    },
  ],
  [
    'does not count a value of an object that failed a minute ago',
    [fail('x', 'a'), { ms: 60_000 }, fail('y', 'a')],
    { pauses: [['a', 'z', 0]] },
  ],
  [
    'does not count one value of an object twice',
    [fail('x', 'a'), fail('x', 'a')],
    {
      pauses: [
        ['a', 'z', 0],
        ['a', 'x', 2_000],
      ],
    },
  ],
  [
    'sets the expression aside after three failed objects while a crowd waits',
    [crowd, fail('x', 'a'), fail('y', 'b'), fail('z', 'c')],
    { pauses: [['d', 'good', 1_000]], expressions: 1, values: 3 },
  ],
  [
    'sets no expression aside without a crowd',
    [{ waiting: 99 }, ...['a', 'b', 'c', 'd', 'e', 'f'].map((name) => fail(`x ${name}`, name))],
    { pauses: [['g', 'good', 0]], expressions: 0, values: 6 },
  ],
  [
    'counts each value as an object when the object has no name',
    [crowd, fail('x'), fail('y'), fail('z')],
    { pauses: [[undefined, 'good', 1_000]], expressions: 1 },
  ],
  [
    'starts to count objects again after a success',
    [crowd, fail('x', 'a'), fail('y', 'b'), { succeeded: 'good' }, fail('z', 'c')],
    { pauses: [['d', 'good', 0]], expressions: 0 },
  ],
  [
    'starts to count objects again after the pause of the expression',
    [crowd, fail('x', 'a'), fail('y', 'b'), fail('z', 'c'), { ms: 1_000 }, fail('v', 'd')],
    { pauses: [['e', 'good', 0]], expressions: 0 },
  ],
  [
    'ends the pause of the expression with a success',
    [crowd, fail('x', 'a'), fail('y', 'b'), fail('z', 'c'), { succeeded: 'good' }],
    {
      pauses: [
        ['d', 'good', 0],
        ['a', 'x', 1_000],
      ],
      expressions: 0,
      values: 3,
    },
  ],
  ['forgets a value that succeeds', [fail('x'), { succeeded: 'x' }], { pauses: [['b', 'x', 0]], values: 0 }],
  [
    'keeps the pause of an object when one of its values succeeds',
    [fail('x', 'a'), fail('y', 'a'), { succeeded: 'x' }],
    {
      pauses: [
        ['a', 'good', 1_000],
        ['b', 'x', 0],
      ],
      values: 1,
    },
  ],
  [
    'forgets old failures, so that the next failure is a first one',
    [fail('x', 'a'), { ms: 1_000 }, fail('x', 'a'), { ms: 62_000 }, fail('x', 'a')],
    { pauses: [['a', 'x', 1_000]] },
  ],
  [
    'remembers as many values as the limit says',
    Array.from({ length: remembered }, (_, at) => fail(`${at}`, `${at}`)),
    {
      pauses: [['elsewhere', '0', 1_000]],
      values: remembered,
    },
  ],
  [
    'forgets the value that failed first for one too many',
    Array.from({ length: remembered + 1 }, (_, at) => fail(`${at}`, `${at}`)),
    {
      pauses: [
        ['elsewhere', '0', 0],
        ['elsewhere', '1', 1_000],
      ],
      values: remembered,
    },
  ],
  ['drops an expression without recent failures', [fail('x', 'a'), { ms: 61_000 }], { pauses: [], isSuspected: false }],
];

it.each(cases)('Offenders %s', async (_, reports, expected) => {
  const clock = new VirtualClock();
  const offenders = new Offenders(clock, (text) => `digest of ${text}`);
  for (const report of reports) {
    if ('ms' in report) await clock.advance(report.ms);
    else if ('waiting' in report) offenders.waiting = report.waiting;
    else if ('succeeded' in report) offenders.succeeded(0, { subject: undefined, text: report.succeeded });
    else offenders.failed(0, { subject: report.failed[0], text: report.failed[1] });
  }
  const { pauses, failedBefore = [], isSuspected = reports.length > 0, ...sizes } = expected;
  expect(offenders.suspects(0)).toBe(isSuspected);
  expect(offenders.suspects(1)).toBe(false);
  const remaining = pauses.map(([subject, text]) => [subject, text, offenders.remainingMs(0, { subject, text })]);
  expect(remaining).toEqual(pauses);
  const known = failedBefore.map(([text]) => [text, offenders.hasFailedBefore(0, { subject: undefined, text })]);
  expect(known).toEqual(failedBefore);
  expect(offenders.sizes).toMatchObject(sizes);
});
