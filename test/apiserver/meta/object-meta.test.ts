import { describe, expect, it } from 'vitest';
import { carryMetaOver, countGeneration, timestamp } from '../../../src/apiserver/meta/object-meta.ts';
import type { KubeObject, ObjectMeta } from '../../../src/object/meta/object.ts';

const objectWith = (metadata: ObjectMeta): KubeObject => ({ metadata });

describe('timestamp()', () => {
  it.each([
    ['2026-01-02T03:04:05.000Z', '2026-01-02T03:04:05Z'],
    ['2026-01-02T03:04:05.999Z', '2026-01-02T03:04:05Z'],
    ['2026-01-02T03:04:06.000Z', '2026-01-02T03:04:06Z'],
  ])('cuts %s to whole seconds', (wall, wanted) => {
    expect(timestamp(new Date(wall))).toBe(wanted);
  });
});

describe('carryMetaOver()', () => {
  const old = { name: 'a', uid: 'u', creationTimestamp: 'then', generation: 3 };
  const deleted = { ...old, deletionTimestamp: 'later', deletionGracePeriodSeconds: 0 };

  it.each([
    { claim: 'fills in the missing server fields', sent: { name: 'a' }, stored: old, wanted: old },
    { claim: 'keeps another uid for the precondition', sent: { uid: 'v' }, stored: old, wanted: { uid: 'v' } },
    { claim: 'undoes a new creation time', sent: { creationTimestamp: 'now' }, stored: old, wanted: { uid: 'u' } },
    { claim: 'keeps a deletion', sent: { name: 'a' }, stored: deleted, wanted: deleted },
  ])('$claim', ({ sent, stored, wanted }) => {
    const object = objectWith({ ...sent });
    carryMetaOver(object, objectWith(stored));
    expect(object.metadata).toMatchObject({ ...wanted, creationTimestamp: 'then', generation: 3 });
  });

  it('drops selfLink', () => {
    const object = objectWith({ name: 'a', selfLink: '/a' } as ObjectMeta);
    carryMetaOver(object, objectWith(old));
    expect(object.metadata).not.toHaveProperty('selfLink');
  });
});

describe('countGeneration()', () => {
  it.each([
    { counts: true, before: 3, hasChanged: true, wanted: 4 },
    { counts: true, before: 3, hasChanged: false, wanted: 3 },
    { counts: true, before: undefined, hasChanged: true, wanted: 1 },
    { counts: false, before: undefined, hasChanged: true, wanted: undefined },
  ])(
    'gives $wanted after $before (counts: $counts, changed: $hasChanged)',
    ({ counts, before, hasChanged, wanted }) => {
      const object = objectWith({});
      const old = objectWith(before === undefined ? {} : { generation: before });
      countGeneration(object, old, { countsGenerations: counts }, hasChanged);
      expect(object.metadata.generation).toBe(wanted);
    },
  );
});
