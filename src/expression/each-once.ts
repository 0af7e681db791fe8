// Where the values of a list repeat, each of them is sent to the sandbox once. In: groups. Out: for each the values
// that differ and the places that each stands for; on the way back, the results of all places from those that came. Pure.
import { type Answer, isList } from './answer.ts';
import type { ValueGroup } from './request.ts';

export interface EachOnce {
  values: readonly unknown[];
  /** For each of them. */
  places: readonly (readonly number[])[];
}

/** In lists of this length it is worth a look whether values repeat. */
const dedupeFrom = 64;
/** So many are looked at, and when no more than half of them differ, each value is sent once. */
const dedupeSample = 16;

/** By group; undefined where all values may as well be sent. */
export function eachOnceOf(groups: readonly ValueGroup[]): readonly (EachOnce | undefined)[] | undefined {
  // Mostly there is nothing to look at, and this is asked for every object.
  if (groups.every(({ values }) => values.length < dedupeFrom)) return undefined;
  const found = groups.map(eachOnce);
  return found.some((once) => once !== undefined) ? found : undefined;
}

/** Only where a value has the same result wherever it stands; objects would have to be compared part by part. */
function eachOnce({ values, missing, expression }: ValueGroup): EachOnce | undefined {
  if (values.length < dedupeFrom || missing !== undefined || expression.usesPath || !repeats(values)) return undefined;
  const placesOf = new Map<unknown, number[]>();
  for (const [at, value] of values.entries()) {
    if (typeof value === 'object' && value !== null) return undefined;
    const places = placesOf.get(value);
    if (places === undefined) placesOf.set(value, [at]);
    else places.push(at);
  }
  return { values: [...placesOf.keys()], places: [...placesOf.values()] };
}

/** Whether at least half of the first values stand there more than once. */
function repeats(values: readonly unknown[]): boolean {
  let repeated = 0;
  for (let at = 1; at < dedupeSample; at++) {
    // The rest of them would not be enough.
    if (repeated + dedupeSample - at < dedupeSample / 2) return false;
    for (let before = 0; before < at; before++) {
      if (values[before] !== values[at]) continue;
      repeated++;
      break;
    }
  }
  return repeated >= dedupeSample / 2;
}

/** The results of all values of a group, from those that came. */
export function spread(
  values: readonly unknown[],
  places: EachOnce['places'] | undefined,
  answer: Answer,
): readonly unknown[] {
  if (isList(answer) && places === undefined) return answer;
  const [changed, results] = isList(answer) ? [undefined, answer] : [answer.changed, answer.results];
  const all = [...values];
  for (let next = 0; next < results.length; next++) {
    const at = changed === undefined ? next : (changed[next] as number);
    const result = results[next];
    if (places === undefined) {
      all[at] = result;
      continue;
    }
    const isObject = typeof result === 'object' && result !== null;
    for (const place of places[at] as readonly number[]) all[place] = isObject ? structuredClone(result) : result;
  }
  return all;
}
