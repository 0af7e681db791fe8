import { describe, expect, it } from 'vitest';
import { VerdictSince } from '../../../src/sync/report/verdict-since.ts';

const at = (second: number): Date => new Date(Date.UTC(2026, 0, 1, 0, 0, second, 500));

describe('VerdictSince', () => {
  it('tells when the verdict became what it is, and not when its sentence changed', () => {
    const since = new VerdictSince();
    expect(since.note({ state: 'inStep', isWell: true, sentence: 'in step: 1 object' }, at(1))).toBe(
      '2026-01-01T00:00:01Z',
    );
    expect(since.note({ state: 'inStep', isWell: true, sentence: 'in step: 2 objects' }, at(2))).toBe(
      '2026-01-01T00:00:01Z',
    );
    expect(since.note({ state: 'blocked', isWell: false }, at(3))).toBe('2026-01-01T00:00:03Z');
    expect(since.note({ state: 'blocked', isWell: false }, at(9))).toBe('2026-01-01T00:00:03Z');
  });

  it('begins anew when the same state stops being well, for a reason beside the objects', () => {
    const since = new VerdictSince();
    since.note({ state: 'inStep', isWell: true }, at(1));
    expect(since.note({ state: 'inStep', isWell: false }, at(4))).toBe('2026-01-01T00:00:04Z');
    expect(since.note({ state: 'inStep', isWell: true }, at(5))).toBe('2026-01-01T00:00:05Z');
  });
});
