// Which patches can run in one call of the sandbox: those whose places cannot touch each other. Patches run in the order
// of the list, so one that could see the result of an earlier one waits for the next call.
import type { CompiledPath } from './path.ts';
import type { Segment } from './path-grammar.ts';

/** True when a place of one path can be inside, around or the same as a place of the other. */
export function overlaps(one: CompiledPath, other: CompiledPath): boolean {
  return meet(touched(one.segments), touched(other.segments));
}

function meet(a: readonly Segment[], b: readonly Segment[]): boolean {
  const depth = Math.min(a.length, b.length);
  for (let at = 0; at < depth; at++) {
    if (!canMeet(a[at] as Segment, b[at] as Segment)) return false;
  }
  return true;
}

/** A deleted element moves its neighbours: a path that ends at an index touches the whole array. */
function touched(segments: readonly Segment[]): readonly Segment[] {
  const last = segments.at(-1);
  if (last?.kind !== 'key' || !/^\d+$/.test(last.key)) return segments;
  return [...segments.slice(0, -1), { kind: 'every' }];
}

function canMeet(a: Segment, b: Segment): boolean {
  return a.kind === 'every' || b.kind === 'every' || a.key === b.key;
}

/** Cuts the list into runs of neighbours, in order; inside a run no two overlap. */
export function runsWithoutOverlap<T>(entries: readonly T[], pathOf: (entry: T) => CompiledPath): T[][] {
  const runs: T[][] = [];
  let run: T[] = [];
  let places: (readonly Segment[])[] = [];
  for (const entry of entries) {
    const place = touched(pathOf(entry).segments);
    if (places.some((earlier) => meet(earlier, place))) {
      runs.push(run);
      run = [];
      places = [];
    }
    run.push(entry);
    places.push(place);
  }
  if (run.length > 0) runs.push(run);
  return runs;
}
