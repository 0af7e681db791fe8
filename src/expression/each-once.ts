// Where the values of a list repeat, each of them is sent to the sandbox once. In: the values of a group. Out: those that
// differ and the places that each stands for; and on the way back, the results of all places from those that came. Pure.
import type { Answer } from './answer.ts';

export interface EachOnce {
  values: readonly unknown[];
  /** For each of them. */
  places: readonly (readonly number[])[];
}

/** In lists of this length it is worth a look whether values repeat. */
const dedupeFrom = 64;
/** So many are looked at, and when no more than half of them differ, each value is sent once. */
const dedupeSample = 16;

/** Undefined where all may as well be sent. */
export function eachOnce(values: readonly unknown[]): EachOnce | undefined {
  if (values.length < dedupeFrom || !repeats(values)) return undefined;
  const placesOf = new Map<unknown, number[]>();
  for (const [at, value] of values.entries()) {
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

/** The results of all values of a group, from those that changed. */
export function spread(values: readonly unknown[], places: EachOnce['places'] | undefined, answer: Answer): unknown[] {
  const { changed, results } = answer;
  if (changed === 0 && places === undefined) return results;
  const all = [...values];
  for (let next = 0; next < results.length; next++) {
    const at = changed === 0 ? next : (changed[next] as number);
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
