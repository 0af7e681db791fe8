import { describe, expect, it } from 'vitest';
import { parsePath } from '../../../../src/expression/path/path.ts';
import { hostLabelKey } from '../../../../src/object/meta/names.ts';
import { endpointsKind } from '../../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { whyProtected } from '../../../../src/sync/patch/set/protected.ts';
import {
  controlledByKey,
  managedAnnotationsKey,
  markerLabel,
  namespaceLabel,
  pauseKey,
  skipBackSyncKey,
  theSix,
} from '../../../../src/sync/plan/keys/reserved-keys.ts';

function refused(text: string) {
  const parsed = parsePath(text);
  if (parsed.kind !== 'ok') throw new Error(parsed.message);
  return whyProtected(parsed.path.segments, endpointsKind);
}

describe('a path that may not be patched', () => {
  it.each([
    ['metadata.label["a"]', 'write metadata.labels'],
    ['Metadata.labels.a', 'write metadata'],
    ['annotations["a"]', 'write metadata.annotations'],
    ['subset[*].addresses', 'write subsets'],
    ['metadata.anotations[*]', 'write metadata.annotations'],
    ['metadata/labels/a', 'write metadata.labels.a'],
    ['spec.ports[*].port', 'patch labels, annotations or the fields of the object itself'],
  ])('%s is told what was meant, where that can be seen: %s', (path, fix) => {
    expect(refused(path)).toEqual({ why: expect.stringContaining('there is no field'), fix });
  });

  it.each(['metadata.name', 'kind', 'metadata.finalizers[0]', 'metadata.labels["vcluster.loft.sh/managed-by"]'])(
    '%s is told to patch something else',
    (path) => {
      expect(refused(path)?.fix).toBe('patch labels, annotations or the fields of the object itself');
    },
  );

  it.each(['apiVersion', 'kind', 'metadata.name', 'metadata.namespace', 'metadata.uid', 'metadata.resourceVersion'])(
    '%s is protected',
    (path) => expect(refused(path)?.why).toBe(`"${path}" is protected and cannot be patched`),
  );

  it('metadata.ownerReferences is protected, and what is in it', () => {
    expect(refused('metadata.ownerReferences[0].uid')?.why).toBe(
      '"metadata.ownerReferences" is protected and cannot be patched',
    );
  });

  it.each([
    ...['generateName', 'generation', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'],
    ...['finalizers', 'managedFields', 'selfLink'],
  ])('metadata.%s is not synced', (field) => {
    expect(refused(`metadata.${field}`)?.why).toBe(`"metadata.${field}" is not synced and cannot be patched`);
  });

  it.each([
    ...[markerLabel, namespaceLabel].map((key) => ['labels', key] as const),
    ...[...theSix, managedAnnotationsKey].map((key) => ['annotations', key] as const),
    ...[
      controlledByKey,
      skipBackSyncKey,
      pauseKey,
      'vcluster.loft.sh/managed-other',
      'vcluster.loft.sh/other',
      'hostward.dev/base',
    ].flatMap((key) => (['labels', 'annotations'] as const).map((map) => [map, key] as const)),
  ])('metadata.%s["%s"] is reserved', (map, key) => {
    expect(refused(`metadata.${map}["${key}"]`)?.why).toBe(`"${key}" is reserved for the sync and cannot be patched`);
  });

  it.each([
    ['labels', hostLabelKey('release', 'vc')],
    ['labels', 'hostward.dev'],
    ['annotations', 'hostward.dev'],
    ['annotations', 'vcluster.loft.sh.example.com/other'],
  ])('is not that of metadata.%s["%s"]', (map, key) => {
    expect(refused(`metadata.${map}["${key}"]`)).toBeUndefined();
  });

  it.each(['', '[*]', 'metadata', 'metadata.labels.a', 'subsets[*].addresses[*].ip'])('is not "%s"', (path) => {
    expect(refused(path)).toBeUndefined();
  });
});
