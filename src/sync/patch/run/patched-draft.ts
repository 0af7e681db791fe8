// Makes the draft that a pass of patches ends with, and the two questions about it that the merge of labels and annotations asks.
import type { Draft } from '../../plan/draft.ts';
import type { KeyOwner } from '../../plan/keys/merge-keys.ts';
import type { Pass } from '../entry/pass.ts';
import type { MapName, Part } from '../set/changed-parts.ts';
import type { PatchDigests } from '../set/patch-digests.ts';
import type { PatchSet } from '../set/patch-set.ts';

const noKeys = Object.freeze({});

/** The two functions live until the write is answered, so they must not keep the whole pass in memory. */
export function patchedDraft(
  { draft, translation, host, wholeOwners }: Pick<Pass, 'draft' | 'translation' | 'host' | 'wholeOwners'>,
  { labels, annotations, payload: made }: Pick<Draft, Part>,
  { set, digests }: { set: PatchSet; digests: PatchDigests },
): Draft {
  const payload = made === draft.payload ? made : translation.kind.asStored(made);
  const result = { labels, annotations, payload };
  const ownerOf = (map: MapName, hostKey: string): KeyOwner =>
    set.ownerOf(map, hostKey) ?? wholeOwners?.[map].get(hostKey) ?? 'shared';
  const isPatched = (map: MapName, key: string): boolean => {
    if (draft[map].get(key) !== result[map].get(key)) return true;
    const isThere = draft[map].has(key) || Object.hasOwn(host?.[map] ?? noKeys, key);
    return isThere && set.ownerOf(map, key) !== undefined;
  };
  const patchesOf = (map: MapName, key: string): string => (isPatched(map, key) ? digests.ofKey(map, key) : '');
  return { ...draft, ...result, patchesOf, ownerOf };
}
