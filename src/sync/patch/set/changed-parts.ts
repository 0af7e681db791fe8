// Which parts of an object a patch can change, and which its patches have changed so far: what nobody changed was right before
// and needs no second look.
import type { CompiledPath } from '../../../expression/path/path.ts';

export type MapName = 'labels' | 'annotations';
export type Part = MapName | 'payload';
export const mapNames: readonly MapName[] = ['labels', 'annotations'];

/** Of each part, whether a patch has changed it. */
export type ChangedParts = Record<Part, boolean>;

/** The maps that a path can lead into; other fields of metadata no path can name. */
export function mapsOnPath({ segments }: CompiledPath): readonly MapName[] {
  const [root, map] = segments;
  if (root?.kind === 'key' && root.key !== 'metadata') return [];
  return map?.kind === 'key' ? mapNames.filter((name) => name === map.key) : mapNames;
}

/** The same with the fields beside metadata. */
export function partsOf(path: CompiledPath): readonly Part[] {
  const [root] = path.segments;
  const maps = mapsOnPath(path);
  return root?.kind === 'key' && root.key === 'metadata' ? maps : [...maps, 'payload'];
}

/** Leads to a whole map or further up: which keys it changes only its results tell. */
export function isOfWholeMap({ segments }: CompiledPath): boolean {
  return segments.length < 3;
}
