// Validates metadata for a kind, at create and at update.
import { errorsOfEach, type FieldError, invalidValue } from '../../object/meta/field-error.ts';
import { validateMeta, validateMetaUpdate } from '../../object/meta/meta-validation.ts';
import type { KubeObject, ObjectMeta } from '../../object/meta/object.ts';
import { dns1035LabelProblems, dnsLabelProblems, dnsSubdomainProblems } from '../../object/meta/qualified-name.ts';
import { equalJson, type Json } from '../../object/text/json.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Dialect } from '../request/dialect.ts';

export function metaErrors(
  object: KubeObject,
  old: KubeObject | undefined,
  { kind, dialect }: { kind: Kind; dialect: Dialect },
): FieldError[] {
  const { metadata } = object;
  // Unchanged metadata has passed the rules before, and must not fail when the rules become stricter.
  if (old !== undefined && isAsBefore(metadata, old.metadata)) return [];
  const numbersOwners = dialect === 'strict';
  const errors = [
    ...validateMeta(metadata, {
      isNamespaced: kind.namespaced,
      nameProblems: nameProblems(kind),
      numbersOwners,
    }),
    ...errorsOfEach(metadata.finalizers ?? [], finalizerErrors),
  ];
  if (old === undefined) return errors;
  errors.push(...validateMetaUpdate(metadata, old.metadata, { numbersOwners }));
  // The real server validates metadata twice on update, so each cause appears twice in its answer.
  return dialect === 'strict' ? distinct(errors) : [...errors, ...errors];
}

/** The rules for a new object and the rules for a change overlap. */
function distinct(errors: readonly FieldError[]): FieldError[] {
  return [...new Map(errors.map((error) => [JSON.stringify(error), error])).values()];
}

const judgedFields = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
] as const;

function isAsBefore(now: ObjectMeta, before: ObjectMeta): boolean {
  return judgedFields.every((field) => equalJson(now[field] as Json | undefined, before[field] as Json | undefined));
}

const standardFinalizers = ['kubernetes', 'orphan', 'foregroundDeletion'];

function finalizerErrors(name: string, index: number): FieldError[] {
  if (name.includes('/') || standardFinalizers.includes(name)) return [];
  const why = 'name is neither a standard finalizer name nor is it fully qualified';
  return [invalidValue(`metadata.finalizers[${index}]`, name, why)];
}

function nameProblems(kind: Kind): (name: string) => string[] {
  switch (kind.strategy.nameForm) {
    case 'label':
      return dnsLabelProblems;
    case 'label1035':
      return dns1035LabelProblems;
    case 'pathSegment':
      return pathSegmentProblems;
    case 'subdomain':
    case undefined:
      return dnsSubdomainProblems;
    default:
      return kind.strategy.nameForm satisfies never;
  }
}

/** The minimum rules for a name, so that it fits into one URL segment. */
export function pathSegmentProblems(name: string): string[] {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  return ['/', '%'].filter((bad) => name.includes(bad)).map((bad) => `may not contain '${bad}'`);
}
