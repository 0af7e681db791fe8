// Which rights an account holds beyond a list. In: a connection, the rules that are allowed. Out: a line for each other right. Rules
// that every account of a cluster has are not counted.

import type { Permission } from '../../../cluster/permission.ts';
import type { Connection } from '../../../cluster/wire/connection.ts';
import { selfReview } from '../../../cluster/wire/probe.ts';
import { isRecord, textsIn } from '../../../object/text/json.ts';
import type { ResourceRule } from './shipped-rules.ts';

/** Granted to all by the roles that every Kubernetes has. */
const everyones: readonly ResourceRule[] = [
  {
    apiGroups: ['authorization.k8s.io'],
    resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
    verbs: ['create'],
  },
  { apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'], verbs: ['create'] },
  { apiGroups: ['certificates.k8s.io'], resources: ['clustertrustbundles'], verbs: ['get', 'list', 'watch'] },
];

export type HeldRights = { kind: 'held'; rules: readonly ResourceRule[] } | { kind: 'unknown'; reason: string };

export async function heldRights(connection: Connection, namespace: string): Promise<HeldRights> {
  const status = await selfReview(connection, 'authorization.k8s.io', 'SelfSubjectRulesReview', { namespace });
  const rules = isRecord(status) ? status['resourceRules'] : undefined;
  if (!isRecord(status) || !Array.isArray(rules)) return { kind: 'unknown', reason: 'the cluster lists no rights' };
  if (status['incomplete'] === true) return { kind: 'unknown', reason: 'the cluster cannot list all rights' };
  return { kind: 'held', rules: rules.filter(isRecord).map(ruleOf) };
}

function ruleOf(rule: Record<string, unknown>): ResourceRule {
  const names = textsIn(rule['resourceNames']);
  const suffix = names.length === 0 ? '' : ` ${names.join(', ')}`;
  return {
    verbs: textsIn(rule['verbs']),
    apiGroups: textsIn(rule['apiGroups']),
    // A right on named objects is smaller than one on all of them; its names stay in the text.
    resources: textsIn(rule['resources']).map((one) => `${one}${suffix}`),
  };
}

/** A line for each resource, with the verbs that nothing allows. */
export function surplusOf(held: readonly ResourceRule[], allowed: readonly (ResourceRule | Permission)[]): string[] {
  const known = new Set([...everyones, ...allowed.map(asRule)].flatMap((rule) => rights(rule).map(keyOfRight)));
  const lines = new Map<string, Set<string>>();
  for (const right of held.flatMap(rights)) {
    const [plain = ''] = right.resource.split(' ');
    if (known.has(keyOfRight({ ...right, resource: plain }))) continue;
    const what = right.group === '' ? right.resource : `${right.resource}.${right.group}`;
    lines.set(what, (lines.get(what) ?? new Set()).add(right.verb));
  }
  return [...lines].map(([what, verbs]) => `${[...verbs].join(', ')} on ${what}`).sort();
}

function asRule(one: ResourceRule | Permission): ResourceRule {
  return 'verbs' in one ? one : { verbs: [one.verb], apiGroups: [one.group], resources: [one.resource] };
}

interface Right {
  group: string;
  resource: string;
  verb: string;
}

function rights({ verbs, apiGroups, resources }: ResourceRule): Right[] {
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) => verbs.map((verb) => ({ group, resource, verb }))),
  );
}

function keyOfRight({ group, resource, verb }: Right): string {
  return JSON.stringify([group, resource, verb]);
}
