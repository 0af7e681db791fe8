// Turns a request body into an object: checks its kind, decodes it by the schema, fills in defaults, and compares its name and
// namespace with the URL.
import { fieldErrorText, forbiddenField, maxListedErrors } from '../../object/meta/field-error.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { invalid } from '../../object/meta/status.ts';
import { isRecord } from '../../object/text/json.ts';
import { faultSubject, groupVersionOf } from '../kinds/kind.ts';
import type { Call } from '../kinds/kit.ts';
import { schemaErrors } from '../kinds/schema-errors.ts';
import { badRequest, StatusFault } from '../request/status-fault.ts';
import { type Decoded, decode, refusal } from '../wire/decode.ts';
import type { FieldValidation } from './write-options.ts';

export interface Submitted {
  value: unknown;
  /** Sentences about fields that occur twice. */
  duplicates: readonly string[];
}

export function incomingObject(call: Call, submitted: Submitted, validation: FieldValidation): KubeObject {
  return fitted(call, { ...submitted, value: incomingType(call, submitted) }, validation);
}

/** Checks that the body is a map and, if the body has a kind and apiVersion, that they match the URL. */
export function incomingType(call: Call, submitted: Submitted): Record<string, unknown> {
  const { kind } = call;
  // The real server reads `null` as an empty object.
  const value = submitted.value ?? {};
  if (!isRecord(value)) {
    const why = `couldn't get version/kind; json parse error: json: cannot unmarshal ${Array.isArray(value) ? 'array' : typeof value} into an object`;
    throw badRequest(`the object provided is unrecognized (must be of type ${kind.kind}): ${why}`);
  }
  checkType(call, value);
  return value;
}

/** Decodes a value whose kind needs no check, for example the result of a patch. */
export function fitted(call: Call, submitted: Submitted, validation: FieldValidation): KubeObject {
  const { kind } = call;
  const collectsTypeErrors = call.kit.dialect === 'strict';
  const names = { kind: kind.kind, version: groupVersionOf(kind), collectsTypeErrors };
  const decoded = decode(submitted.value, call.kit.catalog.schemaOf(kind), names);
  checkTypes(call, decoded, validation);
  const { value, unknownFields } = decoded;
  const faults = [...unknownFields.map((field) => `unknown field "${field}"`), ...submitted.duplicates];
  if (faults.length > 0) {
    if (validation === 'Strict') throw refusal(names, `strict decoding error: ${listed(faults)}`);
    if (validation === 'Warn') for (const fault of faults) call.warnings.push(fault);
  }
  const object = value as KubeObject;
  object.kind = kind.kind;
  object.apiVersion = groupVersionOf(kind);
  object.metadata ??= {};
  kind.strategy.setDefaults?.(object);
  return object;
}

function listed(faults: readonly string[]): string {
  const more = faults.length - maxListedErrors;
  return faults.slice(0, maxListedErrors).join(', ') + (more > 0 ? `, and ${more} more` : '');
}

/** Refuses wrong types together with all other faults of the schema, before the kind's own validation, which relies on types. */
function checkTypes(call: Call, { value, typeErrors, unknownFields }: Decoded, validation: FieldValidation): void {
  if (typeErrors.length === 0) return;
  const { kind, kit } = call;
  const inMeta = typeErrors.filter(({ path }) => /^(metadata|kind|apiVersion)(\.|\[|$)/.test(path));
  if (inMeta.length > 0) throw badRequest(inMeta.map(fieldErrorText).join(', '));
  const wrong = new Set(typeErrors.map(({ path }) => path));
  const others = schemaErrors(value, kit.catalog.schemaOf(kind)).filter(({ path }) => !wrong.has(path));
  const name = (value as Partial<KubeObject>).metadata?.name ?? '';
  const unknown =
    validation === 'Strict'
      ? unknownFields.slice(0, maxListedErrors).map((field) => forbiddenField(field, 'unknown field'))
      : [];
  throw new StatusFault(invalid(faultSubject(kind), name, [...typeErrors, ...others, ...unknown]));
}

function checkType(call: Call, value: Record<string, unknown>): void {
  const { kind } = call;
  const kindVersion = groupVersionOf(kind);
  const gotKind = value['kind'];
  const gotVersion = value['apiVersion'];
  const kindIsWrong = typeof gotKind === 'string' && gotKind !== '' && gotKind !== kind.kind;
  const versionIsWrong = typeof gotVersion === 'string' && gotVersion !== '' && gotVersion !== kindVersion;
  if (!kindIsWrong && !versionIsWrong) return;
  const sent = { kind: String(gotKind ?? kind.kind), version: String(gotVersion ?? kindVersion) };
  if (call.kit.dialect === 'strict') throw badRequest(mismatch(sent, { kind: kind.kind, version: kindVersion }));
  const slash = sent.version.indexOf('/');
  const [group, version] =
    slash < 0 ? ['', sent.version] : [sent.version.slice(0, slash), sent.version.slice(slash + 1)];
  const why = call.kit.catalog.findByKind(group, sent.kind, version)
    ? `converting (${version}.${sent.kind}) to (${kind.kind}): unknown conversion`
    : `no kind "${sent.kind}" is registered for version "${sent.version}"`;
  throw badRequest(`${sent.kind} in version "${kindVersion}" cannot be handled as a ${kind.kind}: ${why}`);
}

interface TypeNames {
  kind: string;
  version: string;
}

/** Says what would be accepted, as the real server does for custom resources. */
function mismatch(sent: TypeNames, wanted: TypeNames): string {
  const wrong = [];
  if (sent.version !== wanted.version)
    wrong.push(
      `the API version in the data (${sent.version}) does not match the expected API version (${wanted.version})`,
    );
  if (sent.kind !== wanted.kind)
    wrong.push(`the kind in the data (${sent.kind}) does not match the expected kind (${wanted.kind})`);
  return wrong.join('; ');
}

/** Fills in the namespace from the URL; refuses a body with another namespace. */
export function placeInNamespace(call: Call, object: KubeObject): void {
  const { metadata } = object;
  if (!call.kind.namespaced) {
    delete metadata.namespace;
    return;
  }
  if (metadata.namespace === undefined || metadata.namespace === '') metadata.namespace = call.target.namespace;
  else if (metadata.namespace !== call.target.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
}

export function checkName(call: Call, object: KubeObject): void {
  const { metadata } = object;
  if (metadata.name === undefined || metadata.name === '') {
    throw badRequest(
      `the name of the object (${call.target.name} based on URL) was undeterminable: name must be provided`,
    );
  }
  if (metadata.name !== call.target.name) {
    throw badRequest(
      `the name of the object (${metadata.name}) does not match the name on the URL (${call.target.name})`,
    );
  }
}
