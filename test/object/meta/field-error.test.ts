import { expect, it } from 'vitest';
import { fieldErrorText, invalidValue } from '../../../src/object/meta/field-error.ts';

/** With its quotes as long as a message may show. */
const longest = 10_000;

it('a value is shown whole up to the limit, and cut beyond it', () => {
  const whole = 'x'.repeat(longest - 2);
  expect(fieldErrorText(invalidValue('spec', whole, ''))).toBe(`spec: Invalid value: "${whole}"`);
  expect(fieldErrorText(invalidValue('spec', `${whole}x`, ''))).toBe(`spec: Invalid value: "${whole}x…`);
});
