import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SharedValues } from '../../../src/store/packed/shared-values.ts';

describe('SharedValues', () => {
  it('shows each row its own value, however often values come, go, and leave their numbers to others', () => {
    const step = fc.record({ isHeld: fc.boolean(), value: fc.nat(5), at: fc.nat(20) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const shared = new SharedValues();
        const rows: { number: number; text: string }[] = [];
        for (const { isHeld, value, at } of steps) {
          const text = JSON.stringify({ owner: `o${value}` });
          if (isHeld) rows.push({ number: shared.hold(text), text });
          else for (const { number } of rows.splice(at, 1)) shared.release(number);
          for (const row of rows)
            expect([shared.text(row.number), shared.parsed(row.number)]).toEqual([row.text, JSON.parse(row.text)]);
        }
        for (const { number } of rows) shared.release(number);
        expect(shared.bytes).toBe(0);
      }),
    );
  });
});
