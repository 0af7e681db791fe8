// Validates access reviews, with the messages of the real server: whose rights are asked for, and the right to exactly one thing.
import { type FieldError, invalidValue } from '../../object/meta/field-error.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { at, items, text } from './fields.ts';

/** `subject`: the review names a user or a group. `namespace` is that of a review inside a namespace. */
export function reviewErrors(review: KubeObject, about: { subject: boolean; namespace: string }): FieldError[] {
  const resource = at(review, 'spec', 'resourceAttributes');
  const path = at(review, 'spec', 'nonResourceAttributes');
  // The real server shows these attributes with their internal names.
  const shownPath = { Path: text(path, 'path'), Verb: text(path, 'verb') };
  const errors: FieldError[] = [];
  if (resource !== undefined && path !== undefined) {
    const why = 'cannot be specified in combination with resourceAttributes';
    errors.push(invalidValue('spec.nonResourceAttributes', shownPath, why));
  }
  if (resource === undefined && path === undefined) {
    const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    errors.push(invalidValue('spec.resourceAttributes', null, why));
  }
  const hasSubject = text(review, 'spec', 'user') !== '' || items(review, 'spec', 'groups').length > 0;
  if (about.subject && !hasSubject)
    errors.push(invalidValue('spec.user', '', 'at least one of user or group must be specified'));
  if (about.namespace === '') return errors;
  const asked = text(resource, 'namespace');
  if (resource !== undefined && asked !== about.namespace)
    errors.push(invalidValue('spec.resourceAttributes.namespace', asked, 'must match metadata.namespace'));
  if (path !== undefined)
    errors.push(invalidValue('spec.nonResourceAttributes', shownPath, 'disallowed on this kind of request'));
  return errors;
}
