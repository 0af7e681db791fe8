// Compiles the patches of a configuration: paths into walks, expressions into what the sandbox runs, and for each key its
// owner. In: the entries as written. Out: a patch set, or every fault with its field. Pure.
import type { PatchEntry, PatchReference } from '../../../config/settings/settings.ts';
import { runAtOnce, type Steps } from '../../../config/steps.ts';
import { type CompiledExpression, compileExpression } from '../../../expression/language/compile.ts';
import { shown } from '../../../expression/language/expression-fault.ts';
import { functionFault } from '../../../expression/language/lint.ts';
import { type CompiledPath, type MatchOptions, parsePath } from '../../../expression/path/path.ts';
import { type Segment, segmentsText } from '../../../expression/path/path-grammar.ts';
import { nearestKey } from '../../../object/meta/nearest-key.ts';
import type { KeyOwner } from '../../plan/keys/merge-keys.ts';
import { isOfWholeMap, type MapName, mapsOnPath, type Part, partsOf } from './changed-parts.ts';
import { type PatchTarget, whyProtected } from './protected.ts';
import { reach } from './reach.ts';

export interface CompiledPatch {
  /** Position in the list of the configuration. */
  index: number;
  path: CompiledPath;
  /** Options for matching the path, for each direction. */
  matching: Record<'forward' | 'back', MatchOptions>;
  entry: PatchEntry;
  forward: CompiledExpression | undefined;
  back: CompiledExpression | undefined;
  reference: CompiledReference | undefined;
  isLabels: boolean;
  /** The parts of an object that the patch can change. */
  parts: readonly Part[];
}

export interface CompiledReference {
  reference: PatchReference;
  namePath: CompiledPath | undefined;
  namespacePath: CompiledPath | undefined;
  kindPath: CompiledPath | undefined;
  apiVersionPath: CompiledPath | undefined;
}

export interface PatchFault {
  index: number;
  /** The member of the entry that is at fault: it gives the position in the file. */
  field: 'path' | 'expression' | 'reverseExpression' | 'namePath' | 'namespacePath' | 'kindPath' | 'apiVersionPath';
  /** Position in the text of that member, counted from 1. */
  line: number;
  column: number;
  message: string;
  fix: string;
}

export interface PatchSet {
  patches: readonly CompiledPatch[];
  expressions: readonly CompiledExpression[];
  /** Decided by paths to single keys. Keys that a patch of a whole map changes are known only after its evaluation. */
  ownerOf(map: 'labels' | 'annotations', hostKey: string): KeyOwner | undefined;
  /** Whether the path has a reverse expression, in the same entry or in another. */
  isReversed(path: CompiledPath): boolean;
}

export type CompiledPatchSet =
  | { kind: 'ok'; set: PatchSet }
  /** more: the number of faults inside expressions beyond those in the list. */
  | { kind: 'faults'; faults: PatchFault[]; more: number; set: PatchSet };

/** Compiles every entry even when another one is wrong, so that all faults are reported at once. */
export function compilePatchSet(
  entries: readonly { index: number; entry: PatchEntry }[],
  target: PatchTarget,
): CompiledPatchSet {
  return runAtOnce(compileSteps(entries, target));
}

/** As compilePatchSet(), with a pause after each entry, so that a long list does not hold the loop. */
export function* compileSteps(
  entries: readonly { index: number; entry: PatchEntry }[],
  target: PatchTarget,
): Steps<CompiledPatchSet> {
  const found: FoundFaults = { faults: [], more: 0 };
  const patches: CompiledPatch[] = [];
  for (const { index, entry } of entries) {
    const patch = compilePatch(index, entry, { target, found });
    if (patch !== undefined) patches.push(patch);
    yield;
  }
  const set = patchSetOf(patches);
  return found.faults.length === 0 ? { kind: 'ok', set } : { kind: 'faults', ...found, set };
}

interface FoundFaults {
  faults: PatchFault[];
  more: number;
}

function compilePatch(
  index: number,
  entry: PatchEntry,
  { target, found }: { target: PatchTarget; found: FoundFaults },
): CompiledPatch | undefined {
  const { faults } = found;
  const before = faults.length;
  const path = compilePath(entry.path, { index, field: 'path', found });
  const refused = path && whyProtected(path.segments, target);
  if (refused !== undefined) {
    faults.push({ index, field: 'path', line: 1, column: 1, message: refused.why, fix: refused.fix });
  } else if (path !== undefined) {
    pushMisspelt(path, [], { index, field: 'path', found, target });
  }
  const forward = compileText(entry.expression, { index, field: 'expression', found });
  const back = compileText(entry.reverseExpression, { index, field: 'reverseExpression', found });
  const reference = entry.reference && compileReference(index, entry.reference, found);
  for (const field of referencePaths) {
    const below = reference?.[field];
    if (below !== undefined && path !== undefined && refused === undefined)
      pushMisspelt(below, path.segments, { index, field, found, target });
  }
  if (path === undefined || faults.length > before) return undefined;
  const isLabels = entry.labels !== undefined;
  const matching = {
    forward: { createMissing: entry.onMissing === 'create', withPaths: forward?.usesPath === true },
    back: { createMissing: false, withPaths: back?.usesPath === true },
  };
  return { index, path, matching, entry, forward, back, reference, isLabels, parts: partsOf(path) };
}

const referencePaths = ['namePath', 'namespacePath', 'kindPath', 'apiVersionPath'] as const;

/** A field that the kind does not have, and whose name is nearly one that it has: such a patch would never be applied. */
function pushMisspelt(
  { segments, text }: CompiledPath,
  before: readonly Segment[],
  { index, field, found, target }: At & { target: PatchTarget },
): void {
  const whole = [...before, ...segments];
  const reached = reach(whole, target);
  // A fault in the path before is reported there.
  const wrong = reached.kind === 'nowhere' && reached.at >= before.length ? whole[reached.at] : undefined;
  if (reached.kind !== 'nowhere' || wrong?.kind !== 'key') return;
  const near = nearestKey(wrong.key, reached.fields);
  if (near === undefined) return;
  const parent = segmentsText(whole.slice(0, reached.at));
  const message = `no ${target.kind} has "${shown(wrong.key)}" below ${parent}`;
  const column = text.lastIndexOf(wrong.key) + 1;
  found.faults.push({ index, field, line: 1, column, message, fix: `did you mean ${near}?` });
}

interface At {
  index: number;
  field: PatchFault['field'];
  found: FoundFaults;
}

function compilePath(text: string, { index, field, found }: At): CompiledPath | undefined {
  const parsed = parsePath(text);
  if (parsed.kind === 'ok') return parsed.path;
  found.faults.push({ index, field, line: 1, column: parsed.column, message: parsed.message, fix: parsed.fix });
  return undefined;
}

function compileText(source: string | undefined, { index, field, found }: At): CompiledExpression | undefined {
  if (source === undefined || source === '') return undefined;
  const compiled = compileExpression(source);
  if (compiled.kind === 'ok') {
    const fault = functionFault(compiled.expression);
    if (fault !== undefined) found.faults.push({ index, field, ...fault });
    return compiled.expression;
  }
  for (const { line, column, message, fix } of compiled.faults)
    found.faults.push({ index, field, line, column, message, fix });
  found.more += compiled.more;
  return undefined;
}

function compileReference(index: number, reference: PatchReference, found: FoundFaults): CompiledReference {
  const path = (field: 'namePath' | 'namespacePath' | 'kindPath' | 'apiVersionPath'): CompiledPath | undefined =>
    reference[field] === undefined ? undefined : compilePath(reference[field], { index, field, found });
  return {
    reference,
    namePath: path('namePath'),
    namespacePath: path('namespacePath'),
    kindPath: path('kindPath'),
    apiVersionPath: path('apiVersionPath'),
  };
}

export function patchSetOf(patches: readonly CompiledPatch[]): PatchSet {
  const owners = { labels: ownersOf(patches, 'labels'), annotations: ownersOf(patches, 'annotations') };
  const reversed = new Set(patches.flatMap(({ back, path }) => (back === undefined ? [] : [path.canonical])));
  return {
    patches,
    isReversed: ({ canonical }) => reversed.has(canonical),
    expressions: patches.flatMap(({ forward, back }) => [forward, back]).filter((one) => one !== undefined),
    ownerOf: (map, hostKey) => owners[map].named.get(hostKey) ?? owners[map].rest,
  };
}

/** Owners of the keys of one map: of keys that paths name, and of all others. */
interface Owners {
  named: ReadonlyMap<string, KeyOwner>;
  rest: KeyOwner | undefined;
}

function ownersOf(patches: readonly CompiledPatch[], map: 'labels' | 'annotations'): Owners {
  const named = new Map<string, KeyOwner>();
  const below = patches.filter(({ path: { segments } }) => segments.length === 3);
  for (const { path } of below) {
    const last = path.segments[2];
    if (last?.kind !== 'key' || named.has(last.key)) continue;
    const place = placeOf(map, last);
    const owner = ownerBy(below, place);
    if (owner === 'virtual' && isNamedForward(below, place)) named.set(last.key, 'virtualAlone');
    else if (owner !== undefined) named.set(last.key, owner);
  }
  const wide = below.filter(({ path }) => path.segments[2]?.kind === 'every');
  const rest = ownerBy(wide, placeOf(map, { kind: 'key', key: '' }));
  return { named, rest: rest ?? (isReversedAsWholeOnly(patches, map) ? 'host' : undefined) };
}

/** Whether the whole map has a reverse expression, alone or with more of the object, and no expression changes it as a whole forward. */
function isReversedAsWholeOnly(patches: readonly CompiledPatch[], map: MapName): boolean {
  const whole = patches.filter(({ path }) => isOfWholeMap(path) && mapsOnPath(path).includes(map));
  const isForward = ({ forward, isLabels, reference }: CompiledPatch) => forward !== undefined || isLabels || reference;
  return whole.some(({ back }) => back !== undefined) && !whole.some(isForward);
}

function placeOf(map: 'labels' | 'annotations', last: Segment): Segment[] {
  return [{ kind: 'key', key: 'metadata' }, { kind: 'key', key: map }, last];
}

/**
 * All entries on one path count as one rule, so a pair may be two entries. A pair on a wider path does not reverse what
 * an entry on a narrower path does forward: such a key is owned by the virtual side, or the tenant would get a value that
 * nothing has reversed.
 */
function ownerBy(patches: readonly CompiledPatch[], place: readonly Segment[]): KeyOwner | undefined {
  const directions = new Map<string, { forward: boolean; back: boolean }>();
  for (const patch of patches) {
    const { segments } = patch.path;
    if (!isExactly(segments, place)) continue;
    const path = JSON.stringify(segments);
    const { forward, back } = directions.get(path) ?? { forward: false, back: false };
    const isBothWays = patch.reference !== undefined;
    directions.set(path, {
      forward: forward || patch.forward !== undefined || isBothWays || patch.isLabels,
      back: back || patch.back !== undefined || isBothWays,
    });
  }
  const paths = [...directions.values()].filter(({ forward, back }) => forward || back);
  if (paths.length === 0) return undefined;
  const hasBackOnly = paths.some(({ forward }) => !forward);
  if (paths.some(({ back }) => !back) && !hasBackOnly) return 'virtual';
  return paths.some(({ forward }) => forward) ? 'shared' : 'host';
}

/** Whether an expression without a reverse one is written for this very key, and not for all keys of its map. */
function isNamedForward(patches: readonly CompiledPatch[], place: readonly Segment[]): boolean {
  const naming = patches.filter(
    ({ path: { segments } }) => segments.at(-1)?.kind === 'key' && isExactly(segments, place),
  );
  const withBack = naming.filter((patch) => patch.back !== undefined || patch.reference !== undefined);
  const reversed = new Set(withBack.map(({ path }) => JSON.stringify(path.segments)));
  return naming.some(({ path, forward }) => forward !== undefined && !reversed.has(JSON.stringify(path.segments)));
}

function isExactly(path: readonly Segment[], place: readonly Segment[]): boolean {
  if (path.length !== place.length) return false;
  return path.every((segment, at) => segment.kind === 'every' || segment.key === (place[at] as { key: string }).key);
}
