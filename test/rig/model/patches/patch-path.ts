// The path grammar of patches (spec/patches.md 1, DESIGN 4.2), and the places in an object that a path matches.

import { isMap } from '../words/json.ts';

export interface Segment {
  readonly key: string;
  readonly isWild: boolean;
}

/** A scan of characters with two states, as vCluster has it; quotes may be single or double. */
export function segmentsOf(text: string): readonly Segment[] {
  const segments: Segment[] = [];
  let here = '';
  let quote = '';
  let wasQuoted = false;
  let isInBracket = false;
  const close = (): void => {
    if (here !== '' || wasQuoted) segments.push({ key: here, isWild: here === '*' && !wasQuoted });
    here = '';
    wasQuoted = false;
  };
  for (const char of text.trim()) {
    if (quote !== '') {
      if (char === quote) quote = '';
      else here += char;
    } else if (char === '"' || char === "'") {
      quote = char;
      wasQuoted = true;
    } else if (char === '[' && !isInBracket) {
      close();
      isInBracket = true;
    } else if (char === ']' && isInBracket) {
      close();
      isInBracket = false;
    } else if (char === '.' && !isInBracket) close();
    else here += char;
  }
  close();
  return segments;
}

export interface Match {
  readonly parent: unknown;
  readonly key: string | number;
  readonly exists: boolean;
  readonly path: readonly (string | number)[];
}

const MAX_INDEX = 9;

const indexIn = (list: readonly unknown[], key: string): number | undefined => {
  if (!/^\d+$/u.test(key) || key.length > MAX_INDEX || Number(key) >= list.length) return undefined;
  return Number(key);
};

/** The keys of one node that a segment picks: lists in their order, maps by sorted key. */
function picked(node: unknown, segment: Segment): readonly (string | number)[] {
  if (Array.isArray(node)) {
    if (segment.isWild) return node.map((_, at) => at);
    const at = indexIn(node, segment.key);
    return at === undefined ? [] : [at];
  }
  if (!isMap(node)) return [];
  if (segment.isWild) return Object.keys(node).sort();
  return Object.hasOwn(node, segment.key) ? [segment.key] : [];
}

const at = (node: unknown, key: string | number): unknown => (node as Record<string | number, unknown>)[key];

/** All places that the path matches; with `creates`, a missing last key of a map that is there as well. */
export function matchesOf(root: unknown, segments: readonly Segment[], creates: boolean): readonly Match[] {
  let nodes: { readonly value: unknown; readonly path: readonly (string | number)[] }[] = [{ value: root, path: [] }];
  for (const segment of segments.slice(0, -1)) {
    nodes = nodes.flatMap((node) =>
      picked(node.value, segment).map((key) => ({ value: at(node.value, key), path: [...node.path, key] })),
    );
  }
  const last = segments.at(-1);
  if (last === undefined) return [];
  return nodes.flatMap((node): Match[] => {
    const keys = picked(node.value, last);
    if (keys.length > 0)
      return keys.map((key) => ({ parent: node.value, key, exists: true, path: [...node.path, key] }));
    if (!creates || last.isWild || !isMap(node.value)) return [];
    return [{ parent: node.value, key: last.key, exists: false, path: [...node.path, last.key] }];
  });
}

export const printedPath = (path: readonly (string | number)[]): string =>
  path.map((part) => (/[.[\]]/u.test(String(part)) ? `"${part}"` : String(part))).join('.');
