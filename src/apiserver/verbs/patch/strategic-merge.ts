// Strategic merge patch: a merge patch that merges some lists item by item, as the schema says.
// Directives: $patch (replace, delete, merge), $retainKeys, $setElementOrder/<list>, $deleteFromPrimitiveList/<list>.
import { copyJson, isJsonObject, type Json, type JsonObject, memberOf, setMember } from '../../../object/text/json.ts';
import type { Node } from '../../kinds/schema.ts';
import { badRequest } from '../../request/status-fault.ts';

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
    const known = new Set(current.map(identityOf));
    for (const item of patch) {
      const identity = identityOf(item);
      if (known.has(identity)) continue;
      known.add(identity);
      result.push(copyJson(item));
    }
    return result;
  }
  if (patch.some((item) => isJsonObject(item) && memberOf(item, '$patch') === 'replace')) {
    return patch.filter((item) => !(isJsonObject(item) && memberOf(item, '$patch') === 'replace')).map(copyJson);
  }
  const entries = patch.map((item) => keyedItem(item, key));
  const isDelete = (item: JsonObject) => memberOf(item, '$patch') === 'delete';
  const deleted = new Set(entries.filter(({ item }) => isDelete(item)).map(({ id }) => identityOf(id)));
  // Deletes apply to the old items, wherever they are in the patch: an item deleted and sent again is new.
  const kept = current.filter((have) => !isJsonObject(have) || !deleted.has(identityOf(memberOf(have, key))));
  const places = firstPlaces(kept, (have) => (isJsonObject(have) ? identityOf(memberOf(have, key)) : undefined));
  const result = [...kept];
  for (const { item, id } of entries) {
    if (isDelete(item)) continue;
    const at = places.get(identityOf(id));
    if (at !== undefined) result[at] = mergeMap(result[at] as JsonObject, item, node.items);
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

/** Equal values have equal identities. A search through the list for each item would take minutes for a body of long lists. */
function identityOf(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map(identityOf).join()}]`;
  if (isJsonObject(value)) {
    const members = Object.keys(value).sort();
    return `{${members.map((name) => `${JSON.stringify(name)}:${identityOf(value[name])}`).join()}}`;
  }
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

function firstPlaces<T>(list: readonly T[], identity: (item: T) => string | undefined): Map<string, number> {
  const places = new Map<string, number>();
  for (const [index, item] of list.entries()) {
    const known = identity(item);
    if (known !== undefined && !places.has(known)) places.set(known, index);
  }
  return places;
}

function deletePrimitives(result: JsonObject, name: string, deleted: Json): void {
  const current = memberOf(result, name);
  if (!Array.isArray(current) || !Array.isArray(deleted)) return;
  const gone = new Set(deleted.map(identityOf));
  result[name] = current.filter((item) => !gone.has(identityOf(item)));
}

/**
 * Items that the patch names follow the order of the patch. The other items keep their order, and come before a named item
 * only if they came before it in the old list.
 */
function inOrder(
  merged: readonly Json[],
  order: readonly Json[],
  before: readonly Json[],
  key: string | undefined,
): Json[] {
  const identity = (item: Json) => identityOf(key !== undefined && isJsonObject(item) ? memberOf(item, key) : item);
  const ordered = firstPlaces(order, identity);
  const old = firstPlaces(before, identity);
  const items = merged.map((item) => {
    const known = identity(item);
    return { item, rank: ordered.get(known) ?? -1, oldRank: old.get(known) ?? -1 };
  });
  const named = items.filter(({ rank }) => rank >= 0).sort((a, b) => a.rank - b.rank);
  const others = items.filter(({ rank }) => rank < 0).sort((a, b) => a.oldRank - b.oldRank);
  const result: Json[] = [];
  let [nextNamed, nextOther] = [0, 0];
  for (;;) {
    const one = named[nextNamed];
    const other = others[nextOther];
    if (one === undefined || other === undefined) break;
    const otherFirst = other.oldRank >= 0 && one.oldRank >= 0 && other.oldRank < one.oldRank;
    result.push((otherFirst ? other : one).item);
    if (otherFirst) nextOther++;
    else nextNamed++;
  }
  return [...result, ...[...named.slice(nextNamed), ...others.slice(nextOther)].map(({ item }) => item)];
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
