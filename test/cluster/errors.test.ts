import { expect, it } from 'vitest';
import { excerpt } from '../../src/cluster/errors.ts';

it('a foreign text is shown whole up to the limit, and cut beyond it', () => {
  expect(excerpt('x'.repeat(200))).toBe('x'.repeat(200));
  expect(excerpt('x'.repeat(201))).toBe(`${'x'.repeat(200)}…`);
  expect(excerpt(' four ', 4)).toBe('four');
});
