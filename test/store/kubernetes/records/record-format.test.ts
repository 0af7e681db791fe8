import { describe, expect, it } from 'vitest';
import {
  metaData,
  metaName,
  nameOf,
  readRecord,
  recordData,
  type StoreMeta,
} from '../../../../src/store/kubernetes/records/record-format.ts';

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

describe('the record of a store whose recovery has begun', () => {
  const meta: StoreMeta = { offset: 7, epoch: 'half', earlier: ['first'], recoversFrom: 40 };
  const read = (data: Record<string, string>) => readRecord({ name: metaName, version: 5, data }, 0);

  it('has a format of its own, which no program reads that does not know the mark', () => {
    const data = metaData(meta);
    expect([data['format'], read(data)]).toEqual(['3', { kind: 'meta', meta }]);
    expect(read({ ...data, format: '4' })).toMatchObject({ kind: 'unusable' });
    const { recoversFrom: _, ...whole } = meta;
    expect(metaData(whole)['format']).toBe('1');
  });

  it('is not read without the revision from which it is recovered', () => {
    expect(read({ ...metaData(meta), recoversFrom: '' })).toMatchObject({ kind: 'unusable' });
  });
});
