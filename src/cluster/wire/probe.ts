// Checks a cluster before any work begins: is it an API server, does it accept our credentials, does the namespace exist,
// do we have the rights that we need? Reports everything that is missing at once, as faults with a fix.

import { isRecord } from '../../object/text/json.ts';
import type { Answer } from '../answer.ts';
import { type ClusterFault, excerpt } from '../errors.ts';
import type { Permission } from '../permission.ts';
import type { Connection } from './connection.ts';
import { apiVersionOf, objectPath, type ResourceRef, servicesResource } from './scope.ts';

export type ProbeResult = { kind: 'ok'; version: string } | { kind: 'faults'; faults: readonly ClusterFault[] };

/** Asks the server for its version, which needs no rights on objects. */
export async function probe(connection: Connection): Promise<ProbeResult> {
  const answer = await connection.request({ method: 'GET', path: '/version', timeoutMs: probeTimeoutMs });
  if (answer.kind !== 'ok') return { kind: 'faults', faults: [unusable(connection, answer)] };
  const version = answer.object['gitVersion'];
  if (typeof version !== 'string') return { kind: 'faults', faults: [notKubernetes(connection)] };
  return { kind: 'ok', version };
}

/** A start that waits longer looks like a start that hangs. */
const probeTimeoutMs = 10_000;
/** Reviews are small and independent, but many namespace mappings can need hundreds of reviews. */
const reviewsAtOnce = 8;

/** Returns one fault for each missing right, one for credentials that name nobody, and no fault when the server does not offer access reviews. */
export async function checkPermissions(
  connection: Connection,
  permissions: readonly Permission[],
): Promise<ClusterFault[]> {
  const reviews = await reviewAll(connection, permissions);
  if (reviews.includes('nobody')) return [namesNobody(connection.name)];
  // Only a clear refusal counts. Without a review, or after a failed one, the first real request shows a missing right.
  return permissions.flatMap((permission, index) =>
    reviews[index] === 'denied' ? [missing(connection.name, permission)] : [],
  );
}

/** All that a review needs: whoever asks may bound its requests. */
type Asked = Pick<Connection, 'request'>;

/** One review for each permission, in their order. `unanswered` hears why one is unknown. */
export async function reviewAll(
  connection: Asked,
  permissions: readonly Permission[],
  unanswered: (why: string) => void = () => {},
): Promise<readonly AccessReview[]> {
  const queue = [...permissions.entries()];
  const reviews: AccessReview[] = [];
  const ask = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [index, permission] = next;
      reviews[index] = await reviewAccess(connection, permission, unanswered);
    }
  };
  await Promise.all(Array.from({ length: reviewsAtOnce }, ask));
  return reviews;
}

/**
 * `unknown` when the server does not offer access reviews, or when the review failed; `nobody` when the server does not know who asks, because
 * everybody whom it knows may ask for reviews.
 */
export type AccessReview = 'allowed' | 'denied' | 'nobody' | 'unknown';

export function namesNobody(cluster: string): ClusterFault {
  return {
    code: 'CLUSTER_UNAUTHORIZED',
    message: `the ${cluster} cluster takes us for ${anonymous}, because the kubeconfig has neither a token nor a client certificate that it knows`,
    fix: 'put credentials into the kubeconfig',
  };
}

/** The user of a request without credentials, if the server lets such requests in at all. */
const anonymous = 'system:anonymous';

async function reviewAccess(
  connection: Asked,
  permission: Permission,
  unanswered: (why: string) => void,
): Promise<AccessReview> {
  const { verb, group, resource, namespace, name } = permission;
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { verb, group, resource, namespace, name } },
  };
  const answer = await connection.request({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    body: JSON.stringify(body),
    contentType: 'application/json',
    timeoutMs: probeTimeoutMs,
  });
  const status = answer.kind === 'ok' ? (answer.object['status'] as { allowed?: unknown } | undefined) : undefined;
  if (answer.kind === 'forbidden' && answer.message.includes(`"${anonymous}"`)) return 'nobody';
  if (typeof status?.allowed === 'boolean') return status.allowed ? 'allowed' : 'denied';
  unanswered('message' in answer ? answer.message : 'the answer has no verdict');
  return 'unknown';
}

/** The name by which the server knows us. */
export async function userOf(connection: Asked): Promise<string | undefined> {
  const status = await selfReview(connection, 'authentication.k8s.io', 'SelfSubjectReview');
  const info = isRecord(status) ? status['userInfo'] : undefined;
  const name = isRecord(info) ? info['username'] : undefined;
  return typeof name === 'string' ? name : undefined;
}

/** The status of a review of ourselves, or undefined where the server gives none. */
export async function selfReview(connection: Asked, group: string, kind: string, spec?: object): Promise<unknown> {
  const answer = await connection.request({
    method: 'POST',
    path: `/apis/${group}/v1/${kind.toLowerCase()}s`,
    body: JSON.stringify({ apiVersion: `${group}/v1`, kind, spec }),
    contentType: 'application/json',
    timeoutMs: probeTimeoutMs,
  });
  return answer.kind === 'ok' ? answer.object['status'] : undefined;
}

function missing(cluster: string, permission: Permission): ClusterFault {
  const { verb, group, resource, namespace } = permission;
  const full = group === '' ? resource : `${resource}.${group}`;
  const where = namespace === undefined ? 'in all namespaces' : `in namespace "${namespace}"`;
  const role = namespace === undefined ? 'ClusterRole' : `Role in namespace "${namespace}"`;
  return {
    code: 'CLUSTER_PERMISSION_MISSING',
    message: `checking rights on the ${cluster} cluster: not allowed to ${verb} ${full} ${where}`,
    fix: `add to the ${role}: apiGroups ["${group}"], resources ["${resource}"], verbs ["${verb}"]`,
    permission,
  };
}

/** `unknown` without the right to read the namespace. That is not a fault, because a Role seldom includes this right. */
export type FoundNamespace =
  | { kind: 'found' | 'terminating' }
  /** `why`: the trouble of a server that did not refuse to tell. */
  | { kind: 'unknown'; isForbidden: boolean; why?: string }
  | { kind: 'missing'; fault: ClusterFault };

export async function checkNamespace(connection: Connection, namespace: string): Promise<FoundNamespace> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}`;
  const answer = await connection.request({ method: 'GET', path, timeoutMs: probeTimeoutMs });
  if (answer.kind === 'ok') {
    const status = answer.object['status'] as { phase?: unknown } | undefined;
    return { kind: status?.phase === 'Terminating' ? 'terminating' : 'found' };
  }
  if (answer.kind === 'failed' || answer.kind === 'throttled')
    return { kind: 'unknown', isForbidden: false, why: answer.message };
  if (answer.kind !== 'notFound') return { kind: 'unknown', isForbidden: answer.kind === 'forbidden' };
  const fault: ClusterFault = {
    code: 'CLUSTER_NAMESPACE_MISSING',
    message: `looking for namespace "${namespace}" on the ${connection.name} cluster: the namespace does not exist`,
    fix: 'create it, or name the namespace that the virtual cluster runs in',
  };
  return { kind: 'missing', fault };
}

/**
 * Whether a server has the Service of the virtual cluster, so that it is the host of the virtual cluster. A tenant may have a namespace of the
 * host namespace's name; nobody makes this Service inside of the virtual cluster.
 */
export async function isHostOf(connection: Connection, service: { namespace: string; name: string }): Promise<boolean> {
  const path = objectPath(servicesResource, service);
  return (await connection.request({ method: 'GET', path, timeoutMs: probeTimeoutMs })).kind === 'ok';
}

export function swappedSentence(namespace: string): string {
  return `the host has no namespace ${JSON.stringify(namespace)}, and the virtual cluster has it: the two kubeconfigs are swapped`;
}

function unusable(connection: Connection, answer: Exclude<Answer, { kind: 'ok' }>): ClusterFault {
  const message = answer.kind === 'notSent' ? 'the request was not sent' : answer.message;
  switch (answer.kind) {
    case 'unauthorized':
      if (answer.fix !== undefined) return { code: 'CLUSTER_UNAUTHORIZED', message, fix: answer.fix };
      return {
        code: 'CLUSTER_UNAUTHORIZED',
        message: `${message} (the credentials are wrong or have expired)`,
        fix: 'renew the token or the client certificate',
      };
    case 'failed':
      // A status shows that a server answered; a status below 500 is then not an answer of an API server.
      return answer.status === undefined || answer.status >= 500
        ? {
            code: 'CLUSTER_UNREACHABLE',
            message,
            fix: answer.fix ?? 'look at the logs of the API server',
            mayPass: answer.status !== undefined || answer.mayPass === true,
          }
        : { code: 'CLUSTER_NOT_KUBERNETES', message, fix: message.includes(plainHttp) ? httpsFix : notKubernetesFix };
    case 'throttled':
      return {
        code: 'CLUSTER_UNREACHABLE',
        message,
        fix: 'the API server is overloaded: try again later',
        mayPass: true,
      };
    case 'forbidden':
      return {
        code: 'CLUSTER_PERMISSION_MISSING',
        message,
        fix: fixOfForbidden(connection),
      };
    default:
      return { ...notKubernetes(connection), message };
  }
}

/** An API server forbids whatever it does not know to users who may not read all paths, also a path in front of its own. */
function fixOfForbidden({ server }: Connection): string {
  const prefix = new URL(server).pathname.replace(/\/$/, '');
  const readable = `let the user read ${prefix}/version, as system:discovery does`;
  return prefix === ''
    ? readable
    : `take ${prefix} off its server in the kubeconfig, unless a proxy wants it there; else ${readable}`;
}

/** What a server in Go answers on a port for TLS. */
const plainHttp = 'HTTP request to an HTTPS server';
const httpsFix = 'write https:// in place of http:// as its server in the kubeconfig';
const notKubernetesFix = 'check that address and port are those of a Kubernetes API server';

function notKubernetes(connection: Connection): ClusterFault {
  return {
    code: 'CLUSTER_NOT_KUBERNETES',
    message: `asking "${excerpt(connection.server)}" for its version: the answer is not from a Kubernetes API server`,
    fix: notKubernetesFix,
  };
}

export function unservedSentence({ name }: Connection, { path, resource }: ResourceRef): string {
  return `the ${name} cluster does not serve ${path}/${resource}`;
}

/**
 * Whether the server itself says that it does not have the version. kube-apiserver answers a list of a group that is off in plain text, as
 * another program would.
 */
export async function isUnserved(
  connection: Connection,
  ref: Pick<ResourceRef, 'path'>,
  { answer, signal }: { answer: Answer; signal?: AbortSignal },
): Promise<boolean> {
  // A list of a namespace that does not exist is empty: the path is unknown.
  if (answer.kind === 'notFound') return true;
  const isPlain = answer.kind === 'failed' && answer.status === 404;
  // Every API server has the core group.
  if (!isPlain || !ref.path.startsWith('apis/')) return false;
  const request = { method: 'GET', path: '/apis', timeoutMs: probeTimeoutMs } as const;
  const groups = await connection.request({ ...request, ...(signal && { signal }) });
  if (groups.kind !== 'ok' || groups.object.kind !== 'APIGroupList') return false;
  const versions = listIn(groups.object['groups']).flatMap((group) => listIn(group['versions']));
  return !versions.some(({ groupVersion }) => groupVersion === apiVersionOf(ref));
}

function listIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
