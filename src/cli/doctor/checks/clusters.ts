// The checks that are alike for both clusters: does it answer, how old is it, does its clock agree, what ends soon.

import { openCredentials } from '../../../cluster/credentials/credentials.ts';
import type { ClusterFault } from '../../../cluster/errors.ts';
import { probe, userOf } from '../../../cluster/wire/probe.ts';
import { openConnection } from '../../../cluster/wire/transport.ts';
import { type Compared, compareClusters } from '../../../daemon/clusters/compare-clusters.ts';
import { silentLog } from '../../../log.ts';
import type { Side } from '../../line/cluster-client.ts';
import { nameOf } from '../patient/asked-cluster.ts';
import type { Check } from '../patient/check.ts';
import { judgeEndings } from '../patient/endings.ts';
import { couldNotCheck, type Finding, fault, ok, unanswered, warning } from '../patient/finding.ts';
import { meet } from '../patient/meet.ts';
import { type Patient, readNamespace } from '../patient/patient.ts';
import { minorOf } from '../patient/versions.ts';
import { rightsCommand } from './rights.ts';

/** Since this minor version of 1, discovery.k8s.io/v1 is served. */
const oldestMinor = 21;
/** The leader's lease lives 15 s, so a clock that is further off makes replicas wait or write at the same time. */
const skewWarningMs = 5_000;
/** Tokens are refused before their time begins. */
const skewFaultMs = 60_000;

export const virtualChecks: readonly Check[] = [
  { code: 'HW-201', needs: ['HW-101'], applies: hasSync, look: (patient) => reach(patient, 'virtual') },
  { code: 'HW-202', needs: ['HW-201'], applies: hasSync, look: (patient) => versionOf(patient, 'virtual') },
  { code: 'HW-203', needs: ['HW-201'], applies: hasSync, look: (patient) => clockOf(patient, 'virtual') },
  { code: 'HW-204', needs: ['HW-201'], applies: hasSync, look: (patient) => endingsAt(patient, 'virtual') },
];

export const hostChecks: readonly Check[] = [
  {
    code: 'HW-301',
    needs: ['HW-101'],
    applies: (patient) => patient.hasSync || patient.hasManifests,
    look: (patient) => reach(patient, 'host'),
  },
  { code: 'HW-302', needs: ['HW-301'], applies: hasSync, look: (patient) => versionOf(patient, 'host') },
  { code: 'HW-303', needs: ['HW-301'], applies: hasSync, look: (patient) => clockOf(patient, 'host') },
  { code: 'HW-304', needs: ['HW-301'], applies: hasSync, look: (patient) => endingsAt(patient, 'host') },
  { code: 'HW-305', needs: ['HW-201', 'HW-301'], applies: hasSync, look: areTwo },
];

function hasSync(patient: Patient): boolean {
  return patient.hasSync;
}

async function reach(patient: Patient, side: Side): Promise<Finding> {
  const { context, settings } = patient;
  const { environment, clock, version } = context;
  const kubeconfig = side === 'virtual' ? settings.virtualKubeconfig : settings.hostKubeconfig;
  const server = side === 'virtual' ? settings.virtualServer : undefined;
  const opened = await openCredentials({ kubeconfig, server, environment });
  if (opened.kind === 'faults') return silent(patient, side, opened.faults);
  const { credentials } = opened;
  const connection = openConnection({ name: side, credentials, clock, log: silentLog, version });
  const wait = { from: nameOf(connection), question: 'GET /version' };
  const result = await patient.patience.during(wait, probe(connection));
  if (result.kind === 'faults') {
    await connection.close();
    const nobodyListens = result.faults.some(({ message }) => message.includes('connection refused'));
    const before = nobodyListens ? loopbackText(patient, side, connection.server) : undefined;
    return silent(patient, side, result.faults, before);
  }
  patient.takeCluster(side, await meet(credentials, result.version, clock), connection);
  return ok(`${connection.server} answers, by ${credentials.source}`);
}

/** The kubeconfig that vCluster writes names localhost, which only its own pod reaches. */
function loopbackText({ isInPod, settings }: Patient, side: Side, server: string): string | undefined {
  const isLoopback = /^(localhost|127\..*|\[::1\])$/.test(new URL(server).hostname);
  if (side === 'host' || !isLoopback || settings.virtualServer !== undefined) return undefined;
  const { virtualClusterName, hostNamespace } = settings;
  if (!isInPod)
    return `kubectl -n ${hostNamespace} port-forward service/${virtualClusterName} ${new URL(server).port || 443}:443   # if this is the kubeconfig that vCluster wrote, which names localhost`;
  return `unless Hostward is a sidecar of vCluster, set hostward.virtualServer to https://${virtualClusterName}.${hostNamespace}, because localhost is this pod`;
}

function silent(patient: Patient, side: Side, faults: readonly ClusterFault[], before?: string): Finding {
  patient.silent.add(side);
  const [first, ...others] = faults;
  const options = side === 'virtual' ? '--virtual-kubeconfig' : '--host-kubeconfig';
  const mend = [before, first?.fix, `or name another kubeconfig with ${options} FILE`].filter(Boolean).join('; ');
  const details = others.map(({ message, fix }) => `${message}; ${fix}`);
  return fault(`the ${side} cluster cannot be asked: ${first?.message ?? 'no reason'}`, { details, mend });
}

async function versionOf(patient: Patient, side: Side): Promise<Finding> {
  const { version } = patient.cluster(side);
  const minor = minorOf(version);
  if (minor === undefined) return warning(`its version "${version}" is not one of Kubernetes`);
  if (minor >= oldestMinor) return ok(`Kubernetes ${version}`);
  const says = `Kubernetes ${version} does not serve discovery.k8s.io/v1, wanted 1.${oldestMinor} at least`;
  const { enabled } = patient.settings.endpointSlices;
  const mend = `upgrade the ${side} cluster${enabled ? ', or set hostward.endpointSlices.enabled to false' : ''}`;
  return enabled ? fault(says, { mend }) : warning(says, { mend });
}

async function clockOf(patient: Patient, side: Side): Promise<Finding> {
  const { aheadMs, doubtMs } = patient.cluster(side);
  if (aheadMs === undefined) return couldNotCheck('its answers bear no date', { mend: 'date -u   # on both machines' });
  const offMs = Math.max(0, Math.abs(aheadMs) - doubtMs);
  if (offMs < skewWarningMs) return ok('the clocks agree');
  const says = `its clock is ${(offMs / 1000).toFixed(0)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the clock of this machine`;
  const mend = 'timedatectl set-ntp true   # on the machine whose time is wrong';
  return offMs >= skewFaultMs ? fault(says, { mend }) : warning(says, { mend });
}

async function endingsAt(patient: Patient, side: Side): Promise<Finding> {
  const { endings, source } = patient.cluster(side);
  const mend =
    side === 'virtual'
      ? `renew the credentials of ${source}; vCluster renews its own certificates when its pod restarts`
      : `renew the credentials of ${source}`;
  return judgeEndings(endings, patient.context.clock.wallTime(), mend);
}

async function areTwo(patient: Patient): Promise<Finding> {
  const virtual = patient.cluster('virtual').connection;
  const host = patient.cluster('host').connection;
  const compared = await compareClusters(virtual, host, patient.settings.hostNamespace);
  const mend =
    'name the kubeconfig of the virtual cluster with --virtual-kubeconfig, and that of its host with --host-kubeconfig';
  patient.isVirtualAnother = compared.kind === 'one';
  if (compared.kind === 'one') return fault(`both kubeconfigs lead to ${compared.found}`, { mend });
  if (compared.kind === 'unknown') return untold(patient, compared);
  return ok('they are two clusters');
}

/** Each side by itself, because the host may well show what the virtual cluster refuses. */
async function untold(patient: Patient, { why, refusing }: Extract<Compared, { kind: 'unknown' }>): Promise<Finding> {
  if (refusing.length === 0) return unanswered(why);
  const mends: string[] = [];
  if (refusing.includes('virtual')) {
    const names = [patient.settings.hostNamespace, 'kube-system'];
    patient.takeLacked('virtual', await userOf(patient.cluster('virtual').connection), [{ ...readNamespace, names }]);
    mends.push(`${rightsCommand(patient, 'virtual')}   # with a kubectl that may grant them in the virtual cluster`);
  }
  if (refusing.includes('host')) mends.push('HW-306 says what the host lacks');
  const who = refusing.map((side) => (side === 'host' ? 'the host' : 'the virtual cluster')).join(' and ');
  return couldNotCheck(`${why}: refused by ${who}`, { mend: mends.join('\n') });
}
