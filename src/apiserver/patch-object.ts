// PATCH in its four languages: json patch, merge patch, strategic merge patch and server-side apply.

import { isJsonObject, type Json } from '../object/json.ts';
import { applyJsonPatch } from '../object/json-patch.ts';
import { applyMergePatch } from '../object/merge-patch.ts';
import { patchDoesNotApply, requestEntityTooLarge } from '../object/status.ts';
import { applyObject } from './apply-object.ts';
import { changeObject } from './change-object.ts';
import { checkName, fitted, placeInNamespace } from './incoming-object.ts';
import type { Call, Outcome } from './kit.ts';
import { parseJsonText, parseYamlText } from './request-body.ts';
import { badRequest, StatusFault, unknownPatchType } from './status-fault.ts';
import { applyStrategicMergePatch } from './strategic-merge.ts';
import type { WriteOptions } from './write-options.ts';

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
): Promise<Outcome> {
  if (mediaType === patchTypes.apply) return applyObject(call, await parseYamlText(body.toString('utf8')), options);
  const patch = patchFunction(call, mediaType, body);
  return changeObject(call, {
    dryRun: options.dryRun,
    uidIsPrecondition: false,
    compute: (old) => {
      const patched = patch(old as Json);
      if (!isJsonObject(patched)) throw badRequest('apply the patch: want an object, got something else');
      const object = fitted(call, { value: patched, duplicateFields: [] }, options.fieldValidation);
      checkName(call, object);
      placeInNamespace(call, object);
      return object;
    },
  });
}

function patchFunction(call: Call, mediaType: string, body: Buffer): (value: Json) => Json {
  switch (mediaType) {
    case patchTypes.json: {
      const operations = parsePatch(body);
      if (!Array.isArray(operations)) {
        throw badRequest(
          'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
        );
      }
      return (value) => jsonPatched(value, operations);
    }
    case patchTypes.merge: {
      const patch = mapPatch(body);
      return (value) => applyMergePatch(value, patch);
    }
    case patchTypes.strategic: {
      const patch = mapPatch(body);
      const schema = call.kit.catalog.schemaOf(call.kind);
      return (value) => applyStrategicMergePatch(value, patch, schema);
    }
    default:
      throw unknownPatchType(Object.values(patchTypes));
  }
}

function parsePatch(body: Buffer): Json {
  return parseJsonText(body.toString('utf8')).value as Json;
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

function jsonPatched(value: Json, operations: Json[]): Json {
  const result = applyJsonPatch(value, operations);
  if (result.ok) return result.value;
  switch (result.reason) {
    case 'malformed':
      throw badRequest(`error decoding patch: ${result.message}`);
    case 'tooManyOperations':
      throw new StatusFault(requestEntityTooLarge(result.message));
    case 'doesNotApply':
    case 'testFailed':
      throw new StatusFault(patchDoesNotApply());
    default:
      return result satisfies never;
  }
}
