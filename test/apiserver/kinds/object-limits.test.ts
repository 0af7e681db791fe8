// The limits of objects: bytes and counts, and the objects that were stored under other limits.
import { describe, expect, it } from 'vitest';
import {
  checkSize,
  countErrors,
  kubernetesLimits,
  type ObjectLimits,
} from '../../../src/apiserver/kinds/object-limits.ts';
import type { StatusFault } from '../../../src/apiserver/request/status-fault.ts';
import type { ObjectMeta } from '../../../src/object/meta/object.ts';

const limits: ObjectLimits = {
  bodyBytes: 100,
  storedBytes: 10,
  counts: { labels: 2, annotations: 2, finalizers: 2, ownerReferences: 2, managedFields: 2 },
};

function statusOf(run: () => void) {
  try {
    run();
    return undefined;
  } catch (error) {
    return (error as StatusFault).statusIn('strict');
  }
}

describe('checkSize()', () => {
  it.each([
    ['a short text', 'a'.repeat(10), undefined, undefined],
    ['one byte more', 'a'.repeat(11), undefined, 413],
    ['bytes, not characters', 'ä'.repeat(6), undefined, 413],
    ['a large object that becomes smaller', 'a'.repeat(19), 'a'.repeat(20), undefined],
    ['a large object that keeps its size', 'b'.repeat(20), 'a'.repeat(20), 413],
    ['a large object that grows', 'a'.repeat(21), 'a'.repeat(20), 413],
    ['an object that grows over the limit', 'a'.repeat(11), 'a'.repeat(10), 413],
  ])('%s', (_claim, text, before, code) => {
    expect(statusOf(() => checkSize(text, before, limits))?.code).toBe(code);
  });

  it('says the limit, what was found, and that a large object may only shrink', () => {
    expect(statusOf(() => checkSize('a'.repeat(21), 'a'.repeat(20), limits))?.message).toBe(
      'Request entity too large: limit is 10 bytes for an object, and this one would have 21; it has 20, and a change must make it smaller',
    );
  });
});

describe('countErrors()', () => {
  const three = { a: '', b: '', c: '' };
  const lists = ['finalizers', 'ownerReferences', 'managedFields'] as const;

  it.each(['labels', 'annotations', ...lists] as const)('refuses more %s than the limit, and names both', (field) => {
    const value = lists.includes(field as never) ? Object.keys(three) : three;
    expect(countErrors({ [field]: value }, undefined, limits)).toEqual([
      { type: 'FieldValueTooMany', path: `metadata.${field}`, message: 'Too many: 3: must have at most 2 items' },
    ]);
  });

  it('lets an object that has more keep them or lose some, and get no other one', () => {
    const before: ObjectMeta = { labels: { ...three, d: '' } };
    expect(countErrors({ labels: { ...three, d: '' } }, before, limits)).toEqual([]);
    expect(countErrors({ labels: three }, before, limits)).toEqual([]);
    expect(countErrors({ labels: { ...three, d: '', e: '' } }, before, limits)).toHaveLength(1);
  });

  it('counts no null, which takes an entry away in a patch', () => {
    expect(countErrors({ labels: { a: null, b: null, c: null, d: '' } }, undefined, limits)).toEqual([]);
  });

  it('reads whatever a client sends', () => {
    for (const metadata of [undefined, null, 1, [], { labels: 1, finalizers: null }])
      expect(countErrors(metadata, undefined, limits)).toEqual([]);
  });

  it('has no counts in Kubernetes', () => {
    const labels = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`a${at}`, '']));
    expect(countErrors({ labels }, undefined, kubernetesLimits)).toEqual([]);
  });
});
