import { describe, expect, it } from 'vitest';
import type { PatchEntry } from '../../../../src/config/settings/settings.ts';
import { compatNotes } from '../../../../src/sync/patch/lint/compat.ts';
import { patchableFields } from '../../../../src/sync/patch/run/open-patcher.ts';
import { compilePatchSet } from '../../../../src/sync/patch/set/patch-set.ts';
import { entry } from '../fake-patch.ts';

function notesOf(...entries: (Partial<PatchEntry> & { path: string })[]) {
  const compiled = compilePatchSet(
    entries.map((one, index) => ({ index, entry: entry(one) })),
    patchableFields,
  );
  if (compiled.kind === 'faults') throw new Error(compiled.faults.map(({ message }) => message).join('; '));
  return compatNotes(compiled.set.patches).map(({ index, rule }) => `${index} ${rule}`);
}

describe('what a patch does otherwise than in vCluster', () => {
  const forward = { expression: 'value + "x"' };
  const back = { reverseExpression: 'value.slice(0, -1)' };

  it('is nothing for a pair, and the direction that is missing for half of one', () => {
    const path = 'metadata.annotations.a';
    expect(notesOf({ path, ...forward, ...back })).toEqual([]);
    expect(notesOf({ path, ...forward })).toEqual(['0 forward-only']);
    expect(notesOf({ path, ...back })).toEqual(['0 back-only']);
  });

  it('is, for a pair in two entries, that vCluster does not take it', () => {
    const path = 'metadata.annotations.a';
    expect(notesOf({ path, ...forward }, { path, ...back })).toEqual(['1 two-halves']);
    expect(notesOf({ path, ...back }, { path: 'metadata.annotations["a"]', ...forward })).toEqual([
      '1 missing-key',
      '1 two-halves',
    ]);
  });

  it.each([
    ['metadata.annotations[*]', ['0 delete-value']],
    ['metadata.annotations.a', ['0 delete-value']],
    ['metadata.annotations["a"]', ['0 missing-key']],
    ['metadata.annotations["a.b/c"]', ['0 missing-key', '0 delete-dotted']],
    ['subsets[*].addresses[*]', ['0 delete-element']],
    ['subsets[*].addresses[*].hostname', []],
  ])('is, where null comes from %s: %j', (path, rules) => {
    expect(notesOf({ path, expression: 'null', ...(path.startsWith('metadata') && back) })).toEqual(rules);
  });
});
