// Finds the patch that made an invalid result: the last one that wrote the value at the wrong place. Goes back over the writes
// of a pass, and only when something is wrong. Pure.
import type { Matches } from '../../../expression/path/path.ts';
import type { ObjectPath } from '../../plan/excerpt.ts';
import type { CompiledPatch } from './patch-set.ts';
import type { PatchView } from './view.ts';

/** The matches of one patch and the results written there. */
export interface PatchWrite {
  patch: CompiledPatch;
  matches: Matches;
  /** Undefined for a patch that changes parts inside its matches. */
  results: readonly unknown[] | undefined;
  /** Labels and annotations before a patch of a whole map or object: a key with the same value as before is not its work. */
  before: Texts | undefined;
}

export interface Texts {
  labels: ReadonlyMap<string, unknown>;
  annotations: ReadonlyMap<string, unknown>;
}

interface PathNode {
  parent: object;
  key: string;
  value: unknown;
}

/** Undefined when no patch wrote there, or when several did and no single one is at fault. */
export function blamedPatchOf(
  writes: readonly PatchWrite[],
  view: PatchView,
  place: ObjectPath,
): CompiledPatch | undefined {
  const steps = nodesTo(view, place);
  for (const write of [...writes].reverse()) if (hasWritten(write, steps, place)) return write.patch;
  const [first, ...others] = new Set(writes.filter((write) => hasWrittenBelow(write, steps)).map(({ patch }) => patch));
  return others.length === 0 ? first : undefined;
}

function nodesTo(view: PatchView, place: ObjectPath): PathNode[] {
  const steps: PathNode[] = [];
  let here: unknown = view;
  for (const key of place) {
    if (typeof here !== 'object' || here === null) break;
    const value = (here as Record<string, unknown>)[key];
    steps.push({ parent: here, key: String(key), value });
    here = value;
  }
  return steps;
}

function hasWritten(
  { patch, matches, results, before }: PatchWrite,
  steps: readonly PathNode[],
  place: ObjectPath,
): boolean {
  const known = knownBefore(before, place);
  if (known !== undefined && known.value === steps.at(-1)?.value) return false;
  if (matches.whole !== undefined) return steps.some(({ key }) => wroteTopLevel(results?.[0], key, steps));
  return matches.parents.some((parent, at) => {
    const [key, written] = [String(matches.keys[at]), results?.[at]];
    if (results !== undefined && written === matches.values[at] && patch.path.segments.length > 2) return false;
    if (isOfText(patch, place) && key === String(place[2]) && written === steps[2]?.value) return true;
    // A removed element moves the later ones, so positions in arrays prove nothing; the value does.
    const mayHaveMoved = Array.isArray(parent) && results !== undefined;
    return steps.some((step) => step.parent === parent && (mayHaveMoved ? step.value === written : step.key === key));
  });
}

/** A single label or annotation: a later patch may have replaced its map with another one that holds the same value. */
function isOfText({ path: { segments } }: CompiledPatch, [root, map, key]: ObjectPath): boolean {
  if (root !== 'metadata' || key === undefined || segments.length !== 3) return false;
  return [root, map].every((name, at) => segments[at]?.kind === 'every' || segments[at]?.key === name);
}

/** Whether a result for the whole object wrote this top-level key. knownBefore() has ruled out unchanged metadata. */
function wroteTopLevel(result: unknown, key: string, [root]: readonly PathNode[]): boolean {
  if (root === undefined || root.key !== key || typeof result !== 'object' || result === null) return false;
  return key === 'metadata' || (result as Record<string, unknown>)[key] === root.value;
}

function knownBefore(before: Texts | undefined, [root, map, key]: ObjectPath): { value: unknown } | undefined {
  if (before === undefined || root !== 'metadata' || key === undefined) return undefined;
  return { value: before[map as keyof Texts]?.get(String(key)) };
}

/** Whether the patch wrote somewhere inside the place, for example one key of a map that is now too large. */
function hasWrittenBelow({ matches, results }: PatchWrite, steps: readonly PathNode[]): boolean {
  const inside = steps.at(-1)?.value;
  if (typeof inside !== 'object' || inside === null) return false;
  return matches.parents.some((parent, at) => parent === inside && results?.[at] !== matches.values[at]);
}
