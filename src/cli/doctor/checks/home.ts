// Finds out that the configuration names another namespace of the host than the one that is meant: a ServiceAccount whose own namespace
// has its rights was probably sent to the wrong one, and a grant of rights there would be one in a namespace of somebody else.
import type { Permission } from '../../../cluster/permission.ts';
import { reviewAll, userOf } from '../../../cluster/wire/probe.ts';
import { servicesResource } from '../../../cluster/wire/scope.ts';
import { type Finding, fault } from '../patient/finding.ts';
import type { Patient } from '../patient/patient.ts';
import { shippedRules } from '../patient/shipped-rules.ts';

/** Where the pods of an account are, and what is to say of the other namespace that it was sent to. */
interface Home {
  namespace: string;
  finding: Finding;
}

/** Undefined when the account has rights of its own in the namespace that it was sent to. */
export async function homeInstead(patient: Patient): Promise<Home | undefined> {
  if (patient.isBeforeInstallation) return undefined;
  const meant = patient.settings.hostNamespace;
  const user = (await userOf(patient.cluster('host').connection)) ?? '';
  const home = homeOf(user);
  if (home === undefined || home === meant) return undefined;
  const [there, atHome] = await Promise.all([reviews(patient, meant), reviews(patient, home)]);
  // A right that it has in both, as one of a ClusterRole, says nothing.
  if (there.some((one, index) => one === 'unknown' || (one === 'allowed' && atHome[index] !== 'allowed')))
    return undefined;
  const hasSome = there.includes('allowed');
  if (hasSome && there.every((one, index) => one === atHome[index])) return undefined;
  if ((await hasOwner(patient, meant)) && !(await hasOwner(patient, home))) return undefined;
  const says = hasSome
    ? `${user} has fewer rights in ${meant} than in ${home}, where its pods are: is ${meant} the namespace?`
    : `${user} has no right in ${meant}: is that the namespace? Its pods are in ${home}`;
  return { namespace: home, finding: fault(says, { mend: nameNamespace(home) }) };
}

export function nameNamespace(name: string): string {
  return `name the namespace with --host-namespace ${name} or hostward.hostNamespace`;
}

/** Of the rights that the shipped Role grants, in any namespace. */
function reviews(patient: Patient, namespace: string) {
  const permissions = shippedRules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.map((verb): Permission => ({ verb: verb as Permission['verb'], group, resource, namespace })),
      ),
    ),
  );
  return reviewAll(patient.cluster('host').connection, permissions);
}

async function hasOwner(patient: Patient, namespace: string): Promise<boolean> {
  const name = patient.settings.virtualClusterName;
  return (await patient.cluster('host').client.get(servicesResource, { namespace, name })).kind === 'ok';
}

/** The namespace of a ServiceAccount, and of every pod that acts as it. */
function homeOf(user: string): string | undefined {
  return /^system:serviceaccount:([^:]+):/.exec(user)?.[1];
}
