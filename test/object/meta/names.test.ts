import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  base36,
  generatedName,
  hasGivenForm,
  hostLabelKey,
  hostName,
  splitHostName,
} from '../../../src/object/meta/names.ts';

interface NameVectors {
  names: { name: string; namespace: string; vcluster: string; host: string; generated: string }[];
  labelKeys: { key: string; vcluster: string; host: string }[];
}
const vectors: NameVectors = JSON.parse(
  readFileSync(new URL('../../../fixtures/object/names.json', import.meta.url), 'utf8'),
);

describe('names', () => {
  it.each(vectors.names)(
    'hostName() and generatedName() of $name in $namespace for $vcluster are those of vCluster',
    (row) => {
      expect(hostName(row, row.vcluster)).toBe(row.host);
      expect(generatedName(row, row.vcluster)).toBe(row.generated);
    },
  );

  it.each(vectors.labelKeys)('hostLabelKey() of $key for $vcluster equals the key of vCluster', (row) => {
    expect(hostLabelKey(row.key, row.vcluster)).toBe(row.host);
  });

  const table: [string, string][] = [
    [hostName({ name: '', namespace: 'default' }, 'my-vcluster'), ''],
    [hostName({ name: 'my-svc', namespace: '' }, 'my-vcluster'), 'my-svc-x--x-my-vcluster'],
    [hostName({ name: `${'b'.repeat(51)}.example`, namespace: 'default' }, 'vc'), `${'b'.repeat(51)}-ba04a86937`],
    [
      hostName({ name: `a.b.c.-d${'e'.repeat(50)}`, namespace: 'default' }, 'vc'),
      `a.b.c-d${'e'.repeat(44)}-e9a0389d4b`,
    ],
    [hostName({ name: `${'k'.repeat(51)}-tail`, namespace: 'default' }, 'vc'), `${'k'.repeat(51)}--d9b7c6bcb9`],
    [generatedName({ name: 'svc-75', namespace: 'default' }, 'vc'), 'v02vk4t59jhuew'],
    [generatedName({ name: '', namespace: 'default' }, 'vc'), ''],
    [base36('0016cc66'), base36('0016cc66').padStart(1, '0')],
    [base36('00'), '0'],
    [base36('0000ff'), '0073'],
  ];
  it.each(table)('%s', (found, wanted) => {
    expect(found).toBe(wanted);
  });
});

// An annotation may have 256 KiB, and somebody on the host can write it: every pair of separators would be tried for minutes.
it('gives no name longer than 63 characters back, however many separators it has', () => {
  expect(hasGivenForm('a-x-b-x-c')).toBe(true);
  expect(splitHostName('a-x-b-x-c', 'c')).toEqual([{ name: 'a', namespace: 'b' }]);
  const long = '-x-'.repeat(80_000);
  expect(hasGivenForm(`${long}\n`)).toBe(false);
  expect(splitHostName(`${long}c`, 'c')).toEqual([]);
});
