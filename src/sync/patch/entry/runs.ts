// Groups the patches of a pass into calls of the sandbox, and reports each place to the trace. Pure.
import type { Matches } from '../../../expression/path/path.ts';
import { runsWithoutOverlap } from '../../../expression/path/path-overlap.ts';
import type { Failed } from '../set/failure.ts';
import type { CompiledPatch } from '../set/patch-set.ts';
import type { PatchView } from '../set/view.ts';
import type { PatcherOptions, Trace } from './pass.ts';

/** Keeps the order of the list; patches whose places cannot overlap share a call. */
export function runsOf(
  patches: readonly CompiledPatch[],
  options: Pick<PatcherOptions, 'isOneByOne'>,
): CompiledPatch[][] {
  if (options.isOneByOne) return patches.map((patch) => [patch]);
  return runsWithoutOverlap(patches, (patch) => patch.path);
}

/** Matches with paths cost more than twice as much, so paths are made only for a trace or where an expression reads them. */
export function matchesIn(
  { view, trace }: { view: PatchView; trace: Trace | undefined },
  { path, matching }: CompiledPatch,
  direction: keyof CompiledPatch['matching'],
): Matches {
  const options = matching[direction];
  return path.match(view, trace === undefined ? options : { ...options, withPaths: true });
}

/** Adds the paths of a failure's places. Call it before anything is written, or places in arrays may have moved. */
export function withPlaces(failed: Failed, view: PatchView): Failed {
  const { patch, matches } = failed;
  if (matches.paths !== undefined) return failed;
  const { paths } = patch.path.match(view, { createMissing: matches.missing !== undefined, withPaths: true });
  return { ...failed, matches: { ...matches, paths } };
}

/** Call it before the results are written, which change the values that it reports. */
export function traceResults(
  patch: CompiledPatch,
  { matches, values }: { matches: Matches; values: readonly unknown[] },
  trace: Trace | undefined,
): void {
  if (trace === undefined) return;
  for (const [at, before] of matches.values.entries()) {
    const place = matches.paths?.[at] ?? patch.path.text;
    trace({ patch: patch.index, path: patch.entry.path, at: place, before, after: values[at] ?? null });
  }
}

export function traceFailure(
  { patch, matches, errors }: Failed,
  trace: Trace | undefined,
  { endsPass = false }: { endsPass?: boolean } = {},
): void {
  if (trace === undefined) return;
  for (const { at, error } of errors) {
    const place = matches.paths?.[at] ?? patch.path.text;
    const before = matches.values[at];
    const { message, kind, position } = error;
    const failed = { kind, ...(position && { position }) };
    const traced = { patch: patch.index, path: patch.entry.path, at: place, before, after: before };
    trace({ ...traced, error: message, failed, endsPass });
  }
}
