// Lists what the daemon will list, one object of each kind. In: rights that are there. Out: a finding when no list comes. A server judges
// rights by its rules alone, also when its etcd is gone or it does not serve the kind.
import type { Answer } from '../../../cluster/answer.ts';
import type { Permission } from '../../../cluster/permission.ts';
import { isUnserved } from '../../../cluster/wire/probe.ts';
import { collectionPath, endpointsResource, type ResourceRef, servicesResource } from '../../../cluster/wire/scope.ts';
import { endpointSlicesResource } from '../../../sync/kinds/endpointslices/endpointslice-kind.ts';
import type { Side } from '../../line/cluster-client.ts';
import { type Finding, fault, unanswered } from '../patient/finding.ts';
import type { Patient } from '../patient/patient.ts';

const kinds: readonly ResourceRef[] = [servicesResource, endpointsResource, endpointSlicesResource];
const answerWithinMs = 10_000;

export async function unserved(
  patient: Patient,
  side: Side,
  held: readonly Permission[],
): Promise<Finding | undefined> {
  const { connection } = patient.cluster(side);
  const listed = kinds.flatMap((ref) => {
    // One of many mapped namespaces is enough: they are served alike.
    const right = held.find(({ verb, resource }) => verb === 'list' && resource === ref.resource);
    return right === undefined ? [] : [{ ref, namespace: right.namespace }];
  });
  const answers = await Promise.all(
    listed.map(async ({ ref, namespace }) => {
      const path = `${collectionPath(ref, namespace)}?limit=1`;
      return { ref, answer: await connection.request({ method: 'GET', path, timeoutMs: answerWithinMs }) };
    }),
  );
  const bad = answers.flatMap(({ ref, answer }) => (answer.kind === 'ok' ? [] : [{ ref, answer }]));
  const [first] = bad;
  if (first === undefined) return undefined;
  return judge(side, { ...first, isOff: await isUnserved(connection, first.ref, first) });
}

interface Unlisted {
  ref: ResourceRef;
  answer: Exclude<Answer, { kind: 'ok' }>;
  /** The server says that it does not have this version. */
  isOff: boolean;
}

function judge(side: Side, { ref, answer, isOff }: Unlisted): Finding {
  const message = answer.kind === 'notSent' ? 'not sent' : answer.message;
  const ready = "kubectl get --raw '/readyz?verbose'   # with the same kubeconfig";
  if (answer.kind === 'throttled') return unanswered(`the ${side} cluster lists no ${ref.resource} now: ${message}`);
  if (isOff) {
    const shown = `kubectl get --raw /${ref.path}   # with the same kubeconfig; its API server has this version off`;
    const without = 'or set hostward.endpointSlices.enabled to false: Endpoints are synced all the same';
    return fault(`the ${side} cluster does not serve ${ref.path}/${ref.resource}`, {
      mend: ref === endpointSlicesResource ? `${shown}\n${without}` : shown,
    });
  }
  return fault(`the ${side} cluster does not list its ${ref.resource}: ${message}`, { mend: ready });
}
