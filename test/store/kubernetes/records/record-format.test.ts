import { describe, expect, it } from 'vitest';
import { nameOf, readRecord, recordData } from '../../../../src/store/kubernetes/records/record-format.ts';

describe('readRecord()', () => {
  const key = '/r/a';
  const whole = recordData(key, '{}', undefined, { offset: 0, after: 0 });
  const read = (change: Record<string, string | undefined>, name = nameOf(key)) => {
    const data = Object.entries({ ...whole, ...change }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    );
    return readRecord({ name, version: 5, data: Object.fromEntries(data) }, 0);
  };

  it('reads what was written', () => {
    expect(read({})).toMatchObject({ kind: 'record', record: { key, value: '{}', createRevision: 5, revision: 5 } });
  });

  it.each([
    ['without a value', { value: undefined }, 'its key or its value is missing'],
    ['without a key', { key: undefined }, 'its key or its value is missing'],
    ['under the name of another key', { key: '/r/b' }, 'its name does not belong to its key'],
    ['whose creation is no number', { created: 'x' }, 'its creation is damaged'],
    ['of no format', { format: undefined }, 'it is damaged, or of another program'],
    ['of a newer format', { format: '1000' }, /^a newer version has written it in format 1000/],
  ])('does not use a record %s', (_, change, why) => {
    expect(read(change)).toEqual({ kind: 'unusable', why: typeof why === 'string' ? why : expect.stringMatching(why) });
  });
});
