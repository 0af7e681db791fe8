// Validates metadata for a kind, at create and at update.
import { errorsOfEach, type FieldError, invalidValue, tooLong } from '../../object/meta/field-error.ts';
import { validateMeta, validateMetaUpdate } from '../../object/meta/meta-validation.ts';
import type { KubeObject, ObjectMeta } from '../../object/meta/object.ts';
import { dns1035LabelProblems, dnsLabelProblems, dnsSubdomainProblems } from '../../object/meta/qualified-name.ts';
import { equalJson, isRecord, type Json } from '../../object/text/json.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Dialect } from '../request/dialect.ts';

/** The real server's limits: every stored entry of managedFields repeats the name, and conflicts quote it. */
const maxManagerBytes = 128;
const maxSubresourceBytes = 256;

/** Letters, marks, digits, punctuation, symbols and the plain space: a line break would forge a line of a log. */
const unprintable = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

export function managerErrors(manager: string, path: string): FieldError[] {
  if (Buffer.byteLength(manager) > maxManagerBytes) {
    return [tooLong(path, maxManagerBytes)];
  }
  const found = unprintable.exec(manager);
  if (found === null) return [];
  const code = (found[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  const position = Buffer.byteLength(manager.slice(0, found.index));
  return [invalidValue(path, manager, `invalid character U+${code} (at position ${position})`)];
}

export function metaErrors(
  object: KubeObject,
  old: KubeObject | undefined,
  { kind, dialect }: { kind: Kind; dialect: Dialect },
): FieldError[] {
  const { metadata } = object;
  const ofManagers = entryErrors(metadata.managedFields ?? [], old?.metadata.managedFields ?? []);
  // Unchanged metadata has passed the rules before, and must not fail when the rules become stricter.
  if (old !== undefined && isAsBefore(metadata, old.metadata)) return ofManagers;
  const numbersOwners = dialect === 'strict';
  const errors = [
    ...validateMeta(metadata, {
      isNamespaced: kind.namespaced,
      nameProblems: nameProblems(kind),
      numbersOwners,
    }),
    ...errorsOfEach(metadata.finalizers ?? [], finalizerErrors),
    ...ofManagers,
  ];
  if (old === undefined) return errors;
  errors.push(...validateMetaUpdate(metadata, old.metadata, { numbersOwners }));
  // The real server validates metadata twice on update, so each cause appears twice in its answer.
  return dialect === 'strict' ? distinct(errors) : [...errors, ...errors];
}

/** A client may send the entries of others. Those that are stored have passed the rules of their time. */
function entryErrors(entries: readonly unknown[], stored: readonly unknown[]): FieldError[] {
  const named = (entry: unknown) => (isRecord(entry) ? JSON.stringify([entry['manager'], entry['subresource']]) : '');
  const known = new Set(stored.map(named));
  return errorsOfEach(entries, (entry, index) => {
    if (known.has(named(entry))) return [];
    const { manager, subresource } = isRecord(entry) ? entry : {};
    const path = `metadata.managedFields[${index}]`;
    const errors = typeof manager === 'string' ? managerErrors(manager, `${path}.manager`) : [];
    const isLong = typeof subresource === 'string' && Buffer.byteLength(subresource) > maxSubresourceBytes;
    return isLong ? [...errors, tooLong(`${path}.subresource`, maxSubresourceBytes)] : errors;
  });
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
