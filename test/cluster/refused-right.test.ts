import { describe, expect, it } from 'vitest';
import { refusedRight, withShortRefusals } from '../../src/cluster/refused-right.ts';

const user = 'User "system:serviceaccount:vcluster-my-vcluster:vc-my-vcluster"';
const list = `${user} cannot list resource "configmaps" in API group ""`;
const get = 'GET /api/v1/namespaces/h/configmaps?labelSelector=a%3Db&limit=500 at https://10.0.0.1:6443: 403';
const ofLease = `leases.coordination.k8s.io "hostward-vc" is forbidden: ${user} cannot update resource "leases" in API group "coordination.k8s.io"`;

const cases: [string, string, string][] = [
  [
    'in a namespace',
    `${get} configmaps is forbidden: ${list} in the namespace "h"`,
    'not allowed to list configmaps in namespace "h"',
  ],
  ['in the whole cluster', `configmaps is forbidden: ${list} at the cluster scope`, 'not allowed to list configmaps'],
  ['cut in its namespace', `configmaps is forbidden: ${list} in the nam…`, 'not allowed to list configmaps'],
  [
    'of one object, with why',
    `${ofLease} in the namespace "h": RBAC: clusterrole "x" not found`,
    'not allowed to update leases.coordination.k8s.io in namespace "h"',
  ],
  [
    'among other words',
    `since 12:00: ${get} configmaps is forbidden: ${list} in the namespace "h"; and more`,
    'since 12:00: not allowed to list configmaps in namespace "h"; and more',
  ],
  [
    'twice',
    `${ofLease}; configmaps is forbidden: ${list}`,
    'not allowed to update leases.coordination.k8s.io; not allowed to list configmaps',
  ],
  ['of an admission plugin', 'pods "a" is forbidden: exceeded quota: q', 'pods "a" is forbidden: exceeded quota: q'],
];

describe('withShortRefusals()', () => {
  it.each(cases)('says a refusal %s in few words', (_, message, short) => {
    expect(withShortRefusals(message)).toBe(short);
  });
});

describe('refusedRight()', () => {
  it('has the verb, the resource and where', () => {
    const found = { verb: 'update', resource: 'leases', group: 'coordination.k8s.io' };
    expect(refusedRight(`${ofLease} in the namespace "h"`)).toEqual({ ...found, namespace: 'h' });
    expect(refusedRight(ofLease)).toEqual(found);
    expect(refusedRight('connection refused')).toBeUndefined();
  });
});
