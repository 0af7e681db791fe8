// The check before an installation: may this user of the host install the chart.

import type { Permission } from '../../../cluster/permission.ts';
import type { Connection } from '../../../cluster/wire/connection.ts';
import { isUnserved } from '../../../cluster/wire/probe.ts';
import { referenceSettings } from '../../../daemon/synced/references.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import { isRecord } from '../../../object/text/json.ts';
import { optionWords } from '../../../sync/report/attention/own-commands.ts';
import { expectOk } from '../../line/cluster-client.ts';
import { readObjects } from '../../offline/read-objects.ts';
import {
  monitoringGroup,
  rightsToInstall,
  rightsToInstallManifests,
  type ServedKind,
} from '../patient/chart-rights.ts';
import type { Check } from '../patient/check.ts';
import { type Finding, fault } from '../patient/finding.ts';
import type { Patient } from '../patient/patient.ts';
import { review } from './rights.ts';

const mayInstall: Check = {
  code: 'HW-508',
  needs: ['HW-301'],
  applies: (patient) => patient.isBeforeInstallation && (patient.hasSync || patient.hasManifests),
  look: (patient) => (patient.hasManifests ? judgeManifests(patient) : judgeConfiguration(patient)),
};

async function judgeManifests(patient: Patient): Promise<Finding> {
  const { connection } = patient.cluster('host');
  const objects = (await readObjects(patient.context, patient.options.texts('manifests'))).map(({ object }) => object);
  const kinds = await servedKinds(connection, objects);
  // A release is in one namespace, and a configuration of the management API alone does not say which.
  const namespace =
    patient.settings.hostNamespace || objects.find(({ metadata }) => metadata.namespace)?.metadata.namespace;
  const { rights, unknown } = rightsToInstallManifests({
    objects,
    namespace: namespace ?? 'default',
    servedAs: ({ apiVersion, kind }) => kinds.get(`${apiVersion} ${kind}`),
  });
  const own = objects.filter(({ kind }) => kind === 'Namespace').map(({ metadata }) => metadata.name);
  // A Role for rights in it would make the namespace, which Helm then refuses to make.
  const ways = own.map(
    (name) => `make the namespace ${name} first, and leave it out with management.store.createNamespace=false`,
  );
  const finding = await judge(patient, rights, ways);
  if (unknown.length === 0) return finding;
  const details = [...unknown.map((one) => `${one} is not served`), ...(finding.details ?? [])];
  const mend = ['switch off in the values what the host does not serve', ...(finding.mend?.split('\n') ?? [])].join(
    '\n',
  );
  return fault('the host does not know kinds of the manifests', { details, mend });
}

/** By apiVersion and kind. A group that the cluster does not list serves nothing. */
async function servedKinds(
  connection: Connection,
  objects: readonly KubeObject[],
): Promise<ReadonlyMap<string, ServedKind>> {
  const versions = [...new Set(objects.map(({ apiVersion = '' }) => apiVersion))];
  const found = new Map<string, ServedKind>();
  for (const version of versions) {
    const group = version.includes('/') ? (version.split('/')[0] ?? '') : '';
    const path = group === '' ? `api/${version}` : `apis/${version}`;
    const answer = await connection.request({ method: 'GET', path: `/${path}` });
    if (await isUnserved(connection, { path }, { answer })) continue;
    const { resources } = expectOk(answer, `ask what the host knows of ${version}`);
    for (const { name, kind, namespaced } of (Array.isArray(resources) ? resources : []).filter(isRecord)) {
      // A subresource, such as deployments/scale, has a kind too.
      if (typeof name !== 'string' || name.includes('/')) continue;
      found.set(`${version} ${kind}`, { group, resource: name, isNamespaced: namespaced === true });
    }
  }
  return found;
}

async function judgeConfiguration(patient: Patient): Promise<Finding> {
  const { settings, loaded } = patient;
  return judge(
    patient,
    rightsToInstall({
      namespace: settings.hostNamespace,
      isMapped: settings.namespaces.enabled,
      hasReferences: referenceSettings(settings, loaded.compiled).kinds.size > 0,
      hasMonitoring: await knows(patient.cluster('host').connection, monitoringGroup),
    }),
  );
}

async function judge(
  patient: Patient,
  needed: readonly Permission[],
  before: readonly string[] = [],
): Promise<Finding> {
  const finding = await review(patient, 'host', needed);
  // Without a list of rights it says that nobody is asked for any.
  if (finding.verdict !== 'fault' || finding.details === undefined) return finding;
  const ways = ['or let somebody install who has these rights, or may bind and escalate roles'];
  if (needed.some(({ namespace }) => namespace === undefined))
    ways.push('or install with cluster=false and let somebody else make what its notes name');
  return { ...finding, mend: [grantBefore(patient), ...before, ...ways].join('\n') };
}

function grantBefore(patient: Patient): string {
  const files = patient.options.texts('manifests');
  const what = files.length === 0 ? ['--pre'] : files.map((value) => optionWords({ option: 'manifests', value }));
  const command = patient.commandHere('doctor', [...what, '--rights host | kubectl auth reconcile -f -']);
  return `${files.includes('-') ? 'helm template … | ' : ''}${command}   # with a kubectl that may grant them`;
}

async function knows(connection: Connection, group: string): Promise<boolean> {
  return (await connection.request({ method: 'GET', path: `/apis/${group}/v1` })).kind === 'ok';
}

export const installerChecks: readonly Check[] = [mayInstall];
