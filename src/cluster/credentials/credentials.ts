// Opens the credentials for one cluster: the address of its server and the proof of our identity. In: a kubeconfig file,
// or the files that Kubernetes mounts into a pod. Out: a source that can be read repeatedly, because tokens and
// certificates rotate, or a list of all faults with their fixes. Must never log a secret or send a request.
import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import type { ClusterFault } from '../errors.ts';
import { CredentialsError } from '../errors.ts';
import type { ClusterAccess, Credentials, CredentialsResult } from './access.ts';
import { openKubeconfig } from './kubeconfig.ts';
import { readSecretFile } from './secret-file.ts';

export interface CredentialsOptions {
  /** Path of a kubeconfig file; undefined = the service account of the pod. */
  kubeconfig: string | undefined;
  /** An address in place of the one in the kubeconfig. */
  server?: string | undefined;
  /** Holds KUBERNETES_SERVICE_HOST and _PORT in a pod; exec plugins inherit this environment. */
  environment: Readonly<Record<string, string | undefined>>;
  /** A prefix for /var/run/secrets/…; for tests only. */
  rootFolder?: string;
}

/** Reads the credentials once, so that the start reports every fault. */
export async function openCredentials(options: CredentialsOptions): Promise<CredentialsResult> {
  const opened =
    options.kubeconfig === undefined
      ? await openInCluster(options)
      : await openKubeconfig({ ...options, path: options.kubeconfig });
  if (opened.kind === 'faults') return opened;
  try {
    await opened.credentials.read();
  } catch (error) {
    if (error instanceof CredentialsError) return { kind: 'faults', faults: error.faults };
    throw error;
  }
  return opened;
}

const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

async function openInCluster(options: CredentialsOptions): Promise<CredentialsResult> {
  const host = options.environment['KUBERNETES_SERVICE_HOST'];
  const port = options.environment['KUBERNETES_SERVICE_PORT'];
  if (host === undefined || host === '' || port === undefined || port === '') {
    const fault: ClusterFault = {
      code: 'CLUSTER_NOT_IN_CLUSTER',
      message:
        'looking for in-cluster credentials: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set, so this is not a pod',
      fix: 'run in a pod, or name a kubeconfig file',
    };
    return { kind: 'faults', faults: [fault] };
  }
  const folder = `${options.rootFolder ?? ''}${serviceAccountFolder}`;
  const namespace = await readFile(`${folder}/namespace`, 'utf8').catch(() => undefined);
  const server = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const read = async (): Promise<ClusterAccess> => {
    const faults: ClusterFault[] = [];
    const token = await readSecretFile(`${folder}/token`, 'service account token', faults);
    const ca = await readSecretFile(`${folder}/ca.crt`, 'CA certificate', faults);
    if (faults.length > 0) throw new CredentialsError(faults);
    const tls = { ca, cert: undefined, key: undefined, servername: undefined, rejectUnauthorized: true };
    return { server, proxy: undefined, headers: { authorization: `Bearer ${token}` }, tls, from: 'files' };
  };
  const credentials: Credentials = {
    server,
    source: `the service account in "${folder}"`,
    namespace: namespace?.trim(),
    proxy: undefined,
    read,
  };
  return { kind: 'ok', credentials };
}
