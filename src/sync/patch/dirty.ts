// Which parts of an object its patches have changed so far: what nobody changed was right before and needs no second look.
import type { CompiledPatch } from './patch-set.ts';

export type Part = 'labels' | 'annotations' | 'payload';
const parts: readonly Part[] = ['labels', 'annotations', 'payload'];

/** What a patch can change, by where its path begins. */
export function partsOf({ path: { segments } }: CompiledPatch): readonly Part[] {
  const [root, map] = segments;
  if (root?.kind !== 'key') return parts;
  if (root.key !== 'metadata') return ['payload'];
  return map?.kind === 'key' ? parts.filter((part) => part === map.key) : ['labels', 'annotations'];
}
