// Bounds that follow the memory limit of the process.
import { describe, expect, it } from 'vitest';
import { memoryShare } from '../../../src/apiserver/limits/caller-limits.ts';

const mib = 1024 * 1024;

describe('memoryShare()', () => {
  it.each([
    [256, 16],
    [384, 24],
    [1024, 32],
    [2 ** 43, 32],
    [0, 32],
  ])('of a limit of %i MiB', (limit, wanted) => {
    expect(memoryShare(1 / 16, 32 * mib, limit * mib)).toBe(wanted * mib);
  });
});
