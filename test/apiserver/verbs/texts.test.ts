import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeContinue, encodeContinue } from '../../../src/apiserver/verbs/continue-token.ts';
import { duplicateFields } from '../../../src/apiserver/wire/duplicate-fields.ts';
import { age } from '../../../src/apiserver/wire/table.ts';
import { warningLines } from '../../../src/apiserver/wire/warnings.ts';

describe('age()', () => {
  const now = new Date('2026-06-01T00:00:00Z');
  const ago = (seconds: number) => age(new Date(now.getTime() - seconds * 1000).toISOString(), now);
  const minute = 60;
  const hour = 3600;
  const day = 86_400;
  it.each([
    [-5, '<invalid>'],
    [-1, '0s'],
    [0, '0s'],
    [119, '119s'],
    [2 * minute, '2m'],
    [9 * minute + 5, '9m5s'],
    [10 * minute + 5, '10m'],
    [179 * minute, '179m'],
    [3 * hour, '3h'],
    [7 * hour + 5 * minute, '7h5m'],
    [47 * hour, '47h'],
    [2 * day, '2d'],
    [7 * day + 3 * hour, '7d3h'],
    [729 * day, '729d'],
    [3 * 365 * day + 2 * day, '3y2d'],
    [9 * 365 * day, '9y'],
  ])('of %d seconds is %s', (seconds, wanted) => {
    expect(ago(seconds)).toBe(wanted);
  });
  it('is unknown without a time', () => {
    expect(age(undefined, now)).toBe('<unknown>');
  });
});

describe('duplicateFields()', () => {
  it('finds at most a thousand, with paths of at most a thousand characters', () => {
    const members = Array.from({ length: 3_000 }, (_, at) => `"a${at}":0,"a${at}":0`).join();
    const few = `{"b":1,"b":1,"${'k'.repeat(100_000)}":[{${members}}]}`;
    expect(duplicateFields(few)).toEqual(['b', `${'k'.repeat(1_000)}…`]);
    const longest = 'k'.repeat(1_000);
    expect(duplicateFields(`{"${longest}":1,"${longest}":2}`)).toEqual([longest]);
    expect(duplicateFields(`{${members}}`)).toHaveLength(1_000);
  });

  it('returns the path of each duplicate', () => {
    expect(duplicateFields('{"a":1,"b":{"c":1,"c":2},"d":[{"e":1},{"e":1,"e":"x\\"y"}],"a":2}')).toEqual([
      'b.c',
      'd[1].e',
      'a',
    ]);
  });
  it('finds no duplicates in the output of JSON.stringify with any spacing', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 0, max: 3 }), (value, indent) => {
        expect(duplicateFields(JSON.stringify(value, undefined, indent))).toEqual([]);
      }),
    );
  });
});

describe('continue tokens', () => {
  it('decode to the encoded value', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1 }), fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,20}$/), (revision, after) => {
        expect(decodeContinue(encodeContinue({ revision, after }))).toEqual({ revision, after });
      }),
    );
  });
  it.each([
    '',
    'abc',
    Buffer.from('{"v":"other"}').toString('base64url'),
    encodeContinue({ revision: 5, after: '../x' }),
  ])('refuse %j', (token) => {
    expect(() => decodeContinue(token)).toThrow(/invalid continue token/);
  });
});

describe('warningLines()', () => {
  it('are valid header values for any texts, few and short enough for every client', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 400 }), { maxLength: 80 }), (texts) => {
        const lines = warningLines(texts);
        for (const line of lines) expect(line).toMatch(/^299 - "(?:[ !#-[\]-~]|\\[\\"])*"$/);
        expect(lines.length).toBeLessThanOrEqual(41);
        expect(lines.join('').length).toBeLessThan(10_000);
      }),
    );
  });

  it('count those that have no room, and tell each once', () => {
    const texts = Array.from({ length: 300 }, (_, at) => `unknown field "f${at}"`);
    const lines = warningLines([...texts, ...texts]);
    expect(lines).toHaveLength(41);
    expect(lines.slice(-2)).toEqual(['299 - "unknown field \\"f39\\""', '299 - "and 260 more warnings"']);
    expect(warningLines(['a'.repeat(5000), 'b'])).toEqual([`299 - "${'a'.repeat(256)}"`, '299 - "b"']);
  });
});
