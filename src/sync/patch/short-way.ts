// A pass without lists: where every patch is a simple expression for single labels, annotations and fields, each value is
// answered where it stands, in a copy of the draft. In: what a pass gets. Out: the parts as patched, or undefined: something
// came up that only the long way can tell or settle, and it begins anew. Nothing is counted of what was given up.
import type { Shortcuts } from '../../expression/evaluator.ts';
import { shortcutLimits } from '../../expression/limits.ts';
import { answerFor, type Rewrite, rewriteOf, type Tally } from '../../expression/rewrite.ts';
import type { Shortcut, Sight } from '../../expression/shortcut.ts';
import { unknown } from '../../expression/shortcut-operators.ts';
import { copyJson, type JsonObject } from '../../object/json.ts';
import type { Draft } from '../draft.ts';
import { isOfWholeMap, type MapName, type Part } from './dirty.ts';
import type { ForwardInput, PatcherOptions } from './pass.ts';
import type { CompiledPatch } from './patch-set.ts';
import { problemOfResult } from './validate-result.ts';

type Parts = Pick<Draft, Part>;

/** What is being made: a part is the draft's own until something in it changes. */
interface Making extends Parts {
  /** Of the payload, once a patch looks into it. */
  copy: JsonObject | undefined;
  draft: Draft;
}

/** False when it does not know. */
type Step = (made: Making, sight: Sight, tally: Tally) => boolean;

interface SimplePatch {
  index: number;
  step: Step;
  /** Of a field: whether it has few enough values. */
  fits: ((payload: JsonObject) => boolean) | undefined;
  /** Parts of its expression. */
  parts: number;
  tally: Tally;
}

export type ShortWay = (input: ForwardInput) => Parts | undefined;

/** Undefined when one of the patches is none of the simple ones: they can only all go one way. */
export function shortWayOf(
  patches: readonly CompiledPatch[],
  options: {
    shortcuts: Shortcuts | undefined;
    counts: PatcherOptions['counts'];
    /** What expressions can see of the two objects. */
    seenOf: (input: ForwardInput) => Parameters<Shortcuts['sightOf']>[0];
  },
): ShortWay | undefined {
  const { shortcuts, counts, seenOf } = options;
  if (shortcuts === undefined) return undefined;
  const simple: SimplePatch[] = [];
  for (const patch of patches) {
    const shortcut = patch.forward && shortcuts.of(patch.forward);
    const way = shortcut && wayOf(patch, shortcut);
    if (shortcut === undefined || way === undefined) return undefined;
    simple.push({ index: patch.index, ...way, parts: shortcut.steps, tally: { values: 0, changes: 0 } });
  }
  // What would never fit must not be begun each time.
  const leastParts = simple.reduce((sum, { parts }) => sum + parts, 0);
  if (leastParts > shortcutLimits.room / 2) return undefined;
  return (input) => {
    const { draft } = input;
    const payload = draft.payload as JsonObject;
    if (!shortcuts.hasRoomFor(leastParts) || simple.some(({ fits }) => fits?.(payload) === false)) return undefined;
    const made = { ...partsOf(draft), copy: undefined, draft };
    const isKnown = runAll(simple, made, { shortcuts, sight: shortcuts.sightOf(seenOf(input)) });
    if (!isKnown || problemOfResult(made, draft) !== undefined) return undefined;
    for (const { index, tally } of simple) {
      counts.evaluated(index, tally.values);
      counts.changed(index, tally.changes);
    }
    return partsOf(made);
  };
}

function runAll(
  simple: readonly SimplePatch[],
  made: Making,
  { shortcuts, sight }: { shortcuts: Shortcuts; sight: Sight },
): boolean {
  let [ran, values] = [0, 0];
  let isKnown = true;
  for (const { step, parts, tally } of simple) {
    tally.values = 0;
    tally.changes = 0;
    isKnown = shortcuts.hasRoomFor(ran + parts) && step(made, sight, tally);
    ran += parts * tally.values;
    values += tally.values;
    if (!isKnown) break;
  }
  shortcuts.ran(ran, isKnown ? values : 0);
  return isKnown;
}

function partsOf({ labels, annotations, payload }: Parts): Parts {
  return { labels, annotations, payload };
}

function wayOf(patch: CompiledPatch, shortcut: Shortcut): Pick<SimplePatch, 'step' | 'fits'> | undefined {
  const { path, forward, matching } = patch;
  if (forward === undefined || forward.usesPath || isOfWholeMap(path)) return undefined;
  const { createMissing = false } = matching.forward;
  const [root, map, key] = path.segments;
  if (root?.kind !== 'key') return undefined;
  if (root.key !== 'metadata') {
    const rewrite = rewriteOf(path, { shortcut, createMissing });
    return rewrite && { step: atFields(rewrite), fits: rewrite.fits };
  }
  if (map?.kind !== 'key' || key?.kind !== 'key' || path.segments.length > 3) return undefined;
  return { step: atEntry(map.key as MapName, key.key, { shortcut, createMissing }), fits: undefined };
}

function atFields({ run }: Rewrite): Step {
  return (made, sight, tally) => {
    made.copy ??= copyJson(made.draft.payload as JsonObject);
    const isKnown = run(made.copy, sight, tally);
    if (tally.changes > 0) made.payload = made.copy;
    return isKnown;
  };
}

function atEntry(
  map: MapName,
  key: string,
  { shortcut, createMissing }: { shortcut: Shortcut; createMissing: boolean },
): Step {
  return (made, sight, tally) => {
    const before = made[map].get(key);
    if (before === undefined && !createMissing) return true;
    tally.values++;
    const result = answerFor(before, shortcut, sight);
    if (result === unknown) return false;
    if (result === before || (result === null && before === undefined)) return true;
    // Anything else is no label or annotation, which the long way knows how to say.
    if (typeof result !== 'string' && result !== null) return false;
    const entries = ownEntries(made, map);
    if (result === null) entries.delete(key);
    else entries.set(key, result);
    tally.changes++;
    return true;
  };
}

function ownEntries(made: Making, map: MapName): Map<string, string> {
  if (made[map] === made.draft[map]) made[map] = new Map(made[map]);
  return made[map] as Map<string, string>;
}
