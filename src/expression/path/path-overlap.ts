// Decides which patches can run in one call of the sandbox: those whose paths cannot overlap. Patches run in the order of the
// list, so a patch that could see the result of an earlier patch waits for the next call.
import type { CompiledPath } from './path.ts';
import type { Segment } from './path-grammar.ts';

/** True when a match of one path can contain, equal or lie inside a match of the other. */
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

/** A deleted element moves its neighbours, so a path that ends at an index touches the whole array. */
function touched(segments: readonly Segment[]): readonly Segment[] {
  const last = segments.at(-1);
  if (last?.kind !== 'key' || !/^\d+$/.test(last.key)) return segments;
  return [...segments.slice(0, -1), { kind: 'every' }];
}

function canMeet(a: Segment, b: Segment): boolean {
  return a.kind === 'every' || b.kind === 'every' || a.key === b.key;
}

/** Splits the list, in order, into runs of adjacent entries whose paths do not overlap. */
export function runsWithoutOverlap<T>(entries: readonly T[], pathOf: (entry: T) => CompiledPath): T[][] {
  const runs: T[][] = [];
  let run: T[] = [];
  let taken: (readonly Segment[])[] = [];
  for (const entry of entries) {
    const segments = touched(pathOf(entry).segments);
    if (taken.some((earlier) => meet(earlier, segments))) {
      runs.push(run);
      run = [];
      taken = [];
    }
    run.push(entry);
    taken.push(segments);
  }
  if (run.length > 0) runs.push(run);
  return runs;
}
