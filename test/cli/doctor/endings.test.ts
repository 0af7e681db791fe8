import { describe, expect, it } from 'vitest';
import { judgeEndings } from '../../../src/cli/doctor/patient/endings.ts';

const now = new Date('2026-11-27T09:00:00Z');

describe('judgeEndings()', () => {
  it.each([
    ['2026-11-27T08:00:00Z', '2026-11-27T09:10:00Z', 'warning', 'the token ends in 10 minutes, 2026-11-27 09:10 UTC'],
    ['2026-11-27T08:00:00Z', '2026-11-27T08:59:50Z', 'fault', 'the token ended 1 minute ago, 2026-11-27 08:59 UTC'],
    ['2026-11-26T09:00:00Z', '2026-11-27T12:00:00Z', 'warning', 'the token ends in 3 hours, 2026-11-27 12:00 UTC'],
    ['2026-01-01T00:00:00Z', '2026-12-07T09:00:00Z', 'warning', 'the token ends in 10 days, 2026-12-07'],
    ['2026-01-01T00:00:00Z', '2026-11-01T09:00:00Z', 'fault', 'the token ended 26 days ago, 2026-11-01'],
  ])('of %s to %s is a %s: %s', (begins, ends, verdict, said) => {
    const ending = { what: 'the token', begins: new Date(begins), ends: new Date(ends) };
    expect(judgeEndings([ending], now, 'renew it')).toMatchObject({ verdict, details: [said] });
  });

  it('names the time of day of what is well and ends today', () => {
    const [begins, ends] = [new Date('2026-11-27T08:55:00Z'), new Date('2026-11-27T10:00:00Z')];
    const { verdict, says } = judgeEndings([{ what: 'the token', begins, ends }], now, 'renew it');
    expect([verdict, says]).toEqual(['ok', 'the first to end is the token, 2026-11-27 10:00 UTC']);
  });
});
