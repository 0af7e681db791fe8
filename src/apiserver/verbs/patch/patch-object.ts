// Serves PATCH with its four types: JSON patch, merge patch, strategic merge patch and server-side apply.
import { forbiddenField, invalidValue } from '../../../object/meta/field-error.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import { invalid, patchDoesNotApply, requestEntityTooLarge } from '../../../object/meta/status.ts';
import { applyJsonPatch } from '../../../object/patch/json-patch.ts';
import { applyMergePatch } from '../../../object/patch/merge-patch.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../object/text/json.ts';
import { isTooDeep } from '../../../object/text/nesting.ts';
import { groupVersionOf } from '../../kinds/kind.ts';
import type { Call, Kit, VerbOutcome } from '../../kinds/kit.ts';
import { checkCounts } from '../../kinds/object-limits.ts';
import { badRequest, StatusFault, unknownPatchType } from '../../request/status-fault.ts';
import { nestedTooDeep, notJson, parseYamlText } from '../../wire/request-body.ts';
import { changeObject } from '../change-object.ts';
import { checkName, fitted, placeInNamespace } from '../incoming-object.ts';
import type { WriteOptions } from '../write-options.ts';
import { applyObject } from './apply-object.ts';
import { applyStrategicMergePatch } from './strategic-merge.ts';

export const patchTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

export async function patchObject(
  call: Call,
  body: Buffer,
  mediaType: string,
  options: WriteOptions,
): Promise<VerbOutcome> {
  if (mediaType === patchTypes.apply)
    return applyObject(call, await parseYamlText(body.toString('utf8'), call.kit.limits), options);
  if (call.target.query.has('force')) {
    const errors = [forbiddenField('force', 'may not be specified for non-apply patch')];
    throw new StatusFault(invalid({ group: 'meta.k8s.io', kind: 'PatchOptions' }, '', errors));
  }
  const patch = patchIn(call, mediaType, body);
  // The real server looks at no version in the result of a strategic merge patch.
  const checksVersion = mediaType !== patchTypes.strategic || call.kit.dialect === 'strict';
  return changeObject(call, {
    dryRun: options.dryRun,
    merged: patch.merged,
    uidIsPrecondition: false,
    compute: (old) => {
      const patched = patch.apply(old as Json);
      if (!isJsonObject(patched)) throw badRequest('the patch must leave an object, and its result is another type');
      const { kind, kit, target } = call;
      checkCounts(patched, { kind, name: target.name, before: old.metadata, limits: kit.limits });
      const object = fittedResult(call, patched, { ...options, checksVersion });
      checkName(call, object);
      placeInNamespace(call, object);
      return object;
    },
  });
}

/** The result of a patch must fit the kind like any sent object; like the real server, the fault quotes the result. */
function fittedResult(call: Call, patched: JsonObject, options: WriteOptions & { checksVersion: boolean }): KubeObject {
  try {
    const [version, wanted] = [patched['apiVersion'], groupVersionOf(call.kind)];
    if (options.checksVersion && version && version !== wanted)
      throw badRequest(`the API version in the data (${version}) does not match the expected API version (${wanted})`);
    const { kind } = patched;
    if (kind === undefined || kind === null || kind === '')
      throw badRequest(`the patch leaves an object without its kind, which is ${call.kind.kind}`);
    if (kind !== call.kind.kind) throw badRequest(`no kind ${JSON.stringify(kind)} is served at this path`);
    return fitted(call, { value: patched, duplicates: [] }, options.fieldValidation);
  } catch (error) {
    if (!(error instanceof StatusFault) || error.status.reason !== 'BadRequest') throw error;
    const why = (error.status.message ?? '').replace(/^.* cannot be handled as a [^:]*: /, '');
    const errors = [invalidValue('patch', shownResult(patched), why)];
    throw new StatusFault(invalid({ group: '', kind: '' }, '', errors));
  }
}

/** Of a longer result, its beginning tells which object it is. */
const shownCharacters = 2_000;

function shownResult(patched: JsonObject): string {
  const { metadata, ...rest } = patched;
  const meta = isJsonObject(metadata) ? metadata : {};
  const first = ['name', 'generateName', 'namespace', 'uid', 'resourceVersion', 'generation', 'creationTimestamp'];
  const ranked = Object.entries(meta).sort(([a], [b]) => rank(first, a) - rank(first, b));
  const all = { ...rest, metadata: Object.fromEntries(ranked) };
  const text = JSON.stringify(Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1))));
  return text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text;
}

function rank(order: readonly string[], name: string): number {
  const found = order.indexOf(name);
  return found < 0 ? order.length : found;
}

interface Patch {
  apply(value: Json): Json;
  /** The patch itself, unless it is a list of operations. */
  merged?: Json;
}

function patchIn(call: Call, mediaType: string, body: Buffer): Patch {
  switch (mediaType) {
    case patchTypes.json: {
      const operations = parsePatch(body);
      if (!Array.isArray(operations)) {
        throw badRequest(
          'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
        );
      }
      return { apply: (value) => jsonPatched(value, operations, call.kit) };
    }
    case patchTypes.merge: {
      const patch = mapPatch(body);
      return { apply: (value) => applyMergePatch(value, patch), merged: patch };
    }
    case patchTypes.strategic: {
      const patch = mapPatch(body);
      const schema = call.kit.catalog.schemaOf(call.kind);
      return { apply: (value) => applyStrategicMergePatch(value, patch, schema), merged: patch };
    }
    default:
      throw unknownPatchType([patchTypes.json, patchTypes.merge, patchTypes.apply]);
  }
}

function parsePatch(body: Buffer): Json {
  const text = body.toString('utf8');
  if (isTooDeep(text)) throw nestedTooDeep();
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    // V8 words truncated JSON in several ways; clients know Go's message.
    const why = error instanceof Error ? error.message : String(error);
    const isCut = /end of JSON input|Unterminated|after property|Expected/.test(why);
    const message = `error decoding patch: ${isCut ? 'unexpected end of JSON input' : `json parse error: ${why}`}`;
    throw badRequest(message, `error decoding patch: ${notJson(why)}`);
  }
}

function mapPatch(body: Buffer): Json {
  const patch = parsePatch(body);
  if (!isJsonObject(patch)) {
    throw badRequest(
      'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}',
    );
  }
  return patch;
}

function jsonPatched(value: Json, operations: Json[], { dialect, limits }: Kit): Json {
  const result = applyJsonPatch(value, operations, { maxCopiedChars: limits.bodyBytes });
  if (result.ok) return result.value;
  switch (result.reason) {
    case 'malformed':
      throw badRequest(`error decoding patch: ${result.message}`);
    case 'tooManyOperations':
      throw new StatusFault(requestEntityTooLarge(result.message));
    case 'doesNotApply':
    case 'testFailed':
      // The patch runs over the object without its hidden fields, so the reason reveals nothing about them.
      throw new StatusFault(patchDoesNotApply(dialect === 'strict' ? result.message : undefined));
    default:
      return result satisfies never;
  }
}
