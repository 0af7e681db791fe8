// Compiles a path into a walk over an object. In: the text of a path. Out: a function that lists every match in an object as
// parent, key and value, arrays in order and maps by sorted key. A missing path is an empty result, never an error.
// jsonpath-plus parses each path too, without evaluation, as a check of our parser. Must know no kind.
import { JSONPath } from 'jsonpath-plus';
import { isRecord } from '../../object/text/json.ts';
import {
  arrayIndex,
  isSpecialKey,
  type PathFault,
  parseSegments,
  pathText,
  type Segment,
  segmentsText,
} from './path-grammar.ts';

export type JsonMap = Record<string, unknown>;

/** The matches in one object, column by column: a thousand matches are five arrays, not a thousand objects. */
export interface Matches {
  /** The object itself for the empty path; a result then replaces its top-level keys one by one. */
  whole: JsonMap | undefined;
  parents: (JsonMap | unknown[])[];
  keys: readonly (string | number)[];
  values: unknown[];
  /** The indexes of matches whose key is missing; their value is null. Only filled with createMissing. */
  missing: ReadonlySet<number> | undefined;
  /** The concrete paths; only filled with withPaths. */
  paths: string[] | undefined;
}

export interface MatchOptions {
  /** Also match the last key where its map lacks it. */
  createMissing?: boolean;
  withPaths?: boolean;
}

export interface CompiledPath {
  /** The text as written, without blanks around it. */
  text: string;
  /** The spelling that all equivalent paths share. */
  canonical: string;
  segments: readonly Segment[];
  match(root: JsonMap, options?: MatchOptions): Matches;
}

export type ParsedPath = { kind: 'ok'; path: CompiledPath } | PathFault;

export function parsePath(text: string): ParsedPath {
  const parsed = parseSegments(text);
  if (parsed.kind === 'fault') return parsed;
  const { segments } = parsed;
  if (!isReadAlike(segments)) {
    return { kind: 'fault', column: 1, message: 'path can be read in two ways', fix: 'quote its keys' };
  }
  const walk = compile(segments);
  const path: CompiledPath = {
    text: text.trim(),
    canonical: segmentsText(segments),
    segments,
    match: (root, options = {}) => collect(walk, root, options),
  };
  return { kind: 'ok', path };
}

/** Characters with a special meaning in jsonpath-plus, even between quotes. */
const ambiguousInJsonPath = /['"`,;#%()^~@$*?\\[\]:]|\.\./;

/** Whether jsonpath-plus agrees with our parser. Only for texts of the configuration, because its cache never shrinks. */
function isReadAlike(segments: readonly Segment[]): boolean {
  if (segments.some((segment) => segment.kind === 'key' && ambiguousInJsonPath.test(segment.key))) return true;
  const text = segments.map((segment) => (segment.kind === 'every' ? '[*]' : `['${segment.key}']`)).join('');
  const tokens = JSONPath.toPathArray(`$${text}`).slice(1);
  const isSame = (token: string, segment: Segment | undefined) =>
    token === (segment?.kind === 'every' ? '*' : segment?.key);
  return tokens.length === segments.length && tokens.every((token, at) => isSame(token, segments[at]));
}

interface MatchSink extends Matches {
  keys: (string | number)[];
  /** The walk adds to this set. A copy for each match would take seconds for a list of 20,000. */
  missing: Set<number> | undefined;
  createMissing: boolean;
  trail: (string | number)[] | undefined;
}

type PathWalk = (node: unknown, sink: MatchSink) => void;

/** Shared by all empty results, because many walks run and each new array costs time. */
const nothing: never[] = Object.freeze([]) as unknown as never[];

function collect(walk: PathWalk | undefined, root: JsonMap, options: MatchOptions): Matches {
  const withPaths = options.withPaths === true;
  const sink: MatchSink = {
    whole: walk === undefined ? root : undefined,
    parents: nothing,
    keys: nothing,
    values: walk === undefined ? [root] : nothing,
    missing: undefined,
    paths: withPaths ? (walk === undefined ? [''] : []) : undefined,
    createMissing: options.createMissing === true,
    trail: withPaths ? [] : undefined,
  };
  walk?.(root, sink);
  return sink;
}

/** Builds the walk from the last segment to the first; undefined for the empty path. */
function compile(segments: readonly Segment[]): PathWalk | undefined {
  let walk: PathWalk | undefined;
  let keysBehind: string[] | undefined = [];
  for (const segment of [...segments].reverse()) {
    if (segment.kind === 'key') {
      walk = walk === undefined ? lastKey(segment.key) : oneKey(segment.key, descend(walk));
      keysBehind?.unshift(segment.key);
      continue;
    }
    const slow: PathWalk = walk === undefined ? everyElement(take) : everyElement(descend(walk));
    walk = keysBehind === undefined || keysBehind.length === 0 ? slow : elementsThenKeys(keysBehind, slow);
    keysBehind = undefined;
  }
  return walk === undefined || keysBehind === undefined ? walk : keysOnly(keysBehind, walk);
}

const firstOnly = new Set([0]);

/** A fast walk for paths of map keys only, which are the most common: one loop and at most one match. */
function keysOnly(keys: readonly string[], slow: PathWalk): PathWalk {
  const last = keys[keys.length - 1] as string;
  if (keys.some(isSpecialKey)) return slow;
  // All results share lastOnly and firstOnly, because this walk ends after one match and never adds to them.
  const lastOnly = [last];
  return (node, sink) => {
    if (sink.trail !== undefined) {
      slow(node, sink);
      return;
    }
    let parent = node;
    for (let at = 0; at < keys.length - 1; at++) {
      if (!isRecord(parent)) return;
      parent = parent[keys[at] as string];
    }
    if (!isRecord(parent)) return;
    let value = parent[last];
    if (value === undefined) {
      if (!sink.createMissing) return;
      value = null;
      sink.missing = firstOnly;
    }
    sink.parents = [parent];
    sink.keys = lastOnly;
    sink.values = [value];
  };
}

/**
 * A fast walk for the common end of a path, `[*].a.b` over an array of maps: one loop with a turn for each address, instead of
 * four calls for each address. All other cases take the slow walk.
 */
function elementsThenKeys(keys: readonly string[], slow: PathWalk): PathWalk {
  const last = keys[keys.length - 1] as string;
  if (keys.some(isSpecialKey)) return slow;
  return (node, sink) => {
    if (sink.trail !== undefined || sink.createMissing || !Array.isArray(node)) {
      slow(node, sink);
      return;
    }
    if (node.length === 0) return;
    let count = sink.values.length;
    if (count === 0) {
      // Usually every element matches. An array that grows by push() would reserve room for seventeen entries.
      sink.parents = new Array(node.length);
      sink.keys = new Array(node.length);
      sink.values = new Array(node.length);
    }
    const { parents, keys: found, values } = sink;
    for (let index = 0; index < node.length; index++) {
      let parent: unknown = node[index];
      for (let at = 0; at < keys.length - 1 && isRecord(parent); at++) parent = parent[keys[at] as string];
      if (!isRecord(parent)) continue;
      const value = parent[last];
      if (value === undefined) continue;
      parents[count] = parent;
      found[count] = last;
      values[count] = value;
      count++;
    }
    // Setting an unchanged length costs more than the loop over a short list.
    if (values.length === count) return;
    parents.length = count;
    found.length = count;
    values.length = count;
  };
}

type Visit = (container: JsonMap | unknown[], key: string | number, value: unknown, sink: MatchSink) => void;

const take: Visit = (container, key, value, sink) => {
  if (sink.values.length === 0) {
    // Most paths match once, and a literal array is smaller than one that grows by push().
    sink.parents = [container];
    sink.keys = [key];
    sink.values = [value];
  } else {
    sink.parents.push(container);
    sink.keys.push(key);
    sink.values.push(value);
  }
  if (sink.paths !== undefined && sink.trail !== undefined) {
    sink.trail.push(key);
    sink.paths.push(pathText(sink.trail));
    sink.trail.pop();
  }
};

function descend(next: PathWalk): Visit {
  return (_container, key, value, sink) => {
    if (typeof value !== 'object' || value === null) return;
    sink.trail?.push(key);
    next(value, sink);
    sink.trail?.pop();
  };
}

function everyElement(visit: Visit): PathWalk {
  return (node, sink) => {
    if (Array.isArray(node)) {
      for (let index = 0; index < node.length; index++) visit(node, index, node[index], sink);
      return;
    }
    const map = node as JsonMap;
    for (const key of Object.keys(map).sort()) {
      // JSON can contain the key __proto__, but an assignment to it would change the prototype.
      if (key !== '__proto__' && map[key] !== undefined) visit(map, key, map[key], sink);
    }
  };
}

function oneKey(key: string, visit: Visit): PathWalk {
  const index = arrayIndex.test(key) ? Number(key) : -1;
  const isInherited = key in Object.prototype;
  return (node, sink) => {
    if (Array.isArray(node)) {
      if (index >= 0 && index < node.length) visit(node, index, node[index], sink);
      return;
    }
    const map = node as JsonMap;
    const value = map[key];
    if (value !== undefined && (!isInherited || Object.hasOwn(map, key))) visit(map, key, value, sink);
  };
}

function lastKey(key: string): PathWalk {
  const takeExisting = oneKey(key, take);
  return (node, sink) => {
    const before = sink.values.length;
    takeExisting(node, sink);
    if (!sink.createMissing || sink.values.length > before || Array.isArray(node)) return;
    sink.missing ??= new Set();
    sink.missing.add(sink.values.length);
    take(node as JsonMap, key, null, sink);
  };
}
