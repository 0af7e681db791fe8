// Server-side apply: merges the fields that a manager wants into the object. Fields that the manager's previous apply had and
// this one lacks are removed, unless another manager owns them. A change of a field of another manager is a conflict, unless
// the apply is forced. Pure.
import { maxListedErrors } from '../meta/field-error.ts';
import type { KubeObject } from '../meta/object.ts';
import { applyConflict, type Status } from '../meta/status.ts';
import { copyJson, isJsonObject, type Json, type JsonObject, memberOf, setMember } from '../text/json.ts';
import { appliedFields, itemSteps } from './field-compare.ts';
import {
  difference,
  emptySet,
  equalSets,
  type FieldSet,
  insert,
  intersection,
  isEmptySet,
  type PathStep,
  pathsOf,
  pathText,
  union,
} from './field-set.ts';
import { anyShape, type FieldShape, isAtomic, memberShape } from './field-shape.ts';
import {
  compareObjects,
  encodeEntries,
  entriesForApply,
  type ManagedEntry,
  type ManagerOptions,
  ownable,
  takeAway,
} from './managed-fields.ts';

export type ApplyResult =
  | { ok: true; object: KubeObject; isChanged: boolean }
  | { ok: false; conflicts: { manager: string; path: string }[]; status: Status };

/** `live` undefined: the apply creates the object. Neither input is changed; `applied` must not carry managedFields. */
export function applyObject(
  live: KubeObject | undefined,
  applied: KubeObject,
  options: ManagerOptions & { force: boolean },
): ApplyResult {
  const shape = options.shape ?? anyShape;
  const entries = entriesForApply(live, options);
  const own = entries.find(
    (entry) =>
      entry.operation === 'Apply' &&
      entry.manager === options.manager &&
      entry.subresource === (options.subresource ?? ''),
  );
  const others = entries.filter((entry) => entry !== own);
  const wanted = ownable(appliedFields(applied as unknown as Json, shape));
  const merged = merge(live as unknown as Json | undefined, applied as unknown as Json, shape) as unknown as KubeObject;
  const { object, removed } =
    own === undefined
      ? { object: merged, removed: [] }
      : prune(merged, { own: own.fields, kept: ownedByAny(others, wanted), shape });

  const comparison = compareObjects(live, object, shape);
  const changed = union(comparison.added, comparison.modified);
  const conflicts = conflictsOf(others, changed);
  if (conflicts.length > 0 && !options.force) return { ok: false, ...describe(conflicts) };

  dropEmptied(object, removed);
  const remaining = takeAway(others, changed, comparison.removed, () => true);
  const isSame = live !== undefined && isEmptySet(changed) && isEmptySet(comparison.removed);
  const isSameOwner = own !== undefined && equalSets(own.fields, wanted) && own.apiVersion === options.apiVersion;
  const time = isSame && isSameOwner ? own.time : options.time;
  const { manager, apiVersion, subresource = '' } = options;
  if (!isEmptySet(wanted))
    remaining.push({ manager, operation: 'Apply', apiVersion, time, subresource, fields: wanted });
  const result = { ...object, metadata: { ...object.metadata, managedFields: encodeEntries(remaining) } };
  return { ok: true, object: result, isChanged: !(isSame && isSameOwner) };
}

function merge(live: Json | undefined, applied: Json, shape: FieldShape): Json {
  if (live === undefined || live === null || isAtomic(shape)) return copyJson(applied);
  if (isJsonObject(live) && isJsonObject(applied)) {
    const result = copyJson(live);
    for (const name of Object.keys(applied)) {
      setMember(result, name, merge(memberOf(live, name), applied[name] as Json, memberShape(shape, name)));
    }
    return result;
  }
  if (Array.isArray(live) && Array.isArray(applied) && shape.type === 'list') return mergeLists(live, applied, shape);
  return copyJson(applied);
}

/**
 * Items in both lists and new items take the order of the apply; the other items keep their position. So an apply that names
 * all items decides their order.
 */
function mergeLists(live: Json[], applied: Json[], shape: Extract<FieldShape, { type: 'list' }>): Json {
  const liveSteps = itemSteps(live, shape);
  const appliedSteps = itemSteps(applied, shape);
  if (liveSteps === undefined || appliedSteps === undefined) return copyJson(applied);
  const liveByStep = new Map(liveSteps.map((step, index) => [step, live[index] as Json]));
  const appliedByStep = new Map(appliedSteps.map((step, index) => [step, applied[index] as Json]));
  const places = new Map(appliedSteps.map((step, index) => [step, index]));
  const shared = appliedSteps.filter((step) => liveByStep.has(step));
  const result: Json[] = [];
  let taken = 0;
  let sharedTaken = 0;
  const takeApplied = (count: number) => {
    for (; taken < count; taken++) {
      const step = appliedSteps[taken] as PathStep;
      if (liveByStep.has(step)) sharedTaken++;
      result.push(merge(liveByStep.get(step), appliedByStep.get(step) as Json, shape.items));
    }
  };
  for (const [step, item] of liveByStep) {
    if (!appliedByStep.has(step)) result.push(copyJson(item));
    else if (step === shared[sharedTaken]) takeApplied((places.get(step) as number) + 1);
  }
  takeApplied(appliedSteps.length);
  return result;
}

function ownedByAny(others: readonly ManagedEntry[], wanted: FieldSet): FieldSet {
  return others.reduce((all, entry) => union(all, entry.fields), wanted);
}

/** Removes fields that only the previous apply of this manager wanted. Emptied containers stay until dropEmptied(). */
function prune(
  merged: KubeObject,
  rules: { own: FieldSet; kept: FieldSet; shape: FieldShape },
): { object: KubeObject; removed: PathStep[][] } {
  const object = copyJson(merged as unknown as JsonObject);
  const unwanted = pathsOf(difference(rules.own, rules.kept)).sort((a, b) => a.length - b.length);
  const removed = unwanted.filter((path) => !isKept(rules.kept, path, rules.shape));
  const set = emptySet();
  for (const path of removed) insert(set, path);
  removeFrom(object, set, rules.shape);
  return { object: object as unknown as KubeObject, removed };
}

/** Removes the containers that prune() emptied. Runs after the comparison, which must still find them for their owners. */
function dropEmptied(object: KubeObject, removed: readonly PathStep[][]): void {
  for (const path of removed) {
    for (let length = path.length - 1; length > 0; length--) {
      const holder = containerAt(object as unknown as Json, path.slice(0, length - 1));
      const name = (path[length - 1] as PathStep).slice(2);
      if (!isJsonObject(holder) || !isEmptied(memberOf(holder, name) ?? null)) break;
      delete holder[name];
    }
  }
}

/** Follows only objects, because a remaining list item still has its keys and is never empty. */
function containerAt(value: Json, path: readonly PathStep[]): Json | undefined {
  let container: Json | undefined = value;
  for (const step of path) container = isJsonObject(container) ? memberOf(container, step.slice(2)) : undefined;
  return container;
}

/** A field of the schema stays while any field in it has an owner; an item or a map entry stays only with an own owner. */
function isKept(kept: FieldSet, path: readonly PathStep[], shape: FieldShape): boolean {
  let node: FieldSet | undefined = kept;
  let current = shape;
  let isNamedField = false;
  for (const step of path) {
    node = node?.children.get(step);
    const name = step.slice(2);
    isNamedField = current.type === 'object' && current.fields.has(name);
    current = current.type === 'list' ? current.items : memberShape(current, name);
  }
  return node !== undefined && (node.isMember || (isNamedField && !isEmptySet(node)));
}

/** The items of a list are found before any of them changes, because an item without its keys could no longer be found. */
function removeFrom(container: Json, { children }: FieldSet, shape: FieldShape): void {
  if (isJsonObject(container)) {
    for (const [step, below] of children) {
      const name = step.slice(2);
      const member = memberOf(container, name);
      if (below.isMember) delete container[name];
      else if (member !== undefined) removeFrom(member, below, memberShape(shape, name));
    }
    return;
  }
  if (!Array.isArray(container) || shape.type !== 'list') return;
  const steps = itemSteps(container, shape);
  if (steps === undefined) return;
  const kept = container.filter((item, index) => {
    const below = children.get(steps[index] as PathStep);
    if (below?.isMember === true) return false;
    if (below !== undefined) removeFrom(item, below, shape.items);
    return true;
  });
  container.length = 0;
  for (const item of kept) container.push(item);
}

function isEmptied(value: Json): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (!isJsonObject(value)) return false;
  for (const name in value) if (Object.hasOwn(value, name)) return false;
  return true;
}

interface Conflict {
  entry: ManagedEntry;
  path: PathStep[];
}

function conflictsOf(others: readonly ManagedEntry[], changed: FieldSet): Conflict[] {
  return others.flatMap((entry) => pathsOf(intersection(entry.fields, changed)).map((path) => ({ entry, path })));
}

/** No answer lists more. A path may be as long as the body, and each conflict has one. */
const maxPathLength = 1_000;

function describe(conflicts: Conflict[]): { conflicts: { manager: string; path: string }[]; status: Status } {
  const listed = conflicts.slice(0, maxListedErrors).map(({ entry, path }) => ({ entry, path: shortText(path) }));
  const causes = listed.map(({ entry, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${managerText(entry)}`,
    field: path,
  }));
  return {
    conflicts: listed.map(({ entry, path }) => ({ manager: entry.manager, path })),
    status: applyConflict(causes, conflictMessage(listed, conflicts.length)),
  };
}

function shortText(path: readonly PathStep[]): string {
  const text = pathText(path);
  return text.length > maxPathLength ? `${text.slice(0, maxPathLength)}…` : text;
}

function conflictMessage(listed: readonly { entry: ManagedEntry; path: string }[], count: number): string {
  const [first] = listed;
  if (count === 1 && first !== undefined) {
    return `Apply failed with 1 conflict: conflict with ${managerText(first.entry)}: ${first.path}`;
  }
  const pathsByManager = new Map<string, string[]>();
  for (const { entry, path } of listed) {
    const text = managerText(entry);
    const paths = pathsByManager.get(text) ?? [];
    pathsByManager.set(text, paths);
    paths.push(`- ${path}`);
  }
  const lines = [...pathsByManager]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([manager, paths]) => [`conflicts with ${manager}:`, ...paths]);
  if (count > listed.length) lines.push(`and ${count - listed.length} more`);
  return `Apply failed with ${count} conflicts: ${lines.join('\n')}`;
}

function managerText({ manager, operation, apiVersion, time, subresource }: ManagedEntry): string {
  const name = JSON.stringify(manager) + (subresource === '' ? '' : ` with subresource ${JSON.stringify(subresource)}`);
  if (operation === 'Apply') return name;
  return time === undefined ? `${name} using ${apiVersion}` : `${name} using ${apiVersion} at ${time}`;
}
