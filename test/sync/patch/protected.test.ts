import { describe, expect, it } from 'vitest';
import { parsePath } from '../../../src/expression/path.ts';
import { patchableFields } from '../../../src/sync/patch/open-patcher.ts';
import { whyProtected } from '../../../src/sync/patch/protected.ts';

function refused(text: string) {
  const parsed = parsePath(text);
  if (parsed.kind !== 'ok') throw new Error(parsed.message);
  return whyProtected(parsed.path.segments, patchableFields);
}

describe('a path that may not be patched', () => {
  it.each([
    ['metadata.label["a"]', 'write metadata.labels'],
    ['Metadata.labels.a', 'write metadata'],
    ['annotations["a"]', 'write metadata.annotations'],
    ['subset[*].addresses', 'write subsets'],
    ['metadata.anotations[*]', 'write metadata.annotations'],
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

  it.each(['', '[*]', 'metadata', 'metadata.labels.a', 'subsets[*].addresses[*].ip'])('is not "%s"', (path) => {
    expect(refused(path)).toBeUndefined();
  });
});
