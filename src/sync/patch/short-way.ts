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
import { isOfWholeMap, type MapName, type Part } from './changed-parts.ts';
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
  /** Of fields; a label or an annotation is one place. */
  places: Rewrite['places'] | undefined;
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
  return (input) => {
    const { draft } = input;
    // What does not fit must not be begun.
    const mostParts = partsAtMost(simple, draft.payload as JsonObject);
    if (!shortcuts.hasRoomFor(mostParts)) return undefined;
    const made = { ...partsOf(draft), copy: undefined, draft };
    const values = runAll(simple, made, shortcuts.sightOf(seenOf(input)));
    const isGood = values !== undefined && problemOfResult(made, draft) === undefined;
    shortcuts.ran(mostParts, isGood ? values : 0);
    if (!isGood) return undefined;
    for (const { index, tally } of simple) {
      counts.evaluated(index, tally.values);
      counts.changed(index, tally.changes);
    }
    return partsOf(made);
  };
}

/** Of expressions, for every value that there could be; more than all room where a list is too long. */
function partsAtMost(simple: readonly SimplePatch[], payload: JsonObject): number {
  let sum = 0;
  for (const { parts, places } of simple) {
    const count = places === undefined ? 1 : places(payload);
    sum += count === undefined ? Number.POSITIVE_INFINITY : parts * Math.max(count, 1);
    if (sum > shortcutLimits.room) break;
  }
  return sum;
}

/** How many values there were; undefined when one of the results is not known. */
function runAll(simple: readonly SimplePatch[], made: Making, sight: Sight): number | undefined {
  let values = 0;
  for (const { step, tally } of simple) {
    tally.values = 0;
    tally.changes = 0;
    if (!step(made, sight, tally)) return undefined;
    values += tally.values;
  }
  return values;
}

function partsOf({ labels, annotations, payload }: Parts): Parts {
  return { labels, annotations, payload };
}

function wayOf(patch: CompiledPatch, shortcut: Shortcut): Pick<SimplePatch, 'step' | 'places'> | undefined {
  const { path, forward, matching } = patch;
  if (forward === undefined || forward.usesPath || isOfWholeMap(path)) return undefined;
  const { createMissing = false } = matching.forward;
  const [root, map, key] = path.segments;
  if (root?.kind !== 'key') return undefined;
  if (root.key !== 'metadata') {
    const rewrite = rewriteOf(path, { shortcut, createMissing });
    return rewrite && { step: atFields(rewrite), places: rewrite.places };
  }
  if (map?.kind !== 'key' || key?.kind !== 'key' || path.segments.length > 3) return undefined;
  return { step: atEntry(map.key as MapName, key.key, { shortcut, createMissing }), places: undefined };
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
