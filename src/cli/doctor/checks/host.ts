// The checks of what must be in the namespace on the host: the Service that owns the copies, their mirrored slices, and no others.

import { endpointsResource, servicesResource } from '../../../cluster/wire/scope.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import { counted } from '../../../object/text/in-words.ts';
import { isRecord } from '../../../object/text/json.ts';
import { managedByLabel, mirroringController, serviceLabel } from '../../../sync/kinds/endpointslices/eligibility.ts';
import { endpointSlicesResource } from '../../../sync/kinds/endpointslices/endpointslice-kind.ts';
import { leaderKey, markerLabel } from '../../../sync/plan/keys/reserved-keys.ts';
import type { Check } from '../patient/check.ts';
import { couldNotCheck, type Finding, fault, ok, unread, warning } from '../patient/finding.ts';
import type { Patient } from '../patient/patient.ts';

const hasOwner: Check = {
  code: 'HW-308',
  needs: ['HW-301', 'HW-306'],
  // What it would say of another namespace than the one that is meant would mislead.
  applies: (patient) => patient.hasSync && patient.homeInstead === undefined,
  async look(patient) {
    const { hostNamespace: namespace, virtualClusterName: name, setOwner } = patient.settings;
    const { client } = patient.cluster('host');
    const answer = await client.get(servicesResource, { namespace, name });
    if (answer.kind === 'ok' && answer.object.metadata.deletionTimestamp !== undefined) {
      const says = `Service ${namespace}/${name} is being deleted, so no copy is made`;
      const mend = `kubectl -n ${namespace} get service ${name} -o yaml   # its finalizers hold it; vCluster makes it again`;
      return setOwner ? fault(says, { mend }) : warning(says, { mend });
    }
    if (answer.kind === 'ok' && answer.object.metadata.labels?.['app'] === 'vcluster')
      return ok(`Service ${namespace}/${name} exists`);
    if (answer.kind !== 'ok' && answer.kind !== 'notFound')
      return unread(
        `the owner of the copies, Service ${namespace}/${name},`,
        answer,
        `kubectl -n ${namespace} get service ${name}`,
      );
    const others = await virtualClusters(patient);
    // A Service without the label counts, unless another one has it, or it is only a name for something elsewhere.
    if (answer.kind === 'ok' && others.length === 0 && !isAlias(answer.object))
      return ok(`Service ${namespace}/${name} exists`);
    const details = others.map((other) => `there is a virtual cluster named ${other}`);
    const mend =
      others[0] === undefined
        ? `kubectl -n ${namespace} get services -l app=vcluster   # the name of the Helm release is the name of the virtual cluster`
        : `name it with --vcluster-name ${others[0]} or hostward.virtualClusterName`;
    if (answer.kind === 'ok')
      return warning(`Service ${namespace}/${name} is not the one of a virtual cluster: is that its name?`, {
        details,
        mend,
      });
    const says = `namespace ${namespace} has no Service ${name}: is that the name of the virtual cluster?`;
    return setOwner ? fault(says, { details, mend }) : warning(says, { details, mend });
  },
};

function isAlias({ spec }: KubeObject): boolean {
  return isRecord(spec) && spec['type'] === 'ExternalName';
}

async function virtualClusters(patient: Patient): Promise<string[]> {
  const { client } = patient.cluster('host');
  const listed = await client.tryList(servicesResource, patient.settings.hostNamespace, {
    labelSelector: 'app=vcluster',
  });
  if (listed.kind === 'failed') return [];
  return listed.objects.flatMap(({ metadata: { name = '' } }) => (name.endsWith('-headless') ? [] : [name]));
}

/** Whether the namespace is the one that is meant; what HW-502 says of another one is enough. */
const isInstalled = (patient: Patient): boolean =>
  patient.hasSync && !patient.isBeforeInstallation && patient.homeInstead === undefined;

/** A controller that works is done long before. */
const settledMs = 30_000;
/** More copies say no more about the controller. */
const mostCopies = 500;

const mirrors: Check = {
  code: 'HW-309',
  needs: ['HW-301', 'HW-306'],
  applies: (patient) => isInstalled(patient) && patient.settings.endpointsEnabled,
  async look(patient) {
    const { hostNamespace, virtualClusterName } = patient.settings;
    const { client } = patient.cluster('host');
    const copies = await client.tryList(endpointsResource, hostNamespace, {
      labelSelector: `${markerLabel}=${virtualClusterName}`,
    });
    const services = await client.tryList(servicesResource, hostNamespace);
    if (copies.kind === 'failed') return unread(`the copies in ${hostNamespace}`, copies.answer, copiesOf(patient));
    if (services.kind === 'failed')
      return unread(`the Services in ${hostNamespace}`, services.answer, `kubectl -n ${hostNamespace} get services`);
    const selectorless = new Set(
      services.objects.filter(({ spec }) => !hasSelector(spec)).map(({ metadata }) => metadata.name),
    );
    const nowMs = patient.context.clock.wallTime().getTime();
    const wanted = copies.objects.filter((one) => isMirrored(one, nowMs) && selectorless.has(one.metadata.name));
    if (wanted.length === 0)
      return couldNotCheck('no copy on the host should have been mirrored yet', {
        mend: 'run doctor again when a copy with addresses is older than 30 seconds',
      });
    const slices = await client.tryList(endpointSlicesResource, hostNamespace, {
      labelSelector: `${managedByLabel}=${mirroringController}`,
    });
    if (slices.kind === 'failed')
      return unread(
        `the mirrored slices in ${hostNamespace}`,
        slices.answer,
        `kubectl -n ${hostNamespace} get endpointslices -l ${managedByLabel}=${mirroringController}`,
      );
    const served = new Set(slices.objects.map(({ metadata }) => metadata.labels?.[serviceLabel]));
    const without = wanted
      .slice(0, mostCopies)
      .flatMap(({ metadata: { name = '' } }) => (served.has(name) ? [] : [name]));
    return judgeMirrors(hostNamespace, wanted.length, without);
  },
};

function copiesOf({ settings: { hostNamespace, virtualClusterName } }: Patient): string {
  return `kubectl -n ${hostNamespace} get endpoints -l ${markerLabel}=${virtualClusterName}`;
}

function judgeMirrors(namespace: string, wanted: number, without: readonly string[]): Finding {
  if (without.length === 0)
    return ok(`${counted(wanted, 'copy has its mirrored slice', 'copies have their mirrored slices')}`);
  const isDead = without.length === wanted;
  const says = isDead
    ? `none of ${counted(wanted, 'copy', 'copies')} has a mirrored slice, so that no consumer of slices sees their addresses`
    : `${without.length} of ${counted(wanted, 'copy', 'copies')} have no mirrored slice`;
  const details = without.slice(0, 5).map((name) => `${namespace}/${name}`);
  const mend = isDead
    ? "see that the host's kube-controller-manager runs endpointslice-mirroring-controller (its flag --controllers)"
    : `kubectl -n ${namespace} describe endpoints ${without[0]}   # its events name what the controller refused`;
  return (isDead ? fault : warning)(says, { details, mend });
}

function hasSelector(spec: unknown): boolean {
  const selector = (spec as { selector?: object } | undefined)?.selector;
  return selector !== undefined && Object.keys(selector).length > 0;
}

/** What the mirroring controller of Kubernetes takes up. */
function isMirrored({ metadata, subsets }: KubeObject, nowMs: number): boolean {
  const { labels = {}, annotations = {}, creationTimestamp } = metadata;
  if (labels['endpointslice.kubernetes.io/skip-mirror'] === 'true' || leaderKey in annotations) return false;
  if (nowMs - Date.parse(creationTimestamp ?? '') < settledMs) return false;
  const filled = (Array.isArray(subsets) ? subsets : []) as { addresses?: unknown[]; notReadyAddresses?: unknown[] }[];
  return filled.some(({ addresses = [], notReadyAddresses = [] }) => addresses.length + notReadyAddresses.length > 0);
}

const hasNoOthers: Check = {
  code: 'HW-310',
  needs: ['HW-301', 'HW-306'],
  applies: isInstalled,
  async look(patient) {
    const { hostNamespace: namespace, virtualClusterName } = patient.settings;
    const listed = await patient.cluster('host').client.tryList(endpointsResource, namespace, {
      labelSelector: `${markerLabel},${markerLabel}!=${virtualClusterName}`,
    });
    if (listed.kind === 'failed') return unread(`the copies in ${namespace}`, listed.answer, copiesOf(patient));
    const counts = new Map<string, number>();
    for (const { metadata } of listed.objects) {
      const name = metadata.labels?.[markerLabel] ?? '';
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    const [first] = counts.keys();
    if (first === undefined) return ok(`every copy in ${namespace} is of ${virtualClusterName}`);
    return warning(
      `namespace ${namespace} has copies of another virtual cluster; nobody keeps them if that name was a mistake`,
      {
        details: [...counts].map(([name, count]) => `${name}: ${counted(count, 'copy', 'copies')}`),
        mend: `kubectl -n ${namespace} get endpoints -l ${markerLabel}=${first}   # delete them if no virtual cluster has that name`,
      },
    );
  },
};

export const ownerChecks: readonly Check[] = [hasOwner];
/** After the rights, which say more of a list that may not be read. */
export const mirrorChecks: readonly Check[] = [mirrors, hasNoOthers];
