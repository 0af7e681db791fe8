// JSON merge patch (RFC 7396): a partial object laid over a value, null removes a member. Inputs are never changed, and the
// result shares nothing with the patch.
import { copyJson, isJsonObject, type Json, type JsonObject, memberOf, setMember } from '../text/json.ts';

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

function shallowCopy(value: JsonObject): JsonObject {
  const copy: JsonObject = {};
  for (const name of Object.keys(value)) setMember(copy, name, value[name] as Json);
  return copy;
}
