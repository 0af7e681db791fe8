import { describe, expect, it } from 'vitest';
import { maxRetryAfterMs, retryAfterMs, retryAfterSecondsMs } from '../../../src/cluster/wire/status-answer.ts';

const now = new Date('2026-11-23T10:00:00Z');

describe('retryAfterMs()', () => {
  it.each([
    { rule: 'reads seconds', header: '3', ms: 3_000 },
    { rule: 'reads zero seconds', header: '0', ms: 0 },
    { rule: 'ignores blanks around the number', header: ' 3 ', ms: 3_000 },
    { rule: 'reads an HTTP date', header: 'Mon, 23 Nov 2026 10:00:07 GMT', ms: 7_000 },
    { rule: 'does not wait for a date in the past', header: 'Mon, 23 Nov 2026 09:00:00 GMT', ms: 0 },
    { rule: 'limits seconds', header: '3600', ms: maxRetryAfterMs },
    { rule: 'limits a date', header: 'Tue, 24 Nov 2026 10:00:00 GMT', ms: maxRetryAfterMs },
    { rule: 'ignores a negative number', header: '-5', ms: undefined },
    { rule: 'ignores a fraction', header: '1.5', ms: undefined },
    { rule: 'ignores a word', header: 'soon', ms: undefined },
    { rule: 'ignores a date that does not exist', header: 'Mon, 99 Foo 2026', ms: undefined },
    { rule: 'returns undefined without a header', header: undefined, ms: undefined },
  ])('$rule', ({ header, ms }) => {
    expect(retryAfterMs(header, now)).toBe(ms);
  });
});

describe('retryAfterSecondsMs()', () => {
  it.each([
    { rule: 'reads seconds', seconds: 2, ms: 2_000 },
    { rule: 'limits seconds', seconds: 3_600, ms: maxRetryAfterMs },
    { rule: 'ignores zero', seconds: 0, ms: undefined },
    { rule: 'ignores a negative number', seconds: -1, ms: undefined },
    { rule: 'ignores a text', seconds: '2', ms: undefined },
    { rule: 'ignores NaN', seconds: Number.NaN, ms: undefined },
  ])('$rule', ({ seconds, ms }) => {
    expect(retryAfterSecondsMs(seconds)).toBe(ms);
  });
});
