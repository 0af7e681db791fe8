// The checks of rights: each one that the daemon needs, and for a ServiceAccount of Hostward's own each one too many. What is needed
// comes from the daemon's own list, what else may be held from the shipped Roles.

import { lostNamespaces, type Permission } from '../../../cluster/permission.ts';
import { namesNobody, reviewAll, userOf } from '../../../cluster/wire/probe.ts';
import { copyNamespaces, mappingsOf } from '../../../config/settings/host-namespaces.ts';
import { needsLease } from '../../../daemon/clusters/lease.ts';
import { type Permissions, permissionsOf, slicePermissions } from '../../../daemon/synced/permissions.ts';
import { referenceSettings } from '../../../daemon/synced/references.ts';
import { counted } from '../../../object/text/in-words.ts';
import type { Side } from '../../line/cluster-client.ts';
import type { Check } from '../patient/check.ts';
import { couldNotCheck, type Finding, fault, faultOf, ok, warning } from '../patient/finding.ts';
import { type Patient, readNamespace } from '../patient/patient.ts';
import { shippedRules } from '../patient/shipped-rules.ts';
import { heldRights, surplusOf } from '../patient/surplus.ts';
import { unserved } from './served.ts';

const leases = 'leases';

function neededBy(patient: Patient): Permissions {
  const { settings, loaded } = patient;
  const needs = { settings, isDryRun: false, needsLease: needsLease(settings, false) };
  const references = referenceSettings(settings, loaded.compiled);
  return permissionsOf({ ...needs, references, copyNamespaces: hostNamespaces(patient) });
}

/** Without the lease, which has a check of its own. */
function neededOnHost(patient: Patient): Permission[] {
  return neededBy(patient).host.filter((one) => !isLease(one));
}

function slicesNeededBy(patient: Patient): Permissions {
  return slicePermissions({ copyNamespaces: hostNamespaces(patient), isDryRun: false });
}

function hostNamespaces({ settings }: Patient): readonly (string | undefined)[] {
  return copyNamespaces(mappingsOf(settings), settings.hostNamespace);
}

/** `isAllHere`: without one of these rights the daemon has no use for a namespace. */
export async function review(
  patient: Patient,
  side: Side,
  needed: readonly Permission[],
  { isAllHere = false } = {},
): Promise<Finding> {
  const unanswered: string[] = [];
  const reviews = await reviewAll(patient.cluster(side).connection, needed, (why) => unanswered.push(why));
  if (reviews.includes('nobody')) return faultOf(namesNobody(side));
  const user = await userOf(patient.cluster(side).connection);
  const who = user ?? 'the user of the kubeconfig';
  const denied = needed.filter((_, index) => reviews[index] === 'denied');
  if (denied.length > 0) {
    patient.takeLacked(side, user, denied);
    const details = grouped(denied).map(({ verbs, what, where }) => `${verbs.join(', ')} on ${what} ${where}`);
    const shut = isAllHere ? shutNamespaces(patient, needed, denied) : [];
    const says = `${who} lacks ${counted(denied.length, 'right')} of ${needed.length}${shut.map(shutText).join('')}`;
    return fault(says, { details, mend: grantCommand(patient, side) });
  }
  if (unanswered.length > 0) return noVerdict(unanswered);
  return (await unserved(patient, side, needed)) ?? ok(`${who} has all ${needed.length}`);
}

/** A server that is busy or broken is no missing right, so its first answer is shown. */
export function noVerdict(unanswered: readonly string[]): Finding {
  const [first = ''] = unanswered;
  return couldNotCheck(`${counted(unanswered.length, 'review')} of rights got no verdict, first: ${first}`, {
    mend: listRights,
    isUnanswered: true,
  });
}

/** Those in which the account has no right at all, and that were not seen to stand. */
function shutNamespaces(patient: Patient, needed: readonly Permission[], denied: readonly Permission[]): string[] {
  const { hostNamespace } = patient.settings;
  const lost = lostNamespaces(needed, (one) => denied.includes(one));
  return [...lost.keys()].filter((name) => name !== hostNamespace || !patient.hasSeenNamespace);
}

function shutText(namespace: string): string {
  return `; namespace ${namespace} is being deleted or missing, or has no Role for it (kubectl get namespace ${namespace})`;
}

const listRights = 'kubectl auth can-i --list   # with the same kubeconfig';

interface Group {
  group: string;
  resource: string;
  namespace: string | undefined;
  verbs: string[];
  what: string;
  where: string;
}

function grouped(permissions: readonly Permission[]): Group[] {
  const groups = new Map<string, Group>();
  for (const { verb, group, resource, namespace } of permissions) {
    const key = JSON.stringify([group, resource, namespace]);
    const what = group === '' ? resource : `${resource}.${group}`;
    const where = namespace === undefined ? 'in all namespaces' : `in namespace ${namespace}`;
    const known = groups.get(key) ?? { group, resource, namespace, verbs: [], what, where };
    known.verbs.push(verb);
    groups.set(key, known);
  }
  return [...groups.values()];
}

export function rightsCommand(patient: Patient, side: Side): string {
  return patient.commandHere('doctor', [`--rights ${side} | kubectl auth reconcile -f -`]);
}

/** The command comes first, because people copy it. */
export function grantCommand(patient: Patient, side: Side): string {
  const { virtualClusterName, hostNamespace, namespaces } = patient.settings;
  const command = rightsCommand(patient, side);
  if (side === 'virtual')
    return `${command}   # with a kubectl that may grant them in the virtual cluster; or use the kubeconfig of the Secret vc-${virtualClusterName} in ${hostNamespace}`;
  const upgrade = `helm upgrade hostward config/chart -n ${hostNamespace} --reuse-values, where hostward is the release that helm list shows (Helm 4: and --force-conflicts if it reports a conflict)`;
  const byHand = namespaces.enabled
    ? 'with cluster=false, or without the chart, config/cluster-role.yaml'
    : 'without the chart config/role.yaml';
  return `${command}   # with a kubectl that may grant them; for good: ${upgrade}; ${byHand} with your names in it`;
}

function isLease({ resource }: Permission): boolean {
  return resource === leases;
}

const isInstalled = (patient: Patient): boolean => patient.hasSync && !patient.isBeforeInstallation;

/** What is asked of another cluster would mislead. */
const isVirtualAsked = (patient: Patient): boolean => patient.hasSync && !patient.isVirtualAnother;

/** HW-502 has said what all the others would say. */
const isAsked = (patient: Patient): boolean => isInstalled(patient) && patient.homeInstead === undefined;

const inVirtual: Check = {
  code: 'HW-501',
  needs: ['HW-201'],
  applies: isVirtualAsked,
  look: (patient) => review(patient, 'virtual', neededBy(patient).virtual),
};

const onHost: Check = {
  code: 'HW-502',
  needs: ['HW-301', 'HW-306'],
  applies: isInstalled,
  look: async (patient) =>
    patient.notItsNamespace ?? review(patient, 'host', neededOnHost(patient), { isAllHere: true }),
};

const slicesInVirtual: Check = {
  code: 'HW-503',
  needs: ['HW-201'],
  applies: (patient) => isVirtualAsked(patient) && patient.settings.endpointSlices.enabled,
  look: (patient) => review(patient, 'virtual', slicesNeededBy(patient).virtual),
};

const slicesOnHost: Check = {
  code: 'HW-504',
  needs: ['HW-301', 'HW-306'],
  applies: (patient) => isAsked(patient) && patient.settings.endpointSlices.enabled,
  look: (patient) => review(patient, 'host', slicesNeededBy(patient).host),
};

const onLease: Check = {
  code: 'HW-505',
  needs: ['HW-301', 'HW-306'],
  applies: (patient) => isAsked(patient) && needsLease(patient.settings, false),
  look: (patient) => review(patient, 'host', neededBy(patient).host.filter(isLease)),
};

async function judgeSurplus(patient: Patient, side: Side, needed: readonly Permission[]): Promise<Finding> {
  const { connection } = patient.cluster(side);
  const { settings } = patient;
  const user = await userOf(connection);
  if (user === undefined)
    return couldNotCheck('the cluster does not say whose credentials these are', {
      mend: 'kubectl auth whoami   # with the same kubeconfig',
    });
  const account = /^system:serviceaccount:[^:]+:([^:]+)$/.exec(user)?.[1];
  if (account === undefined) return ok(`not judged: ${user} is no ServiceAccount of Hostward's own`);
  // The sidecar acts as vCluster, which needs much more.
  if (account === `vc-${settings.virtualClusterName}`)
    return ok(`not judged: ${user} is the ServiceAccount of vCluster`);
  const held = await heldRights(connection, side === 'host' ? settings.hostNamespace : 'default');
  if (held.kind === 'unknown') return couldNotCheck(held.reason, { mend: listRights });
  const surplus = surplusOf(held.rules, [...needed, ...(side === 'host' ? shippedRules : [])]);
  if (surplus.length === 0) return ok(`${user} has none`);
  const mend = 'remove the rights above from the Role or the binding; config/role.yaml has what Hostward needs';
  return warning(`${user} has ${counted(surplus.length, 'right')} that Hostward never uses`, {
    details: surplus,
    mend,
  });
}

const surplusOnHost: Check = {
  code: 'HW-506',
  needs: ['HW-301', 'HW-306'],
  applies: isAsked,
  look: (patient) => judgeSurplus(patient, 'host', [...neededBy(patient).host, ...slicesNeededBy(patient).host]),
};

const surplusInVirtual: Check = {
  code: 'HW-507',
  needs: ['HW-201'],
  applies: (patient) => isInstalled(patient) && isVirtualAsked(patient),
  look: (patient) =>
    judgeSurplus(patient, 'virtual', [...neededBy(patient).virtual, ...slicesNeededBy(patient).virtual, readNamespace]),
};

export const rightsChecks: readonly Check[] = [
  inVirtual,
  onHost,
  slicesInVirtual,
  slicesOnHost,
  onLease,
  surplusOnHost,
  surplusInVirtual,
];
