import fc from 'fast-check';
import { expect, it } from 'vitest';
import { TokenBucket, TokenBuckets } from '../../src/pace/token-bucket.ts';

const rate = { burst: 3, perSecond: 2 };

it('lets a burst pass, then names the time until the next token', () => {
  const bucket = new TokenBucket(rate, 0);
  expect([0, 0, 0, 0].map((at) => bucket.take(at))).toEqual([0, 0, 0, 500]);
  expect([250, 500, 500].map((at) => bucket.take(at))).toEqual([250, 0, 500]);
});

it('holds no more than its burst after a long pause', () => {
  const bucket = new TokenBucket(rate, 0, 0);
  expect([60_000, 60_000, 60_000, 60_000].map((at) => bucket.take(at))).toEqual([0, 0, 0, 500]);
});

it('lends tokens up to a limit', () => {
  const bucket = new TokenBucket(rate, 0);
  expect([0, 0, 0, 0, 0].map((at) => bucket.owe(at, 900))).toEqual([0, 0, 0, 500, 900]);
  expect(bucket.owe(2000, 900)).toBe(0);
});

it('forgets the source that was seen longest ago, of ten thousand', () => {
  const buckets = new TokenBuckets(rate);
  const empty = (source: string) => {
    const bucket = buckets.of(source, 0);
    for (let n = 0; n < rate.burst; n++) bucket.take(0);
    return bucket.take(0) > 0;
  };
  expect(['seen again', 'seen once'].map(empty)).toEqual([true, true]);
  buckets.of('seen again', 0);
  for (let n = 0; n < 9_999; n++) buckets.of(`other ${n}`, 0);
  expect(buckets.of('seen again', 0).take(0)).toBeGreaterThan(0);
  expect(buckets.of('seen once', 0).take(0)).toBe(0);
});

it('never lets more pass than the rate allows, however the calls are spread', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 700 }), { maxLength: 60 }), (pauses) => {
      const bucket = new TokenBucket(rate, 0);
      let nowMs = 0;
      let taken = 0;
      for (const pause of pauses) {
        nowMs += pause;
        if (bucket.take(nowMs) === 0) taken++;
        expect(taken).toBeLessThanOrEqual(rate.burst + (nowMs / 1000) * rate.perSecond + 1e-6);
      }
    }),
  );
});
