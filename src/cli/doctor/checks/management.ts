// The checks of the management API: its server, its certificate, and each cluster behind it with the rights of `upstream-rbac`.

import { request } from 'node:https';
import { messageOf } from '../../../cluster/errors.ts';
import { silentLog } from '../../../log.ts';
import { MissingRights } from '../../../management/proxy/missing-rights.ts';
import { Upstreams } from '../../../management/proxy/upstreams.ts';
import { Directory } from '../../../management/scope/directory.ts';
import { counted } from '../../../object/text/in-words.ts';
import type { Check } from '../patient/check.ts';
import { type Ending, judgeEndings, peerEnding } from '../patient/endings.ts';
import { couldNotCheck, type Finding, fault, ok } from '../patient/finding.ts';
import type { Patient } from '../patient/patient.ts';

const hasServer = (patient: Patient): boolean =>
  patient.settings.managementServer !== undefined && !patient.isBeforeInstallation;

function ask({ settings, patience }: Patient, path = '/readyz'): Promise<ServerAnswer> {
  const { baseURL } = settings.managementServer ?? {};
  const from = `the management server at ${baseURL}`;
  return patience.during({ from, question: `GET ${path}` }, askServer(new URL(path, baseURL)));
}

/** Many programs have a /readyz, and kube-apiserver is one of them. This path is ours, and 401 is the answer to whoever has no key. */
const ownPath = '/kubernetes/management/apis';
const wantsKey = 401;

const answers: Check = {
  code: 'HW-801',
  needs: ['HW-101'],
  applies: hasServer,
  async look(patient) {
    const url = patient.settings.managementServer?.baseURL;
    const answer = await ask(patient);
    if (answer.kind === 'silent')
      return couldNotCheck(`${url} does not answer: ${answer.reason}`, {
        mend: 'run doctor where the server runs, or correct hostward.management.baseURL',
      });
    if (answer.status === 200) {
      const own = await ask(patient, ownPath);
      if (own.kind === 'answered' && own.status === wantsKey) return ok(`${url} is ready`);
      const found = own.kind === 'answered' ? own.status : own.reason;
      return fault(`another program answers at ${url}: wanted ${wantsKey} from ${ownPath}, found ${found}`, {
        mend: 'correct hostward.management.baseURL and hostward.management.listen, or end that program',
      });
    }
    return fault(`${url} answers ${answer.status}, wanted 200`, {
      mend:
        answer.status >= 500
          ? `${patient.commandHere('status')}   # its verdict names the trouble`
          : 'see that hostward.management.baseURL is the address of this server',
    });
  },
};

const certificateLasts: Check = {
  code: 'HW-802',
  needs: ['HW-101', 'HW-801'],
  applies: hasServer,
  async look(patient) {
    const answer = await ask(patient);
    if (answer.kind === 'silent') return couldNotCheck(answer.reason, { mend: 'run doctor again' });
    const mend = 'renew the files of hostward.management.tls; a certificate of our own is renewed by a restart';
    return judgeEndings(answer.ending === undefined ? [] : [answer.ending], patient.context.clock.wallTime(), mend);
  },
};

const grantRights: Check = {
  code: 'HW-803',
  needs: ['HW-101'],
  applies: (patient) => patient.settings.management !== undefined,
  async look(patient) {
    const { settings, context } = patient;
    const { management } = settings;
    if (management === undefined) throw new Error('the check of upstreams runs without a management API');
    const { environment, clock } = context;
    const directory = new Directory(management);
    const parts = { directory: () => directory, clock, log: silentLog };
    const upstreams = new Upstreams({ ...parts, environment });
    const rights = new MissingRights({ ...parts, upstreams });
    try {
      const from = 'the clusters behind the management API';
      await patient.patience.during({ from, question: 'which rights they grant' }, rights.look());
      return judgeUpstreams(patient, rights.health, placesOf(management));
    } finally {
      rights.stop();
      upstreams.close();
    }
  },
};

function placesOf({ clusters, projects }: NonNullable<Patient['settings']['management']>): number {
  const instances = projects.flatMap(({ virtualClusters }) => virtualClusters);
  return [...clusters, ...instances].filter(({ kubeconfig }) => kubeconfig !== undefined).length;
}

function judgeUpstreams(patient: Patient, ill: MissingRights['health'], count: number): Finding {
  if (ill.length === 0) return ok(`${counted(count, 'cluster')} behind, all with their rights`);
  const details = ill.map(({ name, missing, trouble }) => `${name}: ${trouble ?? `lacks ${missing.join('; ')}`}`);
  const files = patient.options.texts('config').join(' --config ') || 'FILE';
  const mends = [
    ...new Set(
      ill.flatMap(({ mend }) =>
        mend === undefined
          ? []
          : patient.command(mend.replace(/^hostward /, '').replace('--config FILE', `--config ${files}`)),
      ),
    ),
  ];
  const mend = mends.length > 0 ? mends.join('\n') : 'correct the kubeconfig of the entry in hostward.management';
  return fault(`${ill.length} of ${counted(count, 'cluster')} behind cannot be used fully`, { details, mend });
}

export const managementChecks: readonly Check[] = [answers, certificateLasts, grantRights];

/**
 * Asks a server over TLS for one path, whoever signed its certificate: doctor looks at the certificate itself. In: a URL. Out:
 * the status, and when the certificate ends, or why there was no answer. Sends no credential.
 */
type ServerAnswer =
  | { kind: 'answered'; status: number; ending: Ending | undefined }
  | { kind: 'silent'; reason: string };

const answerWithinMs = 5_000;

function askServer(url: URL): Promise<ServerAnswer> {
  return new Promise((resolve) => {
    const asking = request(url, { rejectUnauthorized: false, agent: false, timeout: answerWithinMs });
    asking.on('response', (response) => {
      const ending = peerEnding(response.socket);
      response.destroy();
      resolve({ kind: 'answered', status: response.statusCode ?? 0, ending });
    });
    asking.on('timeout', () => asking.destroy(new Error(`no answer within ${answerWithinMs / 1000} seconds`)));
    asking.on('error', (error) => resolve({ kind: 'silent', reason: messageOf(error) }));
    asking.end();
  });
}
