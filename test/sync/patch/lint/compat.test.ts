import { describe, expect, it } from 'vitest';
import type { PatchEntry } from '../../../../src/config/settings/settings.ts';
import { endpointsKind } from '../../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { compatNotes } from '../../../../src/sync/patch/lint/compat.ts';
import { compilePatchSet } from '../../../../src/sync/patch/set/patch-set.ts';
import { entry } from '../fake-patch.ts';

function notesOf(...entries: (Partial<PatchEntry> & { path: string })[]) {
  const compiled = compilePatchSet(
    entries.map((one, index) => ({ index, entry: entry(one) })),
    endpointsKind,
  );
  if (compiled.kind === 'faults') throw new Error(compiled.faults.map(({ message }) => message).join('; '));
  return compatNotes(compiled.set.patches).map(({ index, rule }) => `${index} ${rule}`);
}

describe('notes on a patch that behaves differently in vCluster', () => {
  const forward = { expression: 'value + "x"' };
  const back = { reverseExpression: 'value.slice(0, -1)' };

  it('are empty for a pair of expressions, and name the missing direction of half a pair', () => {
    const path = 'metadata.annotations.a';
    expect(notesOf({ path, ...forward, ...back })).toEqual([]);
    expect(notesOf({ path, ...forward })).toEqual(['0 forward-only']);
    expect(notesOf({ path, ...back })).toEqual(['0 back-only']);
  });

  it('say that vCluster refuses a pair in two entries', () => {
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
  ])('name what vCluster does with null at %s: %j', (path, rules) => {
    expect(notesOf({ path, expression: 'null', ...(path.startsWith('metadata') && back) })).toEqual(rules);
  });
});
