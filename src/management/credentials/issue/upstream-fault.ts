// Makes the Status for a caller when the virtual cluster refuses a step of issuing a client certificate. In: an answer of the
// virtual cluster. Out: a Status with the remedy. The texts of the virtual cluster and of its kubeconfig stay in the log.
import { StatusFault } from '../../../apiserver/request/status-fault.ts';
import type { Answer } from '../../../cluster/answer.ts';
import type { Log } from '../../../log.ts';
import { type Status, serviceUnavailable } from '../../../object/meta/status.ts';
import { type InstanceRef, instanceText } from '../kubeconfig/names.ts';

/** A virtual cluster that starts needs some seconds. */
const retrySeconds = 5;

export type BadAnswer = Exclude<Answer, { kind: 'ok' }>;

interface Step {
  instance: InstanceRef;
  step: string;
  /** A create looks for no object: a 404 says then that the cluster does not serve the resource. */
  isCreate?: boolean;
  log: Log;
}

export function upstreamFault(answer: BadAnswer, at: Step): StatusFault {
  const { instance, step, log } = at;
  const where = `virtual cluster ${instanceText(instance)}`;
  const said = 'message' in answer ? answer.message : answer.reason;
  log.warn({ component: 'management', instance: instanceText(instance), step, said }, 'client certificate not issued');
  if ((answer.kind === 'notFound' && at.isCreate === true) || (answer.kind === 'failed' && answer.status === 404))
    return badGateway(
      `the ${where} has no API to ${step}; ask for a kubeconfig without clientCert, or the operator of Hostward for another way to sign`,
    );
  switch (answer.kind) {
    case 'forbidden':
      return badGateway(
        `Hostward has no right to ${step} in the ${where}; its operator grants the right with: hostward upstream-rbac --instance ${instanceText(instance)} --config FILE >rights.yaml && kubectl --kubeconfig ADMIN-THERE apply -f rights.yaml`,
      );
    case 'unauthorized':
      return badGateway(`Hostward cannot log in to the ${where}; ask the operator of Hostward to renew the kubeconfig`);
    case 'failed':
    case 'throttled':
    case 'notSent':
      return notReady(`the ${where} is not ready to ${step}; try again`);
    default:
      return badGateway(`the ${where} refuses to ${step}; the log of Hostward has its words`);
  }
}

export function notReady(message: string): StatusFault {
  return new StatusFault({ ...serviceUnavailable(message), details: { retryAfterSeconds: retrySeconds } });
}

export function badGateway(message: string): StatusFault {
  return fault(502, 'ServiceUnavailable', message);
}

export function gatewayTimeout(message: string): StatusFault {
  return fault(504, 'Timeout', message);
}

function fault(code: number, reason: NonNullable<Status['reason']>, message: string): StatusFault {
  return new StatusFault({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code });
}
