// The metadata rules for a kind, at birth and at a change.
import type { FieldError } from '../object/field-error.ts';
import { validateMeta, validateMetaUpdate } from '../object/meta-validation.ts';
import type { KubeObject } from '../object/object.ts';
import { dns1035LabelProblems, dnsLabelProblems, dnsSubdomainProblems } from '../object/qualified-name.ts';
import type { Kind } from './kind.ts';

export function metaErrors(object: KubeObject, old: KubeObject | undefined, kind: Kind): FieldError[] {
  const errors = validateMeta(object.metadata, { isNamespaced: kind.namespaced, nameProblems: nameProblems(kind) });
  if (old === undefined) return errors;
  const changes = validateMetaUpdate(object.metadata, old.metadata);
  // The real server asks twice, and a client that counts causes sees it.
  return [...changes, ...changes, ...errors];
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

/** The least that any name must be to stand in a URL. */
export function pathSegmentProblems(name: string): string[] {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  return ['/', '%'].filter((bad) => name.includes(bad)).map((bad) => `may not contain '${bad}'`);
}
