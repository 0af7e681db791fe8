import { expect, it } from 'vitest';
import { backOffMs } from '../../src/pace/back-off.ts';

it.each([
  [0, 0],
  [1, 5],
  [2, 10],
  [5, 80],
  [6, 100],
  [10_000, 100],
])('backOffMs() pauses after %i failures for %i ms', (failures, ms) => {
  expect(backOffMs(failures, { firstMs: 5, mostMs: 100 })).toBe(ms);
});
