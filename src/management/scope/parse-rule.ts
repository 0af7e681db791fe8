// Reads one of the deprecated rules of a scope and reports every fault with its field.
import { isDnsLabel } from '../../config/settings/text-rules.ts';
import {
  type FieldError,
  forbiddenField,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from '../../object/meta/field-error.ts';
import { isRecord, textsIn } from '../../object/text/json.ts';
import { isResourcePattern, overlappingPatterns, patternWords } from './patterns/resource-patterns.ts';
import { isURLPattern, urlPatternWords } from './patterns/url-patterns.ts';
import { type RequestTarget, type RuleEntry, type RuleResources, requestTargets } from './scope.ts';

const verbs = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
  // Methods of requests that are about no resource.
  'head',
  'post',
  'put',
  'options',
];

/** A person does not write longer lists, and every request is compared with each item. */
const maxItems = 256;

const groupForm = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

export function parseRule(item: Record<string, unknown>, path: string): { rule?: RuleEntry; errors: FieldError[] } {
  const errors: FieldError[] = [];
  const texts = (field: string) => textsOf(item, field, path, errors);
  const rule = {
    kind: 'rule' as const,
    verbs: verbsOf(texts('verbs'), `${path}.verbs`, errors),
    resources: resourcesOf(item, path, errors),
    resourceNames: texts('resourceNames'),
    namespaces: texts('namespaces'),
    nonResourceURLs: texts('nonResourceURLs'),
    cluster: textOf(item, 'cluster'),
    virtualClusters: virtualClustersOf(item, path, errors),
  };
  for (const [index, name] of rule.resourceNames.entries()) {
    if (name === '') errors.push(invalidValue(`${path}.resourceNames[${index}]`, name, 'must not be empty'));
  }
  for (const [index, namespace] of rule.namespaces.entries()) {
    if (namespace === '' || isDnsLabel(namespace)) continue;
    const words = 'must be a DNS label, or empty for requests without namespace';
    errors.push(invalidValue(`${path}.namespaces[${index}]`, namespace, words));
  }
  for (const [index, url] of rule.nonResourceURLs.entries()) {
    if (!isURLPattern(url))
      errors.push(invalidValue(`${path}.nonResourceURLs[${index}]`, url, `must be ${urlPatternWords}`));
  }
  if (rule.cluster !== '' && !isDnsLabel(rule.cluster))
    errors.push(invalidValue(`${path}.cluster`, rule.cluster, 'must be the name of a cluster'));
  errors.push(...combinationFaults(rule, path));
  const named = texts('requestTargets');
  for (const [index, target] of named.entries()) {
    if (!isRequestTarget(target))
      errors.push(unsupportedValue(`${path}.requestTargets[${index}]`, target, requestTargets));
  }
  if (errors.length > 0) return { errors };
  return { rule: { ...rule, targets: targetsOf(named.filter(isRequestTarget), rule) }, errors };
}

function combinationFaults(rule: Omit<RuleEntry, 'targets'>, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (rule.resourceNames.length > 0 && rule.resources.length === 0)
    errors.push(requiredValue(`${path}.resources`, 'resourceNames need the resources that they name'));
  const others = [
    ...(rule.resources.length > 0 ? ['resources'] : []),
    ...(rule.namespaces.length > 0 ? ['namespaces'] : []),
  ];
  if (rule.nonResourceURLs.length > 0 && others.length > 0) {
    const detail = `may not stand together with ${others.join(' and ')}; write two rules`;
    errors.push(forbiddenField(`${path}.nonResourceURLs`, detail));
  }
  if (rule.cluster !== '' && rule.virtualClusters.length > 0) {
    const detail = 'may not stand together with cluster: no request goes to both; write two rules';
    errors.push(forbiddenField(`${path}.virtualClusters`, detail));
  }
  return errors;
}

function verbsOf(given: string[], path: string, errors: FieldError[]): string[] {
  if (given.length === 1 && given[0] === '*') return [];
  for (const [index, verb] of given.entries()) {
    if (verb === '*') {
      errors.push(invalidValue(`${path}[${index}]`, verb, '"*" stands alone; it is every verb, as the empty list is'));
    } else if (!verbs.includes(verb)) errors.push(unsupportedValue(`${path}[${index}]`, verb, verbs));
  }
  return given;
}

function resourcesOf(item: Record<string, unknown>, path: string, errors: FieldError[]): RuleResources[] {
  const list = item['resources'];
  if (!Array.isArray(list)) return [];
  if (list.length > maxItems) errors.push(tooMany(`${path}.resources`, list.length));
  return list.slice(0, maxItems).flatMap((entry: unknown, index) => {
    if (!isRecord(entry)) return [];
    const place = `${path}.resources[${index}]`;
    const group = textOf(entry, 'group');
    if (group !== '' && !groupForm.test(group))
      errors.push(invalidValue(`${place}.group`, group, 'must be an API group; the empty text is the core group'));
    const patterns = textsOf(entry, 'resources', place, errors);
    for (const [at, pattern] of patterns.entries()) {
      if (!isResourcePattern(pattern))
        errors.push(invalidValue(`${place}.resources[${at}]`, pattern, `must be ${patternWords}`));
    }
    for (const { index: at, other } of overlappingPatterns(patterns)) {
      const detail = `overlaps with "${other}"; with a wildcard, entries must not overlap`;
      errors.push(invalidValue(`${place}.resources[${at}]`, patterns[at], detail));
    }
    return [{ group, patterns }];
  });
}

function virtualClustersOf(item: Record<string, unknown>, path: string, errors: FieldError[]) {
  const list = item['virtualClusters'];
  if (!Array.isArray(list)) return [];
  if (list.length > maxItems) errors.push(tooMany(`${path}.virtualClusters`, list.length));
  return list.slice(0, maxItems).flatMap((entry: unknown, index) => {
    if (!isRecord(entry)) return [];
    const fields = { name: textOf(entry, 'name'), namespace: textOf(entry, 'namespace') };
    for (const [field, value] of Object.entries(fields)) {
      if (value === '' || isDnsLabel(value)) continue;
      const place = `${path}.virtualClusters[${index}].${field}`;
      errors.push(invalidValue(place, value, 'must be a DNS label, or empty for all'));
    }
    return [fields];
  });
}

function targetsOf(
  named: readonly RequestTarget[],
  rule: Pick<RuleEntry, 'cluster' | 'virtualClusters'>,
): ReadonlySet<RequestTarget> {
  const possible = named.length === 0 ? requestTargets : named;
  if (rule.cluster !== '') return new Set(possible.filter((target) => target === 'Cluster'));
  if (rule.virtualClusters.length > 0) return new Set(possible.filter((target) => target === 'ProjectVirtualCluster'));
  return new Set(possible);
}

function isRequestTarget(text: string): text is RequestTarget {
  return (requestTargets as readonly string[]).includes(text);
}

function textOf(item: Record<string, unknown>, field: string): string {
  const value = item[field];
  return typeof value === 'string' ? value : '';
}

function textsOf(item: Record<string, unknown>, field: string, path: string, errors: FieldError[]): string[] {
  const texts = textsIn(item[field]);
  if (texts.length > maxItems) errors.push(tooMany(`${path}.${field}`, texts.length));
  return texts.slice(0, maxItems);
}

function tooMany(path: string, count: number): FieldError {
  return invalidValue(path, count, `at most ${maxItems} items are allowed`);
}
