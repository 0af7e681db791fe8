// JSON patch (RFC 6902) with the deviations of kube-apiserver. In: a value and the operations of a client. Out: a changed copy
// after all operations, or one failure. The library rfc6902 is not safe for client patches: it takes "length" and "a" for list
// indices, skips tokens named "constructor" and finds inherited members.
import { isJsonObject, type Json, memberOf, setMember } from '../text/json.ts';
import { maxDepth } from '../text/nesting.ts';
import { copyWithLongLists, isLongList, type LongList, withoutLongLists } from './long-list.ts';

export type JsonPatchResult =
  | { ok: true; value: Json }
  /** `malformed`: the patch is not a list of operations. `operation` counts from 0. */
  | { ok: false; reason: 'malformed' | 'tooManyOperations'; message: string }
  | { ok: false; reason: 'doesNotApply' | 'testFailed'; operation: number; message: string };

/** The limit of kube-apiserver. */
export const maxJsonPatchOperations = 10_000;
/** Values that are walked to see how deep they nest, or to compare them. A patch can name a large value ten thousand times. */
const mostWalkedValues = 3_000_000;
/** Where bodies are small, so is what they may cost: 64 KiB of moves up and down took 110 ms. */
const walkedForEachChar = 4;

/**
 * `maxCopiedChars`: the limit of copies together, since each can double the object. kube-apiserver: the length of a body. The number
 * of values that the patch may walk over follows from it.
 */
export function applyJsonPatch(
  value: Json,
  jsonPatch: unknown,
  { maxCopiedChars = 3 * 1024 * 1024 }: { maxCopiedChars?: number } = {},
): JsonPatchResult {
  if (!Array.isArray(jsonPatch)) return malformed('a list of operations', jsonPatch);
  if (jsonPatch.length > maxJsonPatchOperations) {
    const message = `The allowed maximum operations in a JSON patch is ${maxJsonPatchOperations}, got ${jsonPatch.length}`;
    return { ok: false, reason: 'tooManyOperations', message };
  }
  const maxWalkedValues = Math.min(mostWalkedValues, walkedForEachChar * maxCopiedChars);
  const counts = { copiedChars: 0, walkedValues: 0 };
  const state: PatchState = { root: copyWithLongLists(value), ...counts, maxCopiedChars, maxWalkedValues };
  for (const [index, operation] of jsonPatch.entries()) {
    if (!isJsonObject(operation)) return malformed('an operation object', operation);
    const failure = applyOperation(state, operation);
    if (failure === undefined) continue;
    const text = `${shown(memberOf(operation, 'op'))} at ${shown(memberOf(operation, 'path'))}`;
    const message = `Cannot apply operation ${index} (${text}): ${failure.why}`;
    return { ok: false, reason: failure.isTest ? 'testFailed' : 'doesNotApply', operation: index, message };
  }
  return { ok: true, value: withoutLongLists(state.root) };
}

interface PatchState {
  root: Json;
  copiedChars: number;
  walkedValues: number;
  readonly maxCopiedChars: number;
  readonly maxWalkedValues: number;
}

interface OperationFailure {
  isTest: boolean;
  why: string;
}

/** The target of an operation: an existing container and the token in it. */
interface PointerTarget {
  container: Json;
  token: string;
}

function applyOperation(state: PatchState, operation: Record<string, Json>): OperationFailure | undefined {
  const path = parsePointer(memberOf(operation, 'path'));
  if (path === undefined) return failure('"path" must be a JSON pointer');
  const value = memberOf(operation, 'value');
  switch (memberOf(operation, 'op')) {
    case 'add':
      return value === undefined
        ? failure('a "value" is missing')
        : (depthFault(state, path, value) ?? add(state, path, copyWithLongLists(value)));
    case 'remove':
      return remove(state, path);
    case 'replace':
      return value === undefined
        ? failure('a "value" is missing')
        : (depthFault(state, path, value) ?? replace(state, path, copyWithLongLists(value)));
    case 'test':
      return test(state, path, value ?? null);
    case 'move':
    case 'copy':
      return moveOrCopy(state, path, operation);
    default:
      return failure('"op" must be add, remove, replace, move, copy or test');
  }
}

function add(state: PatchState, path: string[], value: Json): OperationFailure | undefined {
  const target = locate(state.root, path);
  if (typeof target === 'string') return failure(target);
  const { container, token } = target;
  if (!isList(container)) {
    setMember(container as Record<string, Json>, token, value);
    return undefined;
  }
  const index = token === '-' ? container.length : itemIndex(token, container.length + 1);
  if (index === undefined) return failure(`wanted an index up to ${container.length}, found ${shown(token)}`);
  if (isLongList(container)) container.insert(index, value);
  else container.splice(index, 0, value);
  return undefined;
}

function remove(state: PatchState, path: string[]): OperationFailure | undefined {
  const target = locate(state.root, path);
  if (typeof target === 'string') return failure(target);
  const { container, token } = target;
  if (isList(container)) {
    const index = itemIndex(token, container.length);
    if (index === undefined) return failure(`the list has no item ${shown(token)}`);
    if (isLongList(container)) container.remove(index);
    else container.splice(index, 1);
    return undefined;
  }
  if (!Object.hasOwn(container as object, token)) return failure(`there is no ${shown(token)}`);
  delete (container as Record<string, Json>)[token];
  return undefined;
}

/** As in kube-apiserver, replace creates a missing member, but a list item must exist. */
function replace(state: PatchState, path: string[], value: Json): OperationFailure | undefined {
  if (path.length === 0) {
    if (typeof value !== 'object' || value === null) return failure('the whole value must be an object or a list');
    state.root = value;
    return undefined;
  }
  const target = locate(state.root, path);
  if (typeof target === 'string') return failure(target);
  const { container, token } = target;
  if (!isList(container)) {
    setMember(container as Record<string, Json>, token, value);
    return undefined;
  }
  const index = itemIndex(token, container.length);
  if (index === undefined) return failure(`the list has no item ${shown(token)}`);
  if (isLongList(container)) container.replace(index, value);
  else container[index] = value;
  return undefined;
}

/** As in kube-apiserver, a missing member counts as null. */
function test(state: PatchState, path: string[], wanted: Json): OperationFailure | undefined {
  const found = valueAt(state.root, path);
  if (!found.ok) return failure(found.why);
  const isEqual = equals(state, found.value ?? null, wanted);
  if (state.walkedValues > state.maxWalkedValues)
    return failure(`values with more than ${state.maxWalkedValues} fields are compared`);
  return isEqual ? undefined : { isTest: true, why: 'the value differs' };
}

function moveOrCopy(state: PatchState, path: string[], operation: Record<string, Json>): OperationFailure | undefined {
  const from = parsePointer(memberOf(operation, 'from'));
  if (from === undefined || from.length === 0) return failure('"from" must be a JSON pointer to a member');
  const found = valueAt(state.root, from);
  if (!found.ok) return failure(found.why);
  // As in kube-apiserver, the copy of a missing member is null; a move of it fails below.
  const value = found.value ?? null;
  // A value that stays where it is or rises cannot nest deeper than before.
  const tooDeep = path.length > from.length ? depthFault(state, path, value) : undefined;
  if (tooDeep !== undefined) return tooDeep;
  if (memberOf(operation, 'op') === 'copy') {
    state.copiedChars += JSON.stringify(value).length;
    if (state.copiedChars > state.maxCopiedChars)
      return failure(`copies add up to more than ${state.maxCopiedChars} characters`);
    return add(state, path, copyWithLongLists(value));
  }
  const isIntoItself = from.length < path.length && from.every((token, index) => token === path[index]);
  if (isIntoItself) return failure('a value cannot be moved into itself');
  return remove(state, from) ?? add(state, path, value);
}

/** A copy into itself doubles the depth, and everything that reads the result calls itself for each level. */
function depthFault(state: PatchState, path: readonly string[], value: Json): OperationFailure | undefined {
  const left = [{ value, depth: path.length }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { value: found, depth } = next;
    if (++state.walkedValues > state.maxWalkedValues)
      return failure(`values with more than ${state.maxWalkedValues} fields are moved`);
    if (typeof found !== 'object' || found === null) continue;
    if (depth >= maxDepth) return failure(`the result would have more than ${maxDepth} levels`);
    for (const item of isLongList(found) ? found : Object.values(found)) left.push({ value: item, depth: depth + 1 });
  }
  return undefined;
}

/** As equalJson(). A comparison costs as much as the shorter value, and what costs more is counted. */
function equals(state: PatchState, found: Json, wanted: Json): boolean {
  if (isList(found)) {
    if (!Array.isArray(wanted) || found.length !== wanted.length) return false;
    let index = 0;
    for (const item of found) if (!equals(state, item, wanted[index++] as Json)) return false;
    return true;
  }
  if (!isJsonObject(found) || !isJsonObject(wanted)) return found === wanted;
  const names = Object.keys(wanted);
  for (const name of names) {
    const member = memberOf(found, name);
    if (member === undefined || !equals(state, member, wanted[name] as Json)) return false;
  }
  const { length } = Object.keys(found);
  state.walkedValues += length;
  return length === names.length;
}

function isList(value: Json): value is Json[] | (Json & LongList) {
  return Array.isArray(value) || isLongList(value);
}

function parsePointer(pointer: Json | undefined): string[] | undefined {
  if (pointer === '') return [];
  if (typeof pointer !== 'string' || !pointer.startsWith('/')) return undefined;
  return pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Returns the target, or a sentence about the missing part of the path. */
function locate(root: Json, path: string[]): PointerTarget | string {
  const token = path.at(-1);
  if (token === undefined) return 'the path must lead below the whole value';
  let container: Json = root;
  for (const step of path.slice(0, -1)) {
    const next = childOf(container, step);
    if (next === undefined || next === null) return `there is no ${shown(step)} on the way`;
    container = next;
  }
  if (typeof container !== 'object' || container === null) return 'the parent is neither an object nor a list';
  return { container, token };
}

function valueAt(root: Json, path: string[]): { ok: true; value: Json | undefined } | { ok: false; why: string } {
  if (path.length === 0) return { ok: true, value: root };
  const target = locate(root, path);
  if (typeof target === 'string') return { ok: false, why: target };
  const value = childOf(target.container, target.token);
  if (value === undefined && isList(target.container)) {
    return { ok: false, why: `the list has no item ${shown(target.token)}` };
  }
  return { ok: true, value };
}

function childOf(container: Json, token: string): Json | undefined {
  if (isList(container)) {
    const index = itemIndex(token, container.length);
    if (index === undefined) return undefined;
    return isLongList(container) ? container.item(index) : container[index];
  }
  return isJsonObject(container) ? memberOf(container, token) : undefined;
}

/** Returns an index below `length`; as in kube-apiserver, a negative index counts from the end. */
function itemIndex(token: string, length: number): number | undefined {
  if (!/^(0|-?[1-9][0-9]{0,8})$/.test(token)) return undefined;
  const index = Number(token) < 0 ? Number(token) + length : Number(token);
  return index >= 0 && index < length ? index : undefined;
}

function failure(why: string): OperationFailure {
  return { isTest: false, why };
}

function malformed(wanted: string, found: unknown): JsonPatchResult {
  const text = found === null ? 'null' : Array.isArray(found) ? 'a list' : typeof found;
  return { ok: false, reason: 'malformed', message: `Cannot read a JSON patch: wanted ${wanted}, found ${text}` };
}

/** Quoted and shortened, because the text comes from a request. */
function shown(value: Json | undefined): string {
  const text = JSON.stringify(value ?? null);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
