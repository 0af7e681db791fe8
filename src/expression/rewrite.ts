// Answers a shortcut at every place of a path, right where the values stand. In: a path, a shortcut. Out: what rewrites an
// object and counts, or says that it does not know; the object is then half done and nobody's to use. What a list of matches
// is needed for (whole maps, deleted elements, many values, names of places) is not for here.
import { isRecord } from '../object/json.ts';
import { shortcutLimits } from './limits.ts';
import type { CompiledPath, JsonMap } from './path.ts';
import { isSpecialKey } from './path-grammar.ts';
import type { Shortcut, Sight } from './shortcut.ts';
import { unknown } from './shortcut-operators.ts';

export interface Tally {
  values: number;
  changes: number;
}

export interface Rewrite {
  /** How many values it could meet; undefined when they are too many. To be asked before anything is copied for it. */
  places(root: JsonMap): number | undefined;
  /** False when it does not know. */
  run(root: JsonMap, sight: Sight, tally: Tally): boolean;
}

export interface RewriteOptions {
  shortcut: Shortcut;
  createMissing: boolean;
}

/** Undefined for paths that lead to whole objects or elements of lists, or whose keys lists have too. */
export function rewriteOf({ segments }: CompiledPath, options: RewriteOptions): Rewrite | undefined {
  const last = segments.at(-1);
  if (last?.kind !== 'key' || segments.some((segment) => segment.kind === 'key' && isSpecialKey(segment.key)))
    return undefined;
  let count: Count = (_, before) => before + 1;
  let run: Walk = atKey(last.key, options);
  for (const segment of segments.slice(0, -1).reverse()) {
    count = segment.kind === 'key' ? countBelow(segment.key, count) : countAtEvery(count);
    run = segment.kind === 'key' ? below(segment.key, run) : everyElement(run);
  }
  const places: Rewrite['places'] = (root) => {
    const found = count(root, 0);
    return found <= shortcutLimits.fewValues ? found : undefined;
  };
  return { places, run };
}

/** The places below a node and those before; stops where they are too many. */
type Count = (node: unknown, before: number) => number;

function countBelow(key: string, next: Count): Count {
  return (node, before) => (isRecord(node) ? next(node[key], before) : before);
}

function countAtEvery(next: Count): Count {
  return (node, before) => {
    // The members of a map are taken by sorted key.
    if (!Array.isArray(node)) return isRecord(node) ? tooMany : before;
    let count = before;
    // An element counts, whatever is in it: it takes a look.
    for (let index = 0; index < node.length && count <= shortcutLimits.fewValues; index++)
      count = Math.max(next(node[index], count), count + 1);
    return count;
  };
}

const tooMany = Number.POSITIVE_INFINITY;

type Walk = (node: unknown, sight: Sight, tally: Tally) => boolean;

function below(key: string, next: Walk): Walk {
  return (node, sight, tally) => !isRecord(node) || next(node[key], sight, tally);
}

function everyElement(next: Walk): Walk {
  return (node, sight, tally) => {
    if (!Array.isArray(node)) return !isRecord(node);
    for (let index = 0; index < node.length; index++) if (!next(node[index], sight, tally)) return false;
    return true;
  };
}

function atKey(key: string, { shortcut, createMissing }: RewriteOptions): Walk {
  return (node, sight, tally) => {
    if (!isRecord(node)) return true;
    const before = node[key];
    if (before === undefined && !createMissing) return true;
    tally.values++;
    const result = answerFor(before, shortcut, sight);
    if (result === unknown) return false;
    if (result === null) {
      if (before === undefined) return true;
      delete node[key];
    } else {
      if (result === before) return true;
      node[key] = result;
    }
    tally.changes++;
    return true;
  };
}

/** Undefined is a value that is not there. */
export function answerFor(value: unknown, { answer }: Shortcut, sight: Sight): ReturnType<Shortcut['answer']> {
  sight.value = value === undefined ? null : value;
  sight.valueExists = value !== undefined;
  return answer(sight);
}
