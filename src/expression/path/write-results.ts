// Writes the results of a patch to the matches of its path: a value replaces the old value, null deletes it. Array elements
// are deleted after all writes, so that no index changes before a later write.
import type { JsonMap, Matches } from './path.ts';

export type Written = { kind: 'written'; changes: number } | { kind: 'fault'; message: string };

/** The results have the order of matches.values. They become part of the object, so the caller must not keep them. */
export function writeResults(matches: Matches, results: readonly unknown[]): Written {
  if (matches.whole !== undefined) return writeWhole(matches.whole, results[0]);
  let emptied: Map<unknown[], Set<number>> | undefined;
  let changes = 0;
  for (let at = 0; at < matches.values.length; at++) {
    const result = results[at] ?? null;
    const parent = matches.parents[at] as JsonMap | unknown[];
    if (result !== null) {
      if (result !== matches.values[at]) changes++;
      (parent as JsonMap)[matches.keys[at] as string] = result;
      continue;
    }
    if (matches.missing?.has(at)) continue;
    changes++;
    if (!Array.isArray(parent)) {
      delete parent[matches.keys[at] as string];
      continue;
    }
    emptied ??= new Map();
    const indexes = emptied.get(parent) ?? new Set();
    emptied.set(parent, indexes.add(matches.keys[at] as number));
  }
  for (const [array, indexes] of emptied ?? []) takeOut(array, indexes);
  return { kind: 'written', changes };
}

function takeOut(array: unknown[], indexes: ReadonlySet<number>): void {
  let kept = 0;
  for (let at = 0; at < array.length; at++) {
    if (!indexes.has(at)) array[kept++] = array[at];
  }
  array.length = kept;
}

/** As in vCluster, keys that the result omits stay, and a result of null changes nothing. */
function writeWhole(root: JsonMap, result: unknown): Written {
  if (result === null || result === undefined) return { kind: 'written', changes: 0 };
  if (typeof result !== 'object' || Array.isArray(result)) {
    const found = Array.isArray(result) ? 'an array' : `a ${typeof result}`;
    return { kind: 'fault', message: `replace the whole object: wanted an object as the result, found ${found}` };
  }
  let changes = 0;
  for (const [key, value] of Object.entries(result)) {
    if (key === '__proto__') continue;
    changes++;
    if (value === null || value === undefined) delete root[key];
    else root[key] = value;
  }
  return { kind: 'written', changes };
}
