// A set of field paths as a trie. Its written form is FieldsV1: `f:name` for a member, `k:{…}` for the item with these keys,
// `v:…` for an item of a set, `.` for a field that is in the set together with fields below it.
import { isJsonObject, type Json, type JsonObject, setMember } from '../text/json.ts';

/** One step of a path, in the spelling of FieldsV1. */
export type PathStep = string;

export interface FieldSet {
  isMember: boolean;
  children: Map<PathStep, FieldSet>;
}

/** No API server accepts an object this deep, so a deeper stored set is refused. */
const maxDepth = 200;

export function emptySet(): FieldSet {
  return { isMember: false, children: new Map() };
}

export function isEmptySet(set: FieldSet): boolean {
  return !set.isMember && [...set.children.values()].every(isEmptySet);
}

export function insert(set: FieldSet, path: readonly PathStep[]): void {
  let node = set;
  for (const step of path) {
    const child = node.children.get(step) ?? emptySet();
    node.children.set(step, child);
    node = child;
  }
  node.isMember = true;
}

export function union(one: FieldSet, other: FieldSet): FieldSet {
  return combine(one, other, (a, b) => a || b);
}

export function difference(one: FieldSet, other: FieldSet): FieldSet {
  return combine(one, other, (a, b) => a && !b);
}

export function intersection(one: FieldSet, other: FieldSet): FieldSet {
  return combine(one, other, (a, b) => a && b);
}

export function equalSets(one: FieldSet, other: FieldSet): boolean {
  return isEmptySet(difference(one, other)) && isEmptySet(difference(other, one));
}

/** Every path in the set, in the order of insertion. */
export function pathsOf(set: FieldSet): PathStep[][] {
  const paths: PathStep[][] = [];
  const walk = (node: FieldSet, path: PathStep[]) => {
    if (node.isMember) paths.push(path);
    for (const [step, child] of node.children) walk(child, [...path, step]);
  };
  walk(set, []);
  return paths;
}

export function toFieldsV1(set: FieldSet): JsonObject {
  const json: JsonObject = {};
  for (const [step, child] of [...set.children].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (isEmptySet(child)) continue;
    const below = toFieldsV1(child);
    const hasMore = Object.keys(below).length > 0;
    setMember(json, step, child.isMember && hasMore ? { '.': {}, ...below } : below);
  }
  return json;
}

/** Undefined when the value is not valid FieldsV1. */
export function fromFieldsV1(json: unknown): FieldSet | undefined {
  return isJsonObject(json) ? nodeOf(json, 0) : undefined;
}

/** The form of conflict messages: `.metadata.labels.app`, `.spec.ports[port=80,protocol="TCP"].name`. */
export function pathText(path: readonly PathStep[]): string {
  return path.map(stepText).join('');
}

function nodeOf(json: JsonObject, depth: number): FieldSet | undefined {
  if (depth > maxDepth) return undefined;
  const node = emptySet();
  for (const [step, below] of Object.entries(json)) {
    if (!isJsonObject(below)) return undefined;
    if (step === '.') continue;
    if (!/^[fkvi]:/.test(step)) return undefined;
    const child = nodeOf(below, depth + 1);
    if (child === undefined) return undefined;
    child.isMember = Object.keys(below).length === 0 || Object.hasOwn(below, '.');
    node.children.set(step, child);
  }
  return node;
}

function combine(one: FieldSet, other: FieldSet, decide: (a: boolean, b: boolean) => boolean): FieldSet {
  const result = { isMember: decide(one.isMember, other.isMember), children: new Map<PathStep, FieldSet>() };
  for (const step of new Set([...one.children.keys(), ...other.children.keys()])) {
    const child = combine(one.children.get(step) ?? noFields, other.children.get(step) ?? noFields, decide);
    if (child.isMember || child.children.size > 0) result.children.set(step, child);
  }
  return result;
}

/** A shared constant; must never be changed. */
const noFields: FieldSet = emptySet();

function stepText(step: PathStep): string {
  const text = step.slice(2);
  switch (step.slice(0, 2)) {
    case 'f:':
      return `.${text}`;
    case 'v:':
      return `[=${text}]`;
    case 'i:':
      return `[${text}]`;
    default: {
      const keys = JSON.parse(text) as Record<string, Json>;
      return `[${Object.entries(keys)
        .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
        .join(',')}]`;
    }
  }
}
