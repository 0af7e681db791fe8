// Strategic merge patch: a merge patch that merges some lists item by item, as the schema says.
// Directives: $patch (replace, delete, merge), $retainKeys, $setElementOrder/<list>, $deleteFromPrimitiveList/<list>.
import {
  copyJson,
  equalJson,
  isJsonObject,
  type Json,
  type JsonObject,
  memberOf,
  setMember,
} from '../../object/text/json.ts';
import type { Node } from '../kinds/schema.ts';
import { badRequest } from '../request/status-fault.ts';

const orderPrefix = '$setElementOrder/';
const deletePrefix = '$deleteFromPrimitiveList/';

export function applyStrategicMergePatch(value: Json, patch: Json, node: Node): Json {
  if (!isJsonObject(patch)) return copyJson(patch);
  return mergeMap(isJsonObject(value) ? value : {}, patch, node);
}

function mergeMap(value: JsonObject, patch: JsonObject, node: Node | undefined): JsonObject {
  const directive = memberOf(patch, '$patch');
  if (directive === 'replace') return withoutDirectives(patch);
  if (directive === 'delete') return {};
  if (directive !== undefined && directive !== 'merge') {
    throw badRequest(`invalid value of the $patch directive: ${JSON.stringify(directive)}`);
  }
  const result: JsonObject = retained(value, memberOf(patch, '$retainKeys'));
  for (const name of Object.keys(patch)) {
    if (name === '$patch' || name === '$retainKeys') continue;
    if (name.startsWith(orderPrefix)) continue;
    if (name.startsWith(deletePrefix)) {
      deletePrimitives(result, name.slice(deletePrefix.length), patch[name] as Json);
      continue;
    }
    mergeMember(result, name, patch, fieldOf(node, name));
  }
  for (const name of Object.keys(patch)) {
    if (!name.startsWith(orderPrefix)) continue;
    const list = name.slice(orderPrefix.length);
    const merged = memberOf(result, list);
    const order = patch[name];
    if (!Array.isArray(merged) || !Array.isArray(order)) continue;
    const before = memberOf(value, list);
    result[list] = inOrder(merged, order, Array.isArray(before) ? before : [], fieldOf(node, list)?.patchMergeKey);
  }
  return result;
}

function mergeMember(result: JsonObject, name: string, patch: JsonObject, field: Node | undefined): void {
  const change = patch[name] as Json;
  if (change === null) {
    delete result[name];
    return;
  }
  const current = memberOf(result, name);
  if (isJsonObject(change)) {
    if (isJsonObject(current) && !field?.patchStrategy.includes('replace')) {
      setMember(result, name, mergeMap(current, change, field));
    } else {
      setMember(result, name, mergeMap({}, change, field));
    }
    return;
  }
  if (Array.isArray(change) && field?.type === 'list' && field.patchStrategy.includes('merge')) {
    const before = Array.isArray(current) ? current : [];
    const named = change.filter((item) => !(isJsonObject(item) && memberOf(item, '$patch') !== undefined));
    setMember(result, name, inOrder(mergeList(before, change, field), named, before, field.patchMergeKey));
    return;
  }
  setMember(result, name, Array.isArray(change) ? change.map(copyJson) : change);
}

type ListNode = Extract<Node, { type: 'list' }>;

function mergeList(current: Json[], patch: Json[], node: ListNode): Json[] {
  const key = node.patchMergeKey;
  if (key === undefined) {
    const result = [...current];
    for (const item of patch) if (!result.some((have) => equalJson(have, item))) result.push(copyJson(item));
    return result;
  }
  if (patch.some((item) => isJsonObject(item) && memberOf(item, '$patch') === 'replace')) {
    return patch.filter((item) => !(isJsonObject(item) && memberOf(item, '$patch') === 'replace')).map(copyJson);
  }
  const entries = patch.map((item) => keyedItem(item, key));
  const isDeleted = (have: Json) =>
    entries.some(({ item, id }) => memberOf(item, '$patch') === 'delete' && hasId(have, key, id));
  // Deletes apply to the old items, wherever they stand in the patch: an item deleted and sent again is new.
  const kept = current.filter((have) => !isDeleted(have));
  const result = [...kept];
  for (const { item, id } of entries) {
    if (memberOf(item, '$patch') === 'delete') continue;
    const at = kept.findIndex((have) => hasId(have, key, id));
    if (at >= 0) result[at] = mergeMap(result[at] as JsonObject, item, node.items);
    else result.push(mergeMap({}, item, node.items));
  }
  return result;
}

function keyedItem(item: Json, key: string): { item: JsonObject; id: Json } {
  if (!isJsonObject(item)) throw badRequest(`merge a list by "${key}": ${JSON.stringify(item)} is not an object`);
  const id = memberOf(item, key);
  if (id === undefined) throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`);
  return { item, id };
}

function hasId(have: Json, key: string, id: Json): boolean {
  return isJsonObject(have) && equalJson(memberOf(have, key), id);
}

function deletePrimitives(result: JsonObject, name: string, deleted: Json): void {
  const current = memberOf(result, name);
  if (!Array.isArray(current) || !Array.isArray(deleted)) return;
  result[name] = current.filter((item) => !deleted.some((other) => equalJson(item, other)));
}

/**
 * Items that the patch names follow the order of the patch. The other items keep their order, and stand before a named item
 * only if they stood before it in the old list.
 */
function inOrder(
  merged: readonly Json[],
  order: readonly Json[],
  before: readonly Json[],
  key: string | undefined,
): Json[] {
  const idOf = (item: Json) => (key !== undefined && isJsonObject(item) ? memberOf(item, key) : item);
  const rankIn = (list: readonly Json[], item: Json) => list.findIndex((other) => equalJson(idOf(other), idOf(item)));
  const named = merged.filter((item) => rankIn(order, item) >= 0);
  named.sort((a, b) => rankIn(order, a) - rankIn(order, b));
  const others = merged.filter((item) => rankIn(order, item) < 0);
  others.sort((a, b) => rankIn(before, a) - rankIn(before, b));
  const result: Json[] = [];
  while (named.length > 0 && others.length > 0) {
    const otherRank = rankIn(before, others[0] as Json);
    const namedRank = rankIn(before, named[0] as Json);
    const otherFirst = otherRank >= 0 && namedRank >= 0 && otherRank < namedRank;
    result.push((otherFirst ? others : named).shift() as Json);
  }
  return [...result, ...named, ...others];
}

function retained(value: JsonObject, keys: Json | undefined): JsonObject {
  const result: JsonObject = {};
  const wanted = Array.isArray(keys) ? new Set(keys) : undefined;
  for (const name of Object.keys(value)) {
    if (wanted === undefined || wanted.has(name)) setMember(result, name, value[name] as Json);
  }
  return result;
}

function withoutDirectives(patch: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const name of Object.keys(patch))
    if (!name.startsWith('$')) setMember(result, name, copyJson(patch[name] as Json));
  return result;
}

function fieldOf(node: Node | undefined, name: string): Node | undefined {
  if (node?.type === 'object') return node.fields.get(name);
  return node?.type === 'map' ? node.values : undefined;
}
