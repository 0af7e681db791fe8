// Gathers the rules of aggregated ClusterRoles. In: all ClusterRoles. Out: the aggregated ones whose rules have changed. Runs once
// at start; a real cluster has a controller for this.
import { at, items, text } from '../../apiserver/kinds/fields.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { equalJson, type Json } from '../../object/text/json.ts';
import { isAggregated } from './read-policy.ts';

/** Aggregated roles may gather aggregated roles; a longer chain than this is not gathered to its end. */
const chainLimit = 10;

export function aggregated(roles: readonly KubeObject[]): KubeObject[] {
  const byName = new Map(roles.map((role) => [role.metadata.name ?? '', role]));
  const changed = new Map<string, KubeObject>();
  for (let round = 0; round < chainLimit; round++) {
    let isStable = true;
    for (const [name, role] of byName) {
      if (!isAggregated(role)) continue;
      const rules = gathered(role, [...byName.values()]);
      if (equalJson(rules as Json, (role['rules'] ?? null) as Json)) continue;
      isStable = false;
      const next = { ...role, rules };
      byName.set(name, next);
      changed.set(name, next);
    }
    if (isStable) break;
  }
  return [...changed.values()];
}

function gathered(role: KubeObject, roles: readonly KubeObject[]): unknown[] {
  const rules = new Map<string, unknown>();
  for (const selector of items(role, 'aggregationRule', 'clusterRoleSelectors')) {
    const chosen = roles.filter((other) => other.metadata.name !== role.metadata.name && selects(selector, other));
    chosen.sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
    for (const other of chosen) for (const rule of items(other, 'rules')) rules.set(JSON.stringify(rule), rule);
  }
  return [...rules.values()];
}

function selects(selector: unknown, role: KubeObject): boolean {
  const labels = role.metadata.labels ?? {};
  const wanted = Object.entries(at(selector, 'matchLabels') ?? {});
  return (
    wanted.every(([key, value]) => labels[key] === value) &&
    items(selector, 'matchExpressions').every((expression) => holds(expression, labels))
  );
}

function holds(expression: unknown, labels: Readonly<Record<string, string>>): boolean {
  const value = labels[text(expression, 'key')];
  const isListed = value !== undefined && items(expression, 'values').includes(value);
  switch (text(expression, 'operator')) {
    case 'In':
      return isListed;
    case 'NotIn':
      return !isListed;
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default:
      return false;
  }
}
