// JSON merge patch (RFC 7396): merges a partial object into a value; null removes a member. The inputs are never changed, and
// the result shares no part with the patch.
import { copyJson, isJsonObject, type Json, type JsonObject, memberOf, setMember } from '../text/json.ts';

/** The result shares the members that the patch does not name with `value`, without a copy. */
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

function shallowCopy(value: JsonObject): JsonObject {
  const copy: JsonObject = {};
  for (const name of Object.keys(value)) setMember(copy, name, value[name] as Json);
  return copy;
}
