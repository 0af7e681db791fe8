// Sends requests about client certificates to one virtual cluster: signing requests, and the bindings that give certificates
// rights. In: the kubeconfig of the virtual cluster. Out: answers as the transport gives them. The connection lasts for one piece
// of work.
import type { Clock } from '../../../clock.ts';
import type { Answer } from '../../../cluster/answer.ts';
import { openCredentials } from '../../../cluster/credentials/credentials.ts';
import type { Connection } from '../../../cluster/wire/connection.ts';
import { openConnection } from '../../../cluster/wire/transport.ts';
import type { Log } from '../../../log.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import { issueGroup, issueObjectName } from '../kubeconfig/names.ts';

export interface ReachOptions {
  /** Exec plugins of kubeconfigs inherit it. */
  environment: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  log: Log;
}

const requestsPath = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const bindingsPath = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
const requestTimeoutMs = 5_000;
const pageSize = 500;

export const issueLabel = 'hostward.dev/issue';
const issuerLabel = 'hostward.dev/issuer';

export class VirtualCluster {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  createRequest(of: { id: string; requestPem: string; seconds: number | undefined }): Promise<Answer> {
    return this.#send('POST', requestsPath, {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name: issueObjectName(of.id), labels: { [issueLabel]: of.id } },
      spec: {
        signerName: 'kubernetes.io/kube-apiserver-client',
        // Any other usage would be taken here and refused by the signer.
        usages: ['client auth', 'digital signature'],
        request: Buffer.from(of.requestPem).toString('base64'),
        ...(of.seconds === undefined ? {} : { expirationSeconds: of.seconds }),
      },
    });
  }

  approve(request: KubeObject): Promise<Answer> {
    const condition = {
      type: 'Approved',
      status: 'True',
      reason: 'HostwardKubeconfig',
      message: 'asked for through the management API of Hostward by an admin of the project',
    };
    const status = { ...(request['status'] as object | undefined), conditions: [condition] };
    return this.#send('PUT', `${requestsPath}/${request.metadata.name}/approval`, { ...request, status });
  }

  request(id: string): Promise<Answer> {
    return this.#send('GET', `${requestsPath}/${issueObjectName(id)}`);
  }

  deleteRequest(id: string): Promise<Answer> {
    return this.#send('DELETE', `${requestsPath}/${issueObjectName(id)}`);
  }

  createBinding(of: { id: string; issuer: string; key: string; clusterRole: string }): Promise<Answer> {
    const labels = {
      'app.kubernetes.io/managed-by': 'hostward',
      [issueLabel]: of.id,
      [issuerLabel]: of.issuer,
    };
    return this.#send('POST', bindingsPath, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: issueObjectName(of.id), labels, annotations: { 'hostward.dev/key': of.key } },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: of.clusterRole },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: issueGroup(of.id) }],
    });
  }

  deleteBinding(id: string): Promise<Answer> {
    return this.#send('DELETE', `${bindingsPath}/${issueObjectName(id)}`);
  }

  /** The first page of the bindings that this Hostward has made. After these are deleted, the next look finds the next page. */
  bindings(issuer: string): Promise<Answer> {
    const query = new URLSearchParams({ labelSelector: `${issuerLabel}=${issuer}`, limit: String(pageSize) });
    return this.#send('GET', `${bindingsPath}?${query}`);
  }

  #send(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object): Promise<Answer> {
    const text = body === undefined ? {} : { body: JSON.stringify(body), contentType: 'application/json' as const };
    return this.#connection.request({ method, path, ...text, timeoutMs: requestTimeoutMs });
  }
}

/** The faults say why a kubeconfig cannot be used. They name files of this machine, so they are for operators. */
export async function withVirtualCluster<T>(
  kubeconfig: string,
  { environment, clock, log }: ReachOptions,
  run: (cluster: VirtualCluster) => Promise<T>,
): Promise<{ kind: 'done'; value: T } | { kind: 'faults'; faults: string[] }> {
  const opened = await openCredentials({ kubeconfig, environment });
  if (opened.kind === 'faults') return { kind: 'faults', faults: opened.faults.map(({ message }) => message) };
  const connection = openConnection({ name: 'instance', credentials: opened.credentials, clock, log });
  try {
    return { kind: 'done', value: await run(new VirtualCluster(connection)) };
  } finally {
    await connection.close();
  }
}
