import { describe, expect, it } from 'vitest';
import { compareVersions, isVersion, newest } from '../../../src/cluster/window/text/resource-version.ts';

describe('isVersion()', () => {
  it.each([
    { rule: 'accepts a decimal number', text: '1002', expected: true },
    { rule: 'accepts a number beyond a double', text: '9'.repeat(40), expected: true },
    { rule: 'refuses the empty text', text: '', expected: false },
    { rule: 'refuses "0", which asks for any version', text: '0', expected: false },
    { rule: 'refuses a leading zero', text: '01', expected: false },
    { rule: 'refuses a sign', text: '-1', expected: false },
    { rule: 'refuses a word', text: 'newest', expected: false },
    { rule: 'refuses a number that is not a text', text: 7, expected: false },
    { rule: 'refuses undefined', text: undefined, expected: false },
  ])('$rule', ({ text, expected }) => {
    expect(isVersion(text)).toBe(expected);
  });
});

describe('compareVersions() and newest()', () => {
  it.each([
    { rule: 'order by value, not by letters', older: '9', newer: '10' },
    { rule: 'order versions of equal length', older: '1001', newer: '1002' },
    { rule: 'order versions beyond a double', older: `${'9'.repeat(20)}1`, newer: `${'9'.repeat(20)}2` },
  ])('$rule', ({ older, newer }) => {
    expect(compareVersions(older, newer)).toBeLessThan(0);
    expect(compareVersions(newer, older)).toBeGreaterThan(0);
    expect(compareVersions(older, older)).toBe(0);
    expect([newest(older, newer), newest(newer, older)]).toEqual([newer, newer]);
  });
});
