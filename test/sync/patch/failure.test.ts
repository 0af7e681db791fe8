import { expect, it } from 'vitest';
import { redacted } from '../../../src/sync/patch/failure.ts';

it.each([
  [undefined, 'missing'],
  ['', 'a text of 0 characters'],
  ['x', 'a text of 1 character'],
  ['hunter2', 'a text of 7 characters'],
  ['hunter22', 'a text of 8 characters, "hu…"'],
  [['a', 'b'], 'a list of 2'],
])('a value %j that a patch failed on is shown as %s', (value, shown) => {
  expect(redacted(value)).toBe(shown);
});
