// JSON merge patch (RFC 7396): a partial object laid over a value, null removes a member. Inputs are never changed, and the
// result shares nothing with the patch.
import { copyJson, equalJson, isJsonObject, type Json, type JsonObject, memberOf, setMember } from './json.ts';

/** Members that the patch does not name are shared with `value`, not copied. */
export function applyMergePatch(value: Json | undefined, mergePatch: Json): Json {
  if (!isJsonObject(mergePatch)) return copyJson(mergePatch);
  const result: JsonObject = isJsonObject(value) ? shallowCopy(value) : {};
  for (const name of Object.keys(mergePatch)) {
    const change = mergePatch[name];
    if (change === undefined) continue;
    if (change === null) delete result[name];
    else setMember(result, name, applyMergePatch(memberOf(result, name), change));
  }
  return result;
}

/**
 * The smallest merge patch that turns `before` into `after`; undefined when they are equal. A null inside `after` cannot be
 * said in a merge patch: such a member is removed or left out. Lists are taken over whole, nulls included.
 */
export function createMergePatch(before: Json, after: Json): Json | undefined {
  if (!isJsonObject(before) || !isJsonObject(after)) return equalJson(before, after) ? undefined : withoutNulls(after);
  const mergePatch: JsonObject = {};
  for (const name of Object.keys(before)) {
    if (memberOf(after, name) === undefined) setMember(mergePatch, name, null);
  }
  for (const name of Object.keys(after)) {
    const now = memberOf(after, name);
    const then = memberOf(before, name);
    if (now === undefined || equalJson(then, now)) continue;
    const isInside = isJsonObject(then) && isJsonObject(now);
    const change = isInside ? createMergePatch(then, now) : withoutNulls(now);
    if (change !== undefined) setMember(mergePatch, name, change);
  }
  return Object.keys(mergePatch).length === 0 ? undefined : mergePatch;
}

function shallowCopy(value: JsonObject): JsonObject {
  const copy: JsonObject = {};
  for (const name of Object.keys(value)) setMember(copy, name, value[name] as Json);
  return copy;
}

/** Within a merge patch a null means removal, so a new object must not carry any. Lists are values and keep theirs. */
function withoutNulls(value: Json): Json {
  if (!isJsonObject(value)) return copyJson(value);
  const copy: JsonObject = {};
  for (const name of Object.keys(value)) {
    const member = value[name];
    if (member !== undefined && member !== null) setMember(copy, name, withoutNulls(member));
  }
  return copy;
}
