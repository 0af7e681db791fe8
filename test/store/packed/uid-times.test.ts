import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UidTimes } from '../../../src/store/packed/uid-times.ts';

describe('UidTimes', () => {
  it('has the same times as a map, for any texts, after any changes', () => {
    const uuids = Array.from({ length: 200 }, (_, n) => `${String(n).padStart(8, '0')}-0000-4000-8000-000000000000`);
    const uid = fc.oneof(fc.constantFrom(...uuids), fc.constantFrom('', 'x', 'A'.repeat(36), '!'));
    const step = fc.record({ uid, time: fc.option(fc.integer({ min: 0, max: 2 ** 42 }), { nil: undefined }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const times = new UidTimes();
        const model = new Map<string, number>();
        for (const { uid: of, time } of steps) {
          if (time === undefined) {
            times.delete(of);
            model.delete(of);
            expect(times.get(of)).toBeUndefined();
          } else {
            times.set(of, time);
            model.set(of, time);
            expect(times.get(of)).toBe(time);
          }
        }
        for (const { uid: of } of steps) expect(times.get(of)).toBe(model.get(of));
      }),
    );
  });
});
