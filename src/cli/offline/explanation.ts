// Builds the text of `render --explain`. In: trace entries while the patches run. Out: for each patch its matches, the values
// before and after, and its time. Values are not redacted, because the user has the configuration and the object anyway.

import type { Clock } from '../../clock.ts';
import { whyNoMatch } from '../../expression/path/why-no-match.ts';
import type { Key } from '../../object/meta/object.ts';
import { inQuotes } from '../../object/text/in-quotes.ts';
import { counted } from '../../object/text/in-words.ts';
import type { TraceEntry } from '../../sync/patch/entry/pass.ts';
import { notTriedAfter } from '../../sync/patch/set/failure.ts';
import type { PatchSet } from '../../sync/patch/set/patch-set.ts';

type Direction = 'forward' | 'back';

export interface ExplainedPatch {
  object: Key;
  direction: Direction;
  patch: number;
  path: string;
  /** Time of the calls to the sandbox process; a remembered answer takes almost no time. */
  tookMs: number;
  /** Why it was not tried, where an earlier patch ended the pass. */
  notTried?: string;
  /** Why its path matches nothing, where that is known. */
  whyNone?: string;
  matches: { at: string; before: unknown; after?: unknown; error?: string; failed?: TraceEntry['failed'] }[];
}

export class Explanation {
  readonly #clock: Clock;
  readonly #found = new Map<string, ExplainedPatch>();
  readonly #begun = new Set<string>();
  /** The patch that ended a pass, by direction and object. */
  readonly #endedBy = new Map<string, number>();
  /** What patches may see of each object, by direction and object. */
  readonly #left = new Set<string>();
  readonly #seen = new Map<string, object>();
  #now: { object: Key; direction: Direction; isRepeat: boolean } | undefined;
  #sinceMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Explains only the first pass over an object, because the daemon's rules run several passes. */
  begin(object: Key, direction: Direction): void {
    const id = `${direction} ${object}`;
    this.#now = { object, direction, isRepeat: this.#begun.has(id) };
    this.#begun.add(id);
    this.#sinceMs = this.#clock.now();
  }

  /** Call for an object that no patch has run for, because it is not on the other side. */
  left(object: Key, direction: Direction): void {
    this.#left.add(`${direction} ${object}`);
  }

  /** Call when the object is known: on its way to the host the copy, on its way back what was edited. */
  saw(object: Key, direction: Direction, seen: object): void {
    this.#seen.set(`${direction} ${object}`, seen);
  }

  add({ patch, path, at, before, after, error, failed, endsPass }: TraceEntry): void {
    const now = this.#now;
    if (now === undefined || now.isRepeat) return;
    const pass = `${now.direction} ${now.object}`;
    if (endsPass === true) this.#endedBy.set(pass, patch);
    const id = `${pass} ${patch}`;
    const { object, direction } = now;
    const explained = this.#found.get(id) ?? { object, direction, patch, path, tookMs: 0, matches: [] };
    this.#found.set(id, explained);
    const atMs = this.#clock.now();
    explained.tookMs += atMs - this.#sinceMs;
    this.#sinceMs = atMs;
    // Copies the values, because later patches write into them.
    const result = error === undefined ? { after: structuredClone(after) } : { error, ...(failed && { failed }) };
    explained.matches.push({ at, before: structuredClone(before), ...result });
  }

  patches(set: PatchSet): ExplainedPatch[] {
    return this.#passes(set).flatMap(({ object, direction, active }) =>
      active.map((one) => {
        const { index, entry } = one;
        const found = this.#found.get(`${direction} ${object} ${index}`);
        const notTried = this.#notTried(`${direction} ${object}`, index);
        const whyNone = this.#whyNone({ object, direction }, one);
        const why = notTried !== undefined ? { notTried } : whyNone === undefined ? {} : { whyNone };
        const nothing = { object, direction, patch: index, path: entry.path, tookMs: 0, ...why, matches: [] };
        return found === undefined ? nothing : { ...found, tookMs: Math.round(found.tookMs * 100) / 100 };
      }),
    );
  }

  #notTried(pass: string, patch: number): string | undefined {
    const endedBy = this.#endedBy.get(pass);
    return endedBy === undefined || endedBy >= patch ? undefined : notTriedAfter(endedBy);
  }

  #whyNone(
    { object, direction }: { object: Key; direction: Direction },
    { path, reference }: PatchSet['patches'][number],
  ): string | undefined {
    if (this.#left.has(`${direction} ${object}`)) return 'the object is not on the host, so no patch was run';
    const seen = this.#seen.get(`${direction} ${object}`);
    const missing = seen && whyNoMatch(path.segments, seen);
    if (missing !== undefined || direction === 'forward') return missing;
    const [root] = path.segments;
    const isPayload = root?.kind === 'key' && root.key !== 'metadata';
    if (isPayload) return `${root.key} never flows back`;
    // A name of the host itself stays as it is.
    return reference === undefined
      ? 'nobody has edited it on the host'
      : 'nobody has edited it on the host, or it names no copy';
  }

  #passes(set: PatchSet): { object: Key; direction: Direction; active: PatchSet['patches'] }[] {
    return [...this.#begun].map((id) => {
      const space = id.indexOf(' ');
      const direction = id.slice(0, space) as Direction;
      const active = set.patches.filter((patch) => runsIn(patch, direction));
      return { object: id.slice(space + 1) as Key, direction, active };
    });
  }

  /** Comment lines, so that the output remains valid YAML and a valid diff. */
  text(set: PatchSet): string {
    const lines: string[] = [];
    for (const { object, direction, active } of this.#passes(set)) {
      if (active.length === 0) continue;
      lines.push(`${object}, ${direction === 'forward' ? 'forward' : 'back to the virtual side'}:`);
      for (const one of active) {
        const { index, entry } = one;
        const found = this.#found.get(`${direction} ${object} ${index}`);
        const why = this.#whyNone({ object, direction }, one);
        const noMatch = `matched nothing${why === undefined ? '' : `: ${why}`}`;
        const nothing = this.#notTried(`${direction} ${object}`, index) ?? noMatch;
        const said = found === undefined ? nothing : `${countOf(found)}, ${found.tookMs.toFixed(1)} ms`;
        lines.push(`  patch ${index}, path ${inQuotes(entry.path)}: ${said}`);
        lines.push(...(found?.matches ?? []).slice(0, shownMatches).map((match) => `    ${matchText(match)}`));
        const more = (found?.matches.length ?? 0) - shownMatches;
        if (more > 0) lines.push(`    and ${more} more; -o json has them all`);
      }
    }
    return lines.map((line) => `# ${line}\n`).join('');
  }
}

/** One screen of matches is enough to understand a patch. */
const shownMatches = 20;
const shownCharacters = 100;

function runsIn(patch: PatchSet['patches'][number], direction: Direction): boolean {
  if (patch.reference !== undefined || patch.isLabels) return true;
  return (direction === 'forward' ? patch.forward : patch.back) !== undefined;
}

function countOf({ matches }: ExplainedPatch): string {
  const changed = matches.filter((one) => JSON.stringify(one.before) !== JSON.stringify(one.after));
  const failed = matches.filter((one) => one.error !== undefined);
  const places = counted(matches.length, 'place');
  return failed.length > 0 ? `${places}, ${failed.length} failed` : `${places}, ${changed.length} changed`;
}

function matchText({ at, before, after, error }: ExplainedPatch['matches'][number]): string {
  const place = at === '' ? 'the whole object' : at;
  if (error !== undefined) return `${place}: ${short(before)} failed: ${error}`;
  if (after === null || after === undefined) return `${place}: ${short(before)} deleted`;
  const isSame = JSON.stringify(before) === JSON.stringify(after);
  return isSame ? `${place}: ${short(before)} unchanged` : `${place}: ${short(before)} -> ${short(after)}`;
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters)}…`;
}
