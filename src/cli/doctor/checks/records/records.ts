// The checks of a store in a cluster: its namespace, the rights in it, whose records lie there, and how much room is left. Nothing is
// read but Secrets and quotas.
import { openCredentials } from '../../../../cluster/credentials/credentials.ts';
import { checkNamespace, namesNobody, probe, reviewAll, userOf } from '../../../../cluster/wire/probe.ts';
import type { ResourceRef } from '../../../../cluster/wire/scope.ts';
import { openConnection } from '../../../../cluster/wire/transport.ts';
import { secretsFolder } from '../../../../config/settings/management-settings.ts';
import { silentLog } from '../../../../log.ts';
import { provesSecrets } from '../../../../management/keys/folder/data-folder.ts';
import {
  lackedText,
  permissionsOnRecords,
  roleMend,
} from '../../../../management/server/host/records/record-rights.ts';
import { counted, firstLines } from '../../../../object/text/in-words.ts';
import { isRecord } from '../../../../object/text/json.ts';
import { wayOutOfSetBack } from '../../../../store/kubernetes/meta-record.ts';
import { Seals } from '../../../../store/kubernetes/trust/seals.ts';
import type { Check } from '../../patient/check.ts';
import { couldNotCheck, type Finding, fault, faultOf, ok, warning } from '../../patient/finding.ts';
import type { Patient } from '../../patient/patient.ts';
import { knownStore, secretsHere, strayFrom, surveyOf } from '../../patient/stored-records.ts';

import { noVerdict } from '../rights.ts';
import { isAgreed, lateSecrets, notBelieved } from './agreement.ts';
import { isEncrypted } from './encryption.ts';
import { isShared, storeOf } from './shared-store.ts';
import { isBudgeted, isPlaced, isProtected, isSpread } from './surroundings.ts';

const quotas: ResourceRef = { path: 'api/v1', resource: 'resourcequotas', kind: 'ResourceQuota' };

/** Enough names to know what it is about. */
const namesShown = 5;
/** Time to raise a limit before a create is refused. */
const nearlyFull = 0.9;

const answers: Check = {
  code: 'HW-804',
  needs: ['HW-101'],
  applies: isShared,
  async look(patient) {
    const { kubeconfig = patient.settings.hostKubeconfig, namespace } = storeOf(patient).kubernetes;
    const { environment, clock } = patient.context;
    const mend =
      'correct hostward.management.store.kubernetes.kubeconfig; without it the service account of the pod is used';
    const opened = await openCredentials({ kubeconfig, environment });
    if (opened.kind === 'faults')
      return fault(`the cluster of the records cannot be asked: ${opened.faults[0]?.message}`, { mend });
    const connection = openConnection({ name: 'store', credentials: opened.credentials, clock, log: silentLog });
    patient.takeRecordsCluster(connection);
    const probed = await probe(patient.recordsCluster.connection);
    if (probed.kind === 'faults') {
      patient.silent.add('records');
      return fault(`the cluster of the records does not answer: ${probed.faults[0]?.message}`, { mend });
    }
    const found = await checkNamespace(patient.recordsCluster.connection, namespace);
    if (found.kind === 'missing')
      return fault(`${connection.server} has no namespace ${namespace} for the records`, {
        mend: `kubectl create namespace ${namespace}   # or correct the kubeconfig, if this is not the cluster; for lost records see hostward docs replicas`,
      });
    if (found.kind === 'terminating')
      return fault(`the namespace ${namespace} of the records is being deleted, and every key goes with it`, {
        mend: `${patient.command('backup FOLDER')}   # at once, while a replica still answers`,
      });
    return ok(`namespace ${namespace} of ${connection.server}`);
  },
};

const grantsRights: Check = {
  code: 'HW-805',
  needs: ['HW-101', 'HW-804'],
  applies: isShared,
  async look(patient) {
    const { namespace } = storeOf(patient).kubernetes;
    const { connection } = patient.recordsCluster;
    const needed = permissionsOnRecords(namespace);
    const unanswered: string[] = [];
    const reviews = await reviewAll(connection, needed, (why) => unanswered.push(why));
    if (reviews.includes('nobody')) return faultOf(namesNobody(connection.name));
    const who = (await userOf(connection)) ?? 'the user of the kubeconfig';
    const denied = needed.filter((_, at) => reviews[at] === 'denied');
    if (denied.length === 0)
      return unanswered.length > 0 ? noVerdict(unanswered) : ok(`${who} has all ${needed.length} in ${namespace}`);
    return fault(`${who} lacks ${counted(denied.length, 'right')} of ${needed.length} in namespace ${namespace}`, {
      details: lackedText(denied),
      mend: roleMend,
    });
  },
};

const isAlone: Check = {
  code: 'HW-806',
  needs: ['HW-101', 'HW-804'],
  applies: isShared,
  async look(patient) {
    const { namespace } = storeOf(patient).kubernetes;
    const secrets = await secretsHere(patient);
    const seals = secrets && new Seals(secrets.sealKeys);
    const survey = await surveyOf(patient.recordsCluster.connection, { namespace, signal: patient.stopping, seals });
    if (survey.kind === 'failed')
      return couldNotCheck(`the Secrets in ${namespace} cannot be listed: ${survey.why}`, {
        mend: `kubectl -n ${namespace} get secrets   # with the same kubeconfig`,
      });
    patient.takeRecords(survey.records);
    const { foreign, count } = survey.records;
    if (foreign.length === 0) return ok(`${counted(count, 'record')}, and no Secret of anybody else`);
    return warning(
      `${counted(foreign.length, 'Secret')} of other programs in ${namespace}: who may read them reads the records too, and who may write them decides who is let in`,
      {
        details: firstLines(foreign, namesShown),
        mend: `kubectl -n ${namespace} get secrets --field-selector 'type!=hostward.dev/record'   # move them, or name another namespace and move the records with "hostward store migrate"`,
      },
    );
  },
};

const isOwn: Check = {
  code: 'HW-807',
  needs: ['HW-101', 'HW-806'],
  applies: isShared,
  async look(patient) {
    const { meta, proof, movedTo, isMoving } = patient.records;
    const { namespace } = storeOf(patient).kubernetes;
    const server = patient.settings.managementServer;
    if (server === undefined) throw new Error('a check of records runs without a management API');
    const secrets = await secretsHere(patient);
    if (proof !== undefined && secrets !== undefined && !provesSecrets(proof, secrets))
      return fault(
        `the records in ${namespace} were made with other secrets than those in ${secretsFolder(server)}: two installations use one namespace, or this folder is not the shared one`,
        { mend: 'give each installation a namespace of its own, and all replicas of one the same secretsDir' },
      );
    if (typeof meta === 'string')
      return fault(`the record hostward-meta in ${namespace} cannot be read: ${meta}`, {
        mend: 'put its data back from a backup of the cluster; a record of a newer version wants that version of Hostward',
      });
    const wrongPlace =
      'correct hostward.management.store.kubernetes: kubeconfig and namespace; after a loss see `hostward docs replicas`, "Back up and bring back"';
    const known = await knownStore(patient.context, server.dataDir);
    const stray = strayFrom(known, meta);
    const older = stray === 'older' && 'were set back to before the last recovery or migration';
    const why = meta?.recoversFrom === undefined ? older : 'are half recovered';
    if (why !== false) return fault(`the records in ${namespace} ${why}`, { mend: wayOutOfSetBack });
    if (stray === 'another')
      return fault(
        `this replica has used a store in ${namespace}, and ${meta === undefined ? 'no store is there' : 'the store there is another one'}`,
        { mend: wrongPlace },
      );
    if (movedTo !== undefined)
      return fault(`the records in ${namespace} were moved to ${movedTo}, and no server starts on them`, {
        mend: 'start with the configuration of that store, or move back with "hostward store migrate"',
      });
    if (isMoving)
      return fault(`a migration into ${namespace} has not ended`, {
        mend: 'run "hostward store migrate" again with the same files',
      });
    const late = secrets && lateSecrets(proof, secrets, secretsFolder(server));
    if (late !== undefined) return late;
    const doubted = notBelieved(patient.records, namespace);
    if (doubted !== undefined) return doubted;
    if (meta === undefined) return ok('an empty store');
    const asked =
      proof !== undefined && secrets !== undefined ? 'and belong to the secrets here' : 'the secrets are not here';
    const alone =
      known === undefined ? `; with ${server.dataDir} as it is a replica starts only while another runs` : '';
    return ok(`the records can all be read, ${asked}${alone}`);
  },
};

const hasRoom: Check = {
  code: 'HW-810',
  needs: ['HW-101', 'HW-806'],
  applies: isShared,
  async look(patient) {
    const { kubernetes, maxRecords, maxBytes } = storeOf(patient);
    const { count, bytes, foreign } = patient.records;
    const quota = await fullQuota(patient, kubernetes.namespace);
    if (quota !== undefined) return quota;
    const mend = `delete keys that nobody uses, or raise hostward.management.store.maxRecords and maxBytes: \`hostward docs replicas\` says what a record costs the cluster`;
    const share = Math.max(count / maxRecords, bytes / maxBytes);
    const says = `${count} records of ${maxRecords}, ${bytes} bytes of ${maxBytes}`;
    if (share >= 1) return fault(`the store is full: ${says}; new keys are refused`, { mend });
    if (share >= nearlyFull) return warning(`the store is nearly full: ${says}`, { mend });
    return ok(foreign.length === 0 ? says : `${says}, beside ${counted(foreign.length, 'other Secret')}`);
  },
};

/** The cluster itself may refuse more Secrets; who may not read quotas learns it from the first refusal. */
async function fullQuota(patient: Patient, namespace: string): Promise<Finding | undefined> {
  const found = await patient.recordsCluster.client.tryList(quotas, namespace);
  if (found.kind === 'failed') return undefined;
  for (const { metadata, status } of found.objects) {
    const { hard, used } = isRecord(status) ? status : {};
    for (const name of ['secrets', 'count/secrets', 'configmaps', 'count/configmaps']) {
      const [most, now] = [isRecord(hard) ? hard[name] : undefined, isRecord(used) ? used[name] : undefined];
      if (most === undefined || Number(now) < Number(most) * nearlyFull) continue;
      const says = `the quota ${metadata.name} in ${namespace} allows ${most} ${name}, and ${now} are there`;
      const mend = `kubectl -n ${namespace} edit resourcequota ${metadata.name}   # the store needs a Secret for each record`;
      return Number(now) >= Number(most) ? fault(says, { mend }) : warning(says, { mend });
    }
  }
  return undefined;
}

export const recordChecks: readonly Check[] = [
  ...[answers, grantsRights, isAlone, isOwn, isProtected],
  ...[isBudgeted, hasRoom, isAgreed, isPlaced, isSpread, isEncrypted],
];
