import { describe, expect, it } from 'vitest';
import {
  InFlightLimit,
  initialInFlight,
  leastInFlight,
  maxInFlight,
} from '../../../src/cluster/write/in-flight-limit.ts';

/** Sends as many requests as the limit allows, each answered after `tookMs(limit)`. */
function served(limit: InFlightLimit, answers: number, tookMs: (inFlight: number) => number): number {
  for (let answer = 0; answer < answers; answer++) limit.answered(tookMs(limit.value), limit.value);
  return limit.value;
}

describe('InFlightLimit', () => {
  it.each([
    { rule: 'begins at its initial value', act: (limit: InFlightLimit) => limit.value, expected: initialInFlight },
    {
      rule: 'grows to its maximum while answers stay fast',
      act: (limit: InFlightLimit) => served(limit, 2_000, () => 5),
      expected: maxInFlight,
    },
    {
      rule: 'does not grow while fewer requests are in flight than it allows',
      act: (limit: InFlightLimit) => {
        for (let answer = 0; answer < 500; answer++) limit.answered(5, 1);
        return limit.value;
      },
      expected: initialInFlight,
    },
    {
      rule: 'halves after a push-back',
      act: (limit: InFlightLimit) => {
        limit.pushedBack(0);
        return limit.value;
      },
      expected: initialInFlight / 2,
    },
    {
      rule: 'counts push-backs within 50 ms once',
      act: (limit: InFlightLimit) => {
        for (const nowMs of [0, 10, 49]) limit.pushedBack(nowMs);
        return limit.value;
      },
      expected: initialInFlight / 2,
    },
    {
      rule: 'never falls so low that a request without an answer holds up all others',
      act: (limit: InFlightLimit) => {
        for (let second = 0; second < 20; second++) limit.pushedBack(second * 1_000);
        return limit.value;
      },
      expected: leastInFlight,
    },
  ])('$rule', ({ act, expected }) => {
    expect(act(new InFlightLimit())).toBe(expected);
  });

  it('shrinks when answers become much slower than the fastest answer', () => {
    const limit = new InFlightLimit();
    const before = served(limit, 2_000, () => 5);
    expect(served(limit, 500, () => 500)).toBeLessThan(before - 3);
  });

  it('never begins above a smaller maximum', () => {
    const limit = new InFlightLimit(3);
    limit.pushedBack(0);
    expect(limit.value).toBe(3);
    expect(new InFlightLimit(1).value).toBe(1);
  });
});
