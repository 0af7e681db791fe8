// Tells which parts of an object a patch can change. A part that no patch has changed was valid before and is not checked
// again. Pure.
import type { CompiledPath } from '../../../expression/path/path.ts';

export type MapName = 'labels' | 'annotations';
export type Part = MapName | 'payload';
export const mapNames: readonly MapName[] = ['labels', 'annotations'];

/** Whether a patch has changed the part in this pass. */
export type ChangedParts = Record<Part, boolean>;

/** The maps that a path can lead into: labels, annotations, or both. Paths to other fields of metadata are refused. */
export function mapsOnPath({ segments }: CompiledPath): readonly MapName[] {
  const [root, map] = segments;
  if (root?.kind === 'key' && root.key !== 'metadata') return [];
  return map?.kind === 'key' ? mapNames.filter((name) => name === map.key) : mapNames;
}

/** Whether the path leads to the key of the map, in host spelling, or to something that holds it. */
export function leadsTo({ segments }: CompiledPath, map: MapName, key: string): boolean {
  const place = ['metadata', map, key];
  return segments.every((segment, at) => at > 2 || segment.kind === 'every' || segment.key === place[at]);
}

/** The maps, and the payload where the path can lead outside metadata. */
export function partsOf(path: CompiledPath): readonly Part[] {
  const [root] = path.segments;
  const maps = mapsOnPath(path);
  return root?.kind === 'key' && root.key === 'metadata' ? maps : [...maps, 'payload'];
}

/** Whether the path leads to a whole map or to something that holds one: only the results show which keys change. */
export function isOfWholeMap({ segments }: CompiledPath): boolean {
  return segments.length < 3;
}
