// Tries what reverse expressions do to host values that their expressions cannot have made: texts of many kinds, and what becomes of
// real results when somebody adds, changes or removes a character. In: a patch set and an evaluator. Out: for each pair the first host
// value of which the tenant would get only a part, and an expression that fails instead.
import { compileExpression } from '../../../expression/language/compile.ts';
import type { CompiledPatch } from '../set/patch-set.ts';
import { examplesOf, isLabelValue, mayBe, type Pair, textsFor, valuesOf } from './round-trip.ts';
import { runOnSamples, type Trial } from './sample-run.ts';

/** A host value that somebody may write by hand, and of which the tenant would get only a part. */
export interface CutExample {
  back: CompiledPatch;
  onHost: string;
  /** null when the tenant's value is removed. */
  returned: string | null;
  /** The reverse expression, made to fail for such values; undefined where it would be too long to read. */
  mended: string | undefined;
}

export async function findCuts(patches: readonly CompiledPatch[], trial: Trial): Promise<CutExample[]> {
  return examplesOf(patches, trial, (pair) => cutExample(pair, trial));
}

async function cutExample(pair: Pair, trial: Trial): Promise<CutExample | undefined> {
  const { forward, back } = pair;
  const { canonical: path } = forward.path;
  const texts = textsFor(forward, back.back).filter((text) => text !== '');
  if (texts.length === 0 || forward.path.segments.length < keyDepth) return undefined;
  const made = valuesOf(await runOnSamples(trial, forward.forward, { values: texts, path }));
  const hosts = [...new Set([...texts, ...editsOf(made, isOfLabels(forward))])];
  const returned = await runOnSamples(trial, back.back, { values: hosts, path });
  const cut = hosts.flatMap((onHost, at) => {
    const result = returned[at];
    const value = result === undefined || 'error' in result ? onHost : result.value;
    return value === null || (typeof value === 'string' && isPartOf(value, onHost))
      ? [{ onHost, returned: value }]
      : [];
  });
  if (cut.length === 0) return undefined;
  const values = cut.map(({ returned: value }) => value ?? '');
  const again = valuesOf(await runOnSamples(trial, forward.forward, { values, path }));
  // What the expression makes of the part is the host value again: then the expression can have made it.
  const example = cut.find((one, at) => one.returned === null || again[at] !== one.onHost);
  return example && { back, ...example, mended: mendedFor(pair) };
}

/** Labels and annotations are at this depth, below metadata and their map. */
const keyDepth = 3;

/** Results that are edited: each gives up to ten host values. */
const editedResults = 8;

function isOfLabels({ path: { segments } }: CompiledPatch): boolean {
  const [, map] = segments;
  return map !== undefined && !mayBe(map, 'annotations');
}

/** What somebody may make of a result by hand, without knowing how it was made. */
function editsOf(made: readonly unknown[], areLabels: boolean): string[] {
  const results = made.filter((one): one is string => typeof one === 'string' && one.length > 1);
  const edits = results.slice(0, editedResults).flatMap((text) => {
    const middle = Math.floor(text.length / 2);
    const around = [`x${text}`, `${text}x`, `x${text}x`, `x-${text}`, `${text}-x`, text + text];
    const inside = [`${text.slice(0, middle)}x${text.slice(middle)}`, text.slice(0, middle) + text.slice(middle + 1)];
    return [...around, ...inside, text.slice(1), text.slice(0, -1), `z${text.slice(1)}`, `${text.slice(0, -1)}z`];
  });
  return areLabels ? edits.filter(isLabelValue) : edits;
}

/** Whether a text is another one with some of its characters left out. */
function isPartOf(part: string, whole: string): boolean {
  if (part.length >= whole.length) return false;
  let at = 0;
  for (const character of whole) if (part.startsWith(character, at)) at += character.length;
  return at === part.length;
}

/** A longer line is no example that anybody reads. */
const mostCharacters = 240;

/** Whatever the two expressions do: what the expression does not make again from the result is not its own. */
function mendedFor({ forward, back }: Pair): string | undefined {
  const [there, thence] = [forward.forward.source.trim(), back.back.source.trim()];
  const text = `(() => { const own = ${thence}; if (((value) => ${there})(own) !== value) throw new Error("not made by the expression"); return own; })()`;
  const isReadable = text.length <= mostCharacters && !text.includes('\n');
  return isReadable && compileExpression(text).kind === 'ok' ? text : undefined;
}
