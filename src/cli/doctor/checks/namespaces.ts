// The checks of namespaces on the host: the one of the virtual cluster, and those that mappings name.
import { checkNamespace, type FoundNamespace, isHostOf, swappedSentence, userOf } from '../../../cluster/wire/probe.ts';
import { endpointsResource, type ResourceRef } from '../../../cluster/wire/scope.ts';
import { isWide, mappingsOf, namedHostNamespaces } from '../../../config/settings/host-namespaces.ts';
import { isOfInstance } from '../../../daemon/synced/stray-namespaces.ts';
import { counted } from '../../../object/text/in-words.ts';
import { endpointSlicesResource } from '../../../sync/kinds/endpointslices/endpointslice-kind.ts';
import { instanceKey, markerLabel } from '../../../sync/plan/keys/reserved-keys.ts';
import type { Check } from '../patient/check.ts';
import { couldNotCheck, fault, ok, unanswered, unread, warning } from '../patient/finding.ts';
import { type Patient, readNamespace } from '../patient/patient.ts';
import { homeInstead, nameNamespace } from './home.ts';
import { grantCommand, rightsCommand } from './rights.ts';

const hasNamespace: Check = {
  code: 'HW-306',
  needs: ['HW-301'],
  // A Role seldom includes the right to read it, and what lies in the namespace is asked for anyway.
  isGoodUnchecked: true,
  applies: (patient) => patient.hasSync,
  async look(patient) {
    const { hostNamespace } = patient.settings;
    const found = await checkNamespace(patient.cluster('host').connection, hostNamespace);
    const home = found.kind === 'found' || found.kind === 'unknown' ? await homeInstead(patient) : undefined;
    patient.homeInstead = home?.namespace;
    patient.notItsNamespace = home?.finding;
    switch (found.kind) {
      case 'found':
        patient.hasSeenNamespace = true;
        return ok(`namespace ${hostNamespace} exists`);
      case 'missing':
        patient.isVirtualAnother = await isSwapped(patient);
        if (patient.isVirtualAnother)
          return fault(swappedSentence(hostNamespace), {
            mend: 'give the file of --host-kubeconfig to --virtual-kubeconfig, and the other way round',
          });
        return fault(`the host has no namespace ${hostNamespace}`, {
          mend: 'kubectl get namespaces   # then name the one of the virtual cluster with --host-namespace or hostward.hostNamespace',
        });
      case 'terminating':
        return fault(`namespace ${hostNamespace} is being deleted, so nothing can be made in it`, {
          mend: lookAtNamespace(hostNamespace),
        });
      case 'unknown':
        if (found.why !== undefined) return unanswered(`namespace ${hostNamespace} cannot be read: ${found.why}`);
        // A grant of rights there would be one in a namespace that is probably somebody else's.
        return patient.homeInstead === undefined
          ? couldNotCheck(`namespace ${hostNamespace} may not be read`, { mend: await readRight(patient) })
          : couldNotCheck(`namespace ${hostNamespace} may not be read, and is probably not the one that is meant`, {
              mend: nameNamespace(patient.homeInstead),
            });
      default:
        return found satisfies never;
    }
  },
};

/** Not one of the rights that a start needs, but of those in the shipped Roles. */
async function readRight(patient: Patient): Promise<string> {
  const { hostNamespace: namespace } = patient.settings;
  if (patient.isBeforeInstallation) return `kubectl get namespace ${namespace}   # with a kubectl that may`;
  const user = await userOf(patient.cluster('host').connection);
  patient.takeLacked('host', user, [{ verb: 'get', group: '', resource: 'namespaces', namespace }]);
  return grantCommand(patient, 'host');
}

function lookAtNamespace(name: string): string {
  return `kubectl get namespace ${name} -o yaml   # its conditions say what holds it up`;
}

async function isSwapped(patient: Patient): Promise<boolean> {
  const { hostNamespace: namespace, virtualClusterName: name } = patient.settings;
  const virtual = patient.reached('virtual');
  return virtual !== undefined && (await isHostOf(virtual.connection, { namespace, name }));
}

const hasMapped: Check = {
  code: 'HW-307',
  needs: ['HW-301'],
  applies: (patient) => patient.hasSync && mappedNamespaces(patient).length > 0,
  async look(patient) {
    const names = mappedNamespaces(patient);
    const { connection } = patient.cluster('host');
    const found = await Promise.all(names.map((name) => namespaceByAnyRight(patient, name)));
    const bad = names.filter((_, index) => isBad(found[index]));
    const isMissing = (name: string) => found[names.indexOf(name)]?.kind === 'missing';
    const unknown = found.filter((one) => one.kind === 'unknown');
    if (bad.length > 0)
      return warning(`${counted(bad.length, 'namespace')} of a mapping cannot take copies`, {
        details: bad.map((name) => `${name}: ${isMissing(name) ? 'does not exist' : 'is being deleted'}`),
        mend: bad
          .map((name) => (isMissing(name) ? `kubectl create namespace ${name}` : lookAtNamespace(name)))
          .join('; '),
      });
    const troubles = unknown.flatMap(({ why }) => why ?? []);
    if (troubles.length > 0)
      return unanswered(`${counted(troubles.length, 'namespace')} of a mapping cannot be read: ${troubles[0]}`);
    if (unknown.length > 0) {
      // No Role of the chart has this right, and a namespace that is not there can have none.
      patient.takeLacked('host', await userOf(connection), [{ ...readNamespace, names }]);
      return couldNotCheck(`${counted(unknown.length, 'namespace')} of a mapping may not be read`, {
        mend: `${rightsCommand(patient, 'host')}   # lets doctor read them; or kubectl get namespaces ${names.join(' ')}, with a kubectl that may`,
      });
    }
    return ok(`${counted(names.length, 'namespace')} of mappings, all there`);
  },
};

type ByAnyRight = { kind: FoundNamespace['kind']; why?: string };

function isBad(found: ByAnyRight | undefined): boolean {
  return found?.kind === 'missing' || found?.kind === 'terminating';
}

/**
 * The ClusterRole of the chart has no right to read namespaces, and one to make Endpoints in them: a server that is asked to make one,
 * and to store nothing, says what the namespace lacks.
 */
async function namespaceByAnyRight(patient: Patient, name: string): Promise<ByAnyRight> {
  const { connection, client } = patient.cluster('host');
  const read = await checkNamespace(connection, name);
  if (read.kind !== 'unknown' || read.why !== undefined) return read;
  const metadata = { name: 'hostward-doctor', namespace: name };
  const answer = await client.wouldCreate(endpointsResource, { apiVersion: 'v1', kind: 'Endpoints', metadata });
  switch (answer.kind) {
    case 'ok':
    case 'alreadyExists':
      return { kind: 'found' };
    case 'notFound':
      return { kind: answer.name === name ? 'missing' : 'unknown' };
    case 'forbidden':
      return { kind: answer.namespaceTerminating ? 'terminating' : 'unknown' };
    case 'refused':
      // Quotas and policies judge an object after its namespace.
      return { kind: 'found' };
    case 'failed':
    case 'throttled':
      return { kind: 'unknown', why: answer.message };
    default:
      return { kind: 'unknown' };
  }
}

function mappedNamespaces({ settings }: Patient): string[] {
  const named = namedHostNamespaces(mappingsOf(settings), settings.hostNamespace);
  return named.filter((name) => name !== settings.hostNamespace);
}

const hasNoStrays: Check = {
  code: 'HW-312',
  needs: ['HW-301', 'HW-306'],
  // Where a mapping is a pattern, the daemon sees all namespaces at any time.
  applies: (patient) =>
    patient.hasSync &&
    !patient.isBeforeInstallation &&
    patient.homeInstead === undefined &&
    !isWide(mappingsOf(patient.settings)),
  async look(patient) {
    const { settings } = patient;
    const named = namedHostNamespaces(mappingsOf(settings), settings.hostNamespace);
    const selector = `${markerLabel}=${settings.virtualClusterName}`;
    const counts = new Map<string, number>();
    for (const ref of syncedResources(patient)) {
      const listed = await patient.cluster('host').client.tryList(ref, '', { labelSelector: selector });
      if (listed.kind === 'failed') {
        // Most have never mapped a namespace, and no Role of the chart lists all namespaces without a mapping.
        if (listed.answer.kind === 'forbidden' && !settings.namespaces.enabled && counts.size === 0)
          return ok(`no namespace is mapped, and other namespaces than ${settings.hostNamespace} may not be listed`);
        const all = `kubectl get ${ref.resource} --all-namespaces -l ${selector}`;
        return unread(`the ${ref.resource} of all host namespaces`, listed.answer, all);
      }
      for (const object of listed.objects) {
        const { namespace = '' } = object.metadata;
        if (!named.includes(namespace) && isOfInstance(object, settings))
          counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
      }
    }
    const [first] = counts.keys();
    if (first === undefined) return ok('no copies in host namespaces that no mapping names');
    const instance = `${instanceKey}=${settings.hostNamespace}/${settings.virtualClusterName}`;
    return warning('copies are left in host namespaces that no mapping names any more, and nothing updates them', {
      details: [...counts].map(([name, count]) => `${name}: ${counted(count, 'copy', 'copies')}`),
      mend: `restart the daemon with the right to list endpoints and endpointslices in all namespaces, and to get, watch and delete them there; or kubectl -n ${first} delete endpoints,endpointslices -l ${selector}   # if all of them have the annotation ${instance}`,
    });
  },
};

function syncedResources({ settings }: Patient): ResourceRef[] {
  return [
    ...(settings.endpointsEnabled ? [endpointsResource] : []),
    ...(settings.endpointSlices.enabled ? [endpointSlicesResource] : []),
  ];
}

/** After the rights, which say more of a list that may not be read. */
export const strayChecks: readonly Check[] = [hasNoStrays];

export const namespaceChecks: readonly Check[] = [hasNamespace, hasMapped];
