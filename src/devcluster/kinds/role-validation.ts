// Validates roles and bindings, with the messages of the real server.
import { at, items, text } from '../../apiserver/kinds/fields.ts';
import { pathSegmentProblems } from '../../apiserver/meta/validate-meta.ts';
import { type FieldError, invalidValue, requiredValue, unsupportedValue } from '../../object/meta/field-error.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { dnsSubdomainProblems, labelKeyProblems, labelValueProblems } from '../../object/meta/qualified-name.ts';
import { equalJson, type Json } from '../../object/text/json.ts';

export const rbacGroup = 'rbac.authorization.k8s.io';

export function ruleErrors(role: KubeObject, isNamespaced: boolean): FieldError[] {
  return items(role, 'rules').flatMap((rule, index) => oneRule(rule, `rules[${index}]`, isNamespaced));
}

function oneRule(rule: unknown, path: string, isNamespaced: boolean): FieldError[] {
  const errors: FieldError[] = [];
  if (items(rule, 'verbs').length === 0)
    errors.push(requiredValue(`${path}.verbs`, 'verbs must contain at least one value'));
  const urls = items(rule, 'nonResourceURLs');
  const hasGroups = items(rule, 'apiGroups').length > 0;
  const hasResources = items(rule, 'resources').length > 0;
  if (urls.length > 0) {
    const where = `${path}.nonResourceURLs`;
    if (isNamespaced) errors.push(invalidValue(where, urls, 'namespaced rules cannot apply to non-resource URLs'));
    if (hasGroups || hasResources || items(rule, 'resourceNames').length > 0) {
      errors.push(invalidValue(where, urls, 'rules cannot apply to both regular resources and non-resource URLs'));
    }
    return errors;
  }
  if (!hasGroups) errors.push(requiredValue(`${path}.apiGroups`, 'resource rules must supply at least one api group'));
  if (!hasResources)
    errors.push(requiredValue(`${path}.resources`, 'resource rules must supply at least one resource'));
  return errors;
}

export function aggregationErrors(role: KubeObject): FieldError[] {
  if (at(role, 'aggregationRule') === undefined) return [];
  const path = 'aggregationRule.clusterRoleSelectors';
  const selectors = items(role, 'aggregationRule', 'clusterRoleSelectors');
  if (selectors.length === 0)
    return [requiredValue(path, 'at least one clusterRoleSelector required if aggregationRule is non-nil')];
  return selectors.flatMap((selector, index) => selectorErrors(selector, `${path}[${index}]`));
}

function selectorErrors(selector: unknown, path: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const [key, value] of Object.entries(at(selector, 'matchLabels') ?? {})) {
    errors.push(...labelKeyProblems(key).map((why) => invalidValue(`${path}.matchLabels`, key, why)));
    const problems = labelValueProblems(String(value));
    errors.push(...problems.map((why) => invalidValue(`${path}.matchLabels`, value, why)));
  }
  items(selector, 'matchExpressions').forEach((expression, index) => {
    errors.push(...expressionErrors(expression, `${path}.matchExpressions[${index}]`));
  });
  if (errors.length > 0) errors.push(invalidValue(path, null, 'invalid label selector.'));
  return errors;
}

function expressionErrors(expression: unknown, path: string): FieldError[] {
  const key = text(expression, 'key');
  const operator = text(expression, 'operator');
  const values = items(expression, 'values').map(String);
  const errors: FieldError[] = [];
  const isList = operator === 'In' || operator === 'NotIn';
  const isPresence = operator === 'Exists' || operator === 'DoesNotExist';
  if (isList && values.length === 0)
    errors.push(requiredValue(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
  if (isPresence && values.length > 0)
    errors.push({
      type: 'FieldValueForbidden',
      path: `${path}.values`,
      message: "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
    });
  if (!isList && !isPresence) errors.push(invalidValue(`${path}.operator`, operator, 'not a valid selector operator'));
  errors.push(...labelKeyProblems(key).map((why) => invalidValue(`${path}.key`, key, why)));
  values.forEach((value, index) => {
    errors.push(...labelValueProblems(value).map((why) => invalidValue(`${path}.values[${index}]`, value, why)));
  });
  return errors;
}

/** `roleKinds` are the kinds of roles that such a binding may name. */
export function bindingErrors(
  binding: KubeObject,
  old: KubeObject | undefined,
  roleKinds: readonly string[],
): FieldError[] {
  const errors: FieldError[] = [];
  const group = text(binding, 'roleRef', 'apiGroup');
  const kind = text(binding, 'roleRef', 'kind');
  const name = text(binding, 'roleRef', 'name');
  if (group !== rbacGroup) errors.push(unsupportedValue('roleRef.apiGroup', group, [rbacGroup]));
  if (!roleKinds.includes(kind)) errors.push(unsupportedValue('roleRef.kind', kind, roleKinds));
  if (name === '') errors.push(requiredValue('roleRef.name'));
  else errors.push(...pathSegmentProblems(name).map((why) => invalidValue('roleRef.name', name, why)));
  const isNamespaced = roleKinds.includes('Role');
  items(binding, 'subjects').forEach((subject, index) => {
    errors.push(...subjectErrors(subject, `subjects[${index}]`, isNamespaced));
  });
  if (old !== undefined && !equalJson((binding['roleRef'] ?? null) as Json, (old['roleRef'] ?? null) as Json)) {
    // The real server shows the reference with its internal names.
    errors.push(invalidValue('roleRef', { APIGroup: group, Kind: kind, Name: name }, 'cannot change roleRef'));
  }
  return errors;
}

function subjectErrors(subject: unknown, path: string, isNamespaced: boolean): FieldError[] {
  const errors: FieldError[] = [];
  const name = text(subject, 'name');
  const group = text(subject, 'apiGroup');
  const kind = text(subject, 'kind');
  if (name === '') errors.push(requiredValue(`${path}.name`));
  switch (kind) {
    case 'ServiceAccount':
      if (name !== '') errors.push(...dnsSubdomainProblems(name).map((why) => invalidValue(`${path}.name`, name, why)));
      if (group !== '') errors.push(unsupportedValue(`${path}.apiGroup`, group, ['']));
      if (!isNamespaced && text(subject, 'namespace') === '') errors.push(requiredValue(`${path}.namespace`));
      break;
    case 'User':
    case 'Group':
      if (group !== rbacGroup) errors.push(unsupportedValue(`${path}.apiGroup`, group, [rbacGroup]));
      break;
    default:
      errors.push(unsupportedValue(`${path}.kind`, kind, ['ServiceAccount', 'User', 'Group']));
  }
  return errors;
}
