// The check before an installation: may this user of the host install the chart.
import type { Connection } from '../../../cluster/wire/connection.ts';
import { referenceSettings } from '../../../daemon/synced/references.ts';
import { monitoringGroup, rightsToInstall } from '../patient/chart-rights.ts';
import type { Check } from '../patient/check.ts';
import { review } from './rights.ts';

const mayInstall: Check = {
  code: 'HW-508',
  needs: ['HW-301'],
  applies: (patient) => patient.hasSync && patient.isBeforeInstallation,
  async look(patient) {
    const { settings, loaded } = patient;
    const isMapped = settings.namespaces.enabled;
    const needed = rightsToInstall({
      namespace: settings.hostNamespace,
      isMapped,
      hasReferences: referenceSettings(settings, loaded.compiled).kinds.size > 0,
      hasMonitoring: await knows(patient.cluster('host').connection, monitoringGroup),
    });
    const finding = await review(patient, 'host', needed);
    const ways = ['let somebody install who has these rights, or may bind and escalate roles'];
    if (isMapped) ways.push('or install with cluster=false and let somebody else grant what its notes name');
    return finding.verdict === 'fault' ? { ...finding, mend: ways.join('; ') } : finding;
  },
};

async function knows(connection: Connection, group: string): Promise<boolean> {
  return (await connection.request({ method: 'GET', path: `/apis/${group}/v1` })).kind === 'ok';
}

export const installerChecks: readonly Check[] = [mayInstall];
