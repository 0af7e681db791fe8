// The metadata rules for every kind. Each function returns all problems with their paths, in the words of Kubernetes, and
// changes no input.

import { equalJson, type Json } from '../text/json.ts';
import {
  errorsOfEach,
  type FieldError,
  forbiddenField,
  invalidValue,
  maxListedErrors,
  requiredValue,
  tooLong,
} from './field-error.ts';
import type { ObjectMeta, OwnerReference } from './object.ts';
import { dnsLabelProblems, dnsSubdomainProblems, labelKeyProblems, labelValueProblems } from './qualified-name.ts';

/** Limit for all keys and values of the annotations together: TotalAnnotationSizeLimitB of apimachinery. */
export const maxAnnotationBytes = 256 * 1024;

export interface MetaRules {
  isNamespaced: boolean;
  /** Returns the problems of a name; the default is the DNS subdomain rule of most kinds. */
  nameProblems?: (name: string) => string[];
  path?: string;
  /** Faults of owner references say which of them. */
  numbersOwners?: boolean;
}

/** Expects an object with valid types; the decoder checks the types. */
export function validateMeta(metadata: ObjectMeta, rules: MetaRules): FieldError[] {
  const { isNamespaced, nameProblems = dnsSubdomainProblems, path = 'metadata' } = rules;
  const errors: FieldError[] = [];
  const { name = '', namespace = '' } = metadata;
  if (name === '') errors.push(requiredValue(`${path}.name`, 'name or generateName is required'));
  else errors.push(...nameProblems(name).map((problem) => invalidValue(`${path}.name`, name, problem)));
  if (!isNamespaced) {
    if (namespace !== '') errors.push(forbiddenField(`${path}.namespace`, 'not allowed on this type'));
  } else if (namespace === '') {
    errors.push(requiredValue(`${path}.namespace`));
  } else {
    for (const problem of dnsLabelProblems(namespace))
      errors.push(invalidValue(`${path}.namespace`, namespace, problem));
  }
  return [...errors, ...validateChangeableMeta(metadata, rules)];
}

/** Checks the fields that an update must not change, and the rules for the fields that it may change. */
export function validateMetaUpdate(
  now: ObjectMeta,
  before: ObjectMeta,
  rules: Pick<MetaRules, 'path' | 'numbersOwners'> = {},
): FieldError[] {
  const { path = 'metadata' } = rules;
  const errors: FieldError[] = [];
  if (before.deletionTimestamp !== undefined) {
    const had = new Set(before.finalizers);
    const added = (now.finalizers ?? []).filter((finalizer) => !had.has(finalizer));
    if (added.length > 0) {
      const why = `no new finalizers can be added if the object is being deleted, found new finalizers ${goStrings(added.slice(0, maxListedErrors))}`;
      errors.push(forbiddenField(`${path}.finalizers`, why));
    }
  }
  for (const field of immutableFields) {
    if (equalJson((now[field] ?? null) as Json, (before[field] ?? null) as Json)) continue;
    errors.push(invalidValue(`${path}.${field}`, now[field], 'field is immutable'));
  }
  return [...errors, ...validateChangeableMeta(now, rules)];
}

const immutableFields = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const;

function validateLabels(labels: Readonly<Record<string, string>>, path: string): FieldError[] {
  return errorsOfEach(Object.entries(labels), ([key, value]) => [
    ...labelKeyProblems(key).map((problem) => invalidValue(path, key, problem)),
    ...labelValueProblems(value).map((problem) => invalidValue(path, value, problem)),
  ]);
}

function validateAnnotations(annotations: Readonly<Record<string, string>>, path: string): FieldError[] {
  const errors = errorsOfEach(Object.keys(annotations), (key) =>
    // Annotation keys allow upper case everywhere, unlike label keys.
    labelKeyProblems(key.toLowerCase()).map((problem) => invalidValue(path, key, problem)),
  );
  if (!areWithin(Object.entries(annotations), maxAnnotationBytes)) errors.push(tooLong(path, maxAnnotationBytes));
  return errors;
}

export function entryBytes(entries: Iterable<readonly [key: string, value: string]>): number {
  let bytes = 0;
  for (const [key, value] of entries) bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  return bytes;
}

/** Whether the entries need at most `maxBytes`. Most are far shorter, so that the exact count is rarely needed. */
export function areWithin(entries: Iterable<readonly [key: string, value: string]>, maxBytes: number): boolean {
  let characters = 0;
  const count = (value: string, key: string): void => {
    characters += key.length + value.length;
  };
  // forEach avoids the allocation of a pair for each entry.
  if (entries instanceof Map) entries.forEach(count);
  else for (const [key, value] of entries) count(value, key);
  return characters * mostBytesOfCharacter <= maxBytes || entryBytes(entries) <= maxBytes;
}

const mostBytesOfCharacter = 3;

/** `numbersEntries`: the path of a fault says which entry has it; a real server names the list alone. */
function validateOwnerReferences(
  references: readonly OwnerReference[],
  path: string,
  numbersEntries = false,
): FieldError[] {
  let controller: string | undefined;
  return errorsOfEach(references, (reference, index) => {
    const errors: FieldError[] = [];
    const { apiVersion, kind, name, uid } = reference;
    const entry = numbersEntries ? `${path}[${index}]` : path;
    if (!/(^|\/)[^/]+$/.test(apiVersion ?? '')) {
      errors.push(invalidValue(`${entry}.apiVersion`, apiVersion ?? '', 'version must not be empty'));
    }
    for (const [field, value] of Object.entries({ kind, name, uid })) {
      if ((value ?? '') === '') errors.push(invalidValue(`${entry}.${field}`, '', 'must not be empty'));
    }
    if (apiVersion === 'v1' && kind === 'Event') {
      errors.push(invalidValue(entry, reference, '/v1, Kind=Event is disallowed from being an owner'));
    }
    if (reference.controller !== true) return errors;
    const thisOne = `${kind}/${name}`;
    if (controller === undefined) {
      controller = thisOne;
      return errors;
    }
    const why = `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${thisOne}`;
    return [...errors, invalidValue(path, references, why)];
  });
}

function validateFinalizers(finalizers: readonly string[], path: string): FieldError[] {
  const errors = errorsOfEach(finalizers, (finalizer) =>
    labelKeyProblems(finalizer).map((problem) => invalidValue(path, finalizer, problem)),
  );
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    errors.push(invalidValue(path, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set'));
  }
  return errors;
}

function validateChangeableMeta(
  metadata: ObjectMeta,
  { path = 'metadata', numbersOwners }: Pick<MetaRules, 'path' | 'numbersOwners'>,
): FieldError[] {
  const errors: FieldError[] = [];
  if ((metadata.generation ?? 0) < 0) {
    errors.push(invalidValue(`${path}.generation`, metadata.generation, 'must be greater than or equal to 0'));
  }
  return [
    ...errors,
    ...validateLabels(metadata.labels ?? {}, `${path}.labels`),
    ...validateAnnotations(metadata.annotations ?? {}, `${path}.annotations`),
    ...validateOwnerReferences(metadata.ownerReferences ?? [], `${path}.ownerReferences`, numbersOwners),
    ...validateFinalizers(metadata.finalizers ?? [], `${path}.finalizers`),
  ];
}

/** The Go format %#v for a list of strings. */
function goStrings(texts: readonly string[]): string {
  return `[]string{${texts.map((text) => JSON.stringify(text)).join(', ')}}`;
}
