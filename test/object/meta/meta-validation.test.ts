import { describe, expect, it } from 'vitest';
import { validateMeta, validateMetaUpdate } from '../../../src/object/meta/meta-validation.ts';
import type { ObjectMeta } from '../../../src/object/meta/object.ts';
import { invalid } from '../../../src/object/meta/status.ts';
import { cases } from '../fixture.ts';

/** The fixture writes a long value as `x*length`. */
function expanded(metadata: ObjectMeta): ObjectMeta {
  const times = /^x\*([0-9]+)$/.exec(metadata.annotations?.['a'] ?? '')?.[1];
  return times === undefined ? metadata : { ...metadata, annotations: { a: 'x'.repeat(Number(times)) } };
}

describe('validateMeta()', () => {
  it.each(cases<{ metadata: ObjectMeta; status: object }>('metadata'))(
    'finds what Kubernetes finds, in its words: $metadata',
    ({ metadata, status }) => {
      const errors = validateMeta(expanded(metadata), { isNamespaced: true });
      const found = invalid({ group: '', kind: 'Endpoints' }, metadata.name ?? '', errors);
      const { causes, ...details } = found.details ?? {};
      // Kubernetes omits an empty list of causes.
      const shown = { ...found, details: causes?.length === 0 ? details : { ...details, causes } };
      expect(shown).toEqual({ kind: 'Status', apiVersion: 'v1', ...status });
    },
  );

  it('refuses a namespace on a kind without namespaces', () => {
    expect(validateMeta({ name: 'x', namespace: 'd' }, { isNamespaced: false })).toEqual([
      { type: 'FieldValueForbidden', path: 'metadata.namespace', message: 'Forbidden: not allowed on this type' },
    ]);
  });
});

describe('an answer to many errors', () => {
  const many = Array.from({ length: 4_000 }, (_, at) => `-${at}`);
  const owners = many.map((name) => ({ apiVersion: 'v1', kind: 'X', name, uid: name, controller: true }));
  const map = Object.fromEntries(many.map((name) => [name, name]));
  it.each<[string, ObjectMeta]>([
    ['labels', { labels: map }],
    ['annotations', { annotations: map }],
    ['finalizers', { finalizers: many }],
    ['controllers', { ownerReferences: owners }],
  ])('lists no more than a hundred, each with a value of a limited length: %s', (_, metadata) => {
    const errors = validateMeta({ name: 'x', ...metadata }, { isNamespaced: false });
    // Before it is cut, the list of errors must not fill the memory either.
    expect(errors.length).toBeLessThan(110);
    const { message = '', details } = invalid({ group: '', kind: 'X' }, 'x', [...errors, ...errors]);
    expect(details?.causes).toHaveLength(100);
    expect(message).toMatch(/, and more errors$/);
    expect(message.length).toBeLessThan(1_200_000);
  });

  it('finds out which finalizers are new without comparing each with all', { timeout: 3_000 }, () => {
    const before = {
      name: 'x',
      deletionTimestamp: '2026-01-01T00:00:01Z',
      finalizers: many.flatMap((name) => many.slice(0, 20).map((other) => `${name}${other}`)),
    };
    const now = { ...before, finalizers: before.finalizers.map((name) => `new${name}`) };
    expect(validateMetaUpdate(now, before)[0]?.message.length).toBeLessThan(10_000);
  });
});

describe('validateMetaUpdate()', () => {
  const before: ObjectMeta = { name: 'x', namespace: 'd', uid: '1', creationTimestamp: '2026-01-01T00:00:00Z' };

  it('lets labels, annotations and finalizers change', () => {
    expect(validateMetaUpdate({ ...before, labels: { a: 'b' }, finalizers: ['a.b/c'] }, before)).toEqual([]);
  });

  it.each(['name', 'namespace', 'uid', 'creationTimestamp', 'deletionTimestamp'] as const)('keeps %s', (field) => {
    expect(validateMetaUpdate({ ...before, [field]: 'other' }, before)).toMatchObject([
      { path: `metadata.${field}`, message: 'Invalid value: "other": field is immutable' },
    ]);
  });

  it('refuses a new finalizer on an object that is being deleted', () => {
    const deleted = { ...before, deletionTimestamp: '2026-01-01T00:00:01Z', finalizers: ['a.b/c', 'd.e/f'] };
    expect(validateMetaUpdate({ ...deleted, finalizers: ['a.b/c'] }, deleted)).toEqual([]);
    expect(validateMetaUpdate({ ...deleted, finalizers: ['g.h/i'] }, deleted)).toMatchObject([
      { path: 'metadata.finalizers', type: 'FieldValueForbidden' },
    ]);
  });
});
