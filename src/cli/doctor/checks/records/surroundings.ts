// What a cluster does for the records beyond keeping them: who else may write them, what ends all replicas at once, and whether a heartbeat
// waits behind the requests of others. Nothing is read but policies, budgets, pods and flow schemas.
import type { ResourceRef } from '../../../../cluster/wire/scope.ts';
import { isRecord, recordsIn } from '../../../../object/text/json.ts';
import type { Check } from '../../patient/check.ts';
import { couldNotCheck, ok, unread, warning } from '../../patient/finding.ts';
import { isShared, storeOf } from './shared-store.ts';

const policies: ResourceRef = {
  path: 'apis/admissionregistration.k8s.io/v1',
  resource: 'validatingadmissionpolicies',
  kind: 'ValidatingAdmissionPolicy',
};
const bindings: ResourceRef = {
  ...policies,
  resource: 'validatingadmissionpolicybindings',
  kind: 'ValidatingAdmissionPolicyBinding',
};
const budgets: ResourceRef = { path: 'apis/policy/v1', resource: 'poddisruptionbudgets', kind: 'PodDisruptionBudget' };
const pods: ResourceRef = { path: 'api/v1', resource: 'pods', kind: 'Pod' };
const schemas: ResourceRef = {
  path: 'apis/flowcontrol.apiserver.k8s.io/v1',
  resource: 'flowschemas',
  kind: 'FlowSchema',
};

export const isProtected: Check = {
  code: 'HW-808',
  needs: ['HW-101', 'HW-804'],
  applies: isShared,
  async look(patient) {
    const { namespace } = storeOf(patient).kubernetes;
    const { client } = patient.recordsCluster;
    const [found, bound] = await Promise.all([client.tryList(policies, ''), client.tryList(bindings, '')]);
    if (found.kind === 'failed' || bound.kind === 'failed')
      return couldNotCheck('this account may not read admission policies', {
        mend: 'run doctor as an administrator of that cluster',
      });
    const mend =
      'helm upgrade with cluster=true and management.store.policy=true, or apply what `hostward docs replicas` says of the policy';
    const named = found.objects.filter(({ spec }) => guards(spec, namespace)).map(({ metadata }) => metadata.name);
    if (named.length === 0)
      return warning(
        `no ValidatingAdmissionPolicy protects the namespace ${namespace}: whoever may write Secrets there decides who is let in`,
        { mend },
      );
    const isEnforced = bound.objects.some(
      ({ spec }) =>
        isRecord(spec) &&
        named.includes(String(spec['policyName'])) &&
        Array.isArray(spec['validationActions']) &&
        spec['validationActions'].includes('Deny'),
    );
    if (isEnforced) return ok(`protected by the policy ${named[0]}`);
    return warning(`the policy ${named[0]} refuses nothing: no binding of it has the action Deny`, { mend });
  },
};

function hasOneOf(list: unknown, ...wanted: string[]): boolean {
  return Array.isArray(list) && wanted.some((one) => list.includes(one));
}

/** Refuses at least the deletion of Secrets, and speaks of the namespace. */
function guards(spec: unknown, namespace: string): boolean {
  if (!isRecord(spec) || !isRecord(spec['matchConstraints'])) return false;
  const { resourceRules } = spec['matchConstraints'];
  const rules = recordsIn(resourceRules);
  return (
    rules.some(
      ({ resources, operations }) => hasOneOf(resources, 'secrets', '*') && hasOneOf(operations, 'DELETE', '*'),
    ) && JSON.stringify([spec['matchConditions'], spec['validations'], spec['matchConstraints']]).includes(namespace)
  );
}

export const isBudgeted: Check = {
  code: 'HW-809',
  needs: ['HW-101', 'HW-806'],
  applies: isShared,
  async look(patient) {
    const { replicas } = patient.records;
    if (replicas.length < 2) return ok('one replica, and no budget is needed');
    const found = await patient.recordsCluster.client.tryList(budgets, '');
    if (found.kind === 'failed')
      return couldNotCheck('this account may not read PodDisruptionBudgets', {
        mend: 'kubectl get poddisruptionbudgets -A -l app.kubernetes.io/name=hostward   # with a kubectl that may',
      });
    const isOurs = (spec: unknown) => {
      const selector = isRecord(spec) && isRecord(spec['selector']) ? spec['selector']['matchLabels'] : undefined;
      return isRecord(selector) && selector['app.kubernetes.io/component'] === 'management';
    };
    const ours = found.objects.find(({ spec }) => isOurs(spec));
    if (ours !== undefined) return ok(`the budget ${ours.metadata.namespace}/${ours.metadata.name}`);
    return warning(
      `${replicas.length} replicas use the store, and no PodDisruptionBudget selects app.kubernetes.io/component=management: a drain may end all at once`,
      {
        mend: 'kubectl create poddisruptionbudget hostward-management --max-unavailable 1 --selector app.kubernetes.io/name=hostward,app.kubernetes.io/component=management   # in the namespace of the pods; the chart makes it with management.replicas=2',
      },
    );
  },
};

export const isSpread: Check = {
  code: 'HW-814',
  needs: ['HW-101', 'HW-806'],
  applies: isShared,
  async look(patient) {
    const { replicas } = patient.records;
    if (replicas.length < 2) return ok('one replica, and nothing to spread');
    const labelSelector = 'app.kubernetes.io/name=hostward,app.kubernetes.io/component=management';
    const found = await patient.recordsCluster.client.tryList(pods, '', { labelSelector });
    const kubectl = `kubectl get pods -A -l ${labelSelector} -o wide`;
    if (found.kind === 'failed') return unread('the pods', found.answer, kubectl);
    const nodes = found.objects
      .map(({ spec }) => (isRecord(spec) ? spec['nodeName'] : undefined))
      .filter((node) => typeof node === 'string');
    if (nodes.length < 2)
      return couldNotCheck('the replicas do not run as pods of this cluster', {
        mend: 'see yourself that no two of them run on one machine',
      });
    const different = new Set(nodes);
    if (different.size > 1) return ok(`${nodes.length} pods on ${different.size} nodes`);
    return warning(
      `all ${nodes.length} pods of the replicas run on the node ${nodes[0]}: when it fails, all of them do`,
      {
        mend: `${kubectl}   # add a node and delete one of these pods; the chart spreads them where it can`,
      },
    );
  },
};

export const isPlaced: Check = {
  code: 'HW-813',
  needs: ['HW-101', 'HW-804'],
  applies: isShared,
  async look(patient) {
    const { namespace } = storeOf(patient).kubernetes;
    const found = await patient.recordsCluster.client.tryList(schemas, '');
    if (found.kind === 'failed') return unread('the flow schemas', found.answer, 'kubectl get flowschemas');
    const named = found.objects.find(({ spec }) => isRecord(spec) && places(spec, namespace));
    if (named !== undefined) return ok(`by the FlowSchema ${named.metadata.name}`);
    return warning(
      `no FlowSchema names the namespace ${namespace}: where other programs ask the cluster for much, a heartbeat waits behind them, and a replica whose heartbeat waits five seconds answers 503`,
      {
        mend: 'helm upgrade with cluster=true and management.store.priority=true, or apply the FlowSchema and the PriorityLevelConfiguration that helm template prints with them',
      },
    );
  },
};

/** The schemas of Kubernetes itself speak of all namespaces. */
function places({ rules }: Record<string, unknown>, namespace: string): boolean {
  return recordsIn(rules).some(({ resourceRules }) =>
    recordsIn(resourceRules).some(
      ({ namespaces, resources }) => hasOneOf(namespaces, namespace) && hasOneOf(resources, 'secrets', '*'),
    ),
  );
}
