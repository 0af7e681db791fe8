// Computes the set of fields of a value, and the sets of fields that differ between two values. The ownership of fields is
// decided from these sets. Pure.
import { equalJson, isJsonObject, type Json, type JsonObject, memberOf } from '../text/json.ts';
import { emptySet, type FieldSet, insert, type PathStep } from './field-set.ts';
import { type FieldShape, isAtomic, memberShape } from './field-shape.ts';

export interface Comparison {
  added: FieldSet;
  modified: FieldSet;
  removed: FieldSet;
}

export function compareFields(before: Json | undefined, after: Json | undefined, shape: FieldShape): Comparison {
  const comparison = { added: emptySet(), modified: emptySet(), removed: emptySet() };
  compareAt({ before, after, shape, path: [] }, comparison);
  return comparison;
}

/** The fields that an apply of this value owns: every leaf, every item of a list with keys, every key of a map. */
export function appliedFields(value: Json, shape: FieldShape): FieldSet {
  const set = emptySet();
  collect(value, shape, [], set);
  return set;
}

/** The path steps of the items of a list; undefined when items have no distinct keys and the list counts as a whole. */
export function itemSteps(items: readonly Json[], shape: FieldShape): PathStep[] | undefined {
  if (shape.type !== 'list' || shape.listType === 'atomic') return undefined;
  const steps: PathStep[] = [];
  for (const item of items) {
    const step = shape.listType === 'set' ? `v:${JSON.stringify(item)}` : keyStep(item, shape);
    if (step === undefined) return undefined;
    steps.push(step);
  }
  return new Set(steps).size === steps.length ? steps : undefined;
}

interface ComparedField {
  before: Json | undefined;
  after: Json | undefined;
  shape: FieldShape;
  path: PathStep[];
}

function compareAt(field: ComparedField, comparison: Comparison): void {
  const { before, after, shape, path } = field;
  if (before === undefined && after === undefined) return;
  const children = childFields(field);
  if (children === undefined) {
    if (before === undefined) insert(comparison.added, path);
    else if (after === undefined) insert(comparison.removed, path);
    else if (!equalJson(before, after)) insert(comparison.modified, path);
    // When a leaf becomes a tree or a tree becomes a leaf, the fields below it were added or removed too.
    if (before !== undefined && after !== undefined) {
      for (const child of childFields({ before, after: undefined, shape, path }) ?? []) compareAt(child, comparison);
      for (const child of childFields({ before: undefined, after, shape, path }) ?? []) compareAt(child, comparison);
    }
    return;
  }
  for (const child of children) compareAt(child, comparison);
  if (path.length === 0) return;
  if (before === undefined) insert(comparison.added, path);
  else if (after === undefined) insert(comparison.removed, path);
}

/** The members or items on either side; undefined when the field is a leaf. */
function childFields({ before, after, shape, path }: ComparedField): ComparedField[] | undefined {
  if (isAtomic(shape) || (isVoid(before) && isVoid(after))) return undefined;
  const sides = [before, after].filter((side) => side !== undefined && side !== null);
  if (sides.every(isJsonObject)) {
    const names = new Set(sides.flatMap((side) => Object.keys(side)));
    return [...names].map((name) => ({
      before: isJsonObject(before) ? memberOf(before, name) : undefined,
      after: isJsonObject(after) ? memberOf(after, name) : undefined,
      shape: memberShape(shape, name),
      path: [...path, `f:${name}`],
    }));
  }
  if (!sides.every(Array.isArray) || shape.type !== 'list') return undefined;
  const olds = itemsByStep(before, shape);
  const news = itemsByStep(after, shape);
  if (olds === undefined || news === undefined) return undefined;
  return [...new Set([...olds.keys(), ...news.keys()])].map((step) => ({
    before: olds.get(step),
    after: news.get(step),
    shape: shape.items,
    path: [...path, step],
  }));
}

function collect(value: Json, shape: FieldShape, path: PathStep[], set: FieldSet): void {
  if (!isAtomic(shape) && isJsonObject(value)) {
    const isMap = shape.type !== 'object';
    for (const [name, member] of Object.entries(value)) {
      const below = [...path, `f:${name}`];
      collect(member, memberShape(shape, name), below, set);
      const isNamed = !isMap && shape.fields.has(name);
      if (!isNamed || (isJsonObject(member) && Object.keys(member).length === 0)) insert(set, below);
    }
    return;
  }
  const steps = Array.isArray(value) ? itemSteps(value, shape) : undefined;
  if (Array.isArray(value) && steps !== undefined && shape.type === 'list') {
    for (const [index, step] of steps.entries()) {
      insert(set, [...path, step]);
      collect(value[index] as Json, shape.items, [...path, step], set);
    }
    return;
  }
  insert(set, path);
}

function itemsByStep(list: Json | undefined, shape: FieldShape): Map<PathStep, Json> | undefined {
  if (!Array.isArray(list)) return new Map();
  const steps = itemSteps(list, shape);
  return steps === undefined ? undefined : new Map(steps.map((step, index) => [step, list[index] as Json]));
}

function keyStep(item: Json, shape: Extract<FieldShape, { type: 'list' }>): PathStep | undefined {
  if (!isJsonObject(item)) return undefined;
  const keys: JsonObject = {};
  for (const name of shape.mapKeys.toSorted()) {
    const value = memberOf(item, name) ?? shape.keyDefaults?.[name];
    if (value !== undefined) keys[name] = value;
  }
  return Object.keys(keys).length === 0 ? undefined : `k:${JSON.stringify(keys)}`;
}

function isVoid(value: Json | undefined): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
