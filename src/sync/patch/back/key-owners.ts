// Decides who owns the keys that a patch of a whole map changes: the virtual side, or both sides when the patch has a reverse
// expression. Only the results of the patch show which keys these are. PatchSet.ownerOf() decides about keys with a path.
import type { KeyOwner } from '../../plan/keys/merge-keys.ts';
import type { Pass } from '../entry/pass.ts';
import { isOfWholeMap } from '../set/changed-parts.ts';
import type { CompiledPatch, PatchSet } from '../set/patch-set.ts';
import { changedKeys, type PatchView } from '../set/view.ts';

interface Maps {
  labels: Map<string, string>;
  annotations: Map<string, string>;
}

export function mapsOf({ metadata }: PatchView): Maps {
  const textsOf = (map: unknown): Map<string, string> => new Map(Object.entries((map ?? {}) as Record<string, string>));
  return { labels: textsOf(metadata?.labels), annotations: textsOf(metadata?.annotations) };
}

export function noteWholeOwners({ path }: CompiledPatch, before: Maps, pass: Pass, set: PatchSet): void {
  const after = mapsOf(pass.view);
  const owner: KeyOwner = set.isReversed(path) ? 'shared' : 'virtual';
  pass.wholeOwners ??= { labels: new Map(), annotations: new Map() };
  for (const map of ['labels', 'annotations'] as const) {
    for (const key of changedKeys(before[map], after[map])) pass.wholeOwners[map].set(key, owner);
  }
}

/**
 * Whether the patch may own any key: a patch of a whole map without a reverse expression. Its expression must run to show which
 * keys it changes.
 */
export function mayOwnAnyKey({ forward, path, parts }: CompiledPatch, set: PatchSet): boolean {
  const isOfMap = parts.some((part) => part !== 'payload');
  return forward !== undefined && !set.isReversed(path) && isOfMap && isOfWholeMap(path);
}
