// The types for access to one cluster: server, TLS material and headers. The readers of credentials and the transport
// share these types.
import type { ProxyAgent } from 'undici';
import type { ClusterFault } from '../errors.ts';

export interface TlsMaterial {
  ca: string | undefined;
  cert: string | undefined;
  key: string | undefined;
  servername: string | undefined;
  rejectUnauthorized: boolean;
}

/** The result of one reading of the credentials. */
export interface ClusterAccess {
  server: string;
  /** The proxy between us and the server; its code is loaded only for kubeconfigs that name a proxy. */
  proxy: { url: string; Agent: typeof ProxyAgent } | undefined;
  headers: Readonly<Record<string, string | string[]>>;
  tls: TlsMaterial;
  /** Files change without notice and are cheap to read again; a plugin is a process and reports its own expiry. */
  from: 'files' | 'plugin';
  /** Wall time at which the credentials expire; absent when the source does not say. */
  expiresAtMs?: number;
}

export interface Credentials {
  /** The server that was named first; each reading names its own. */
  readonly server: string;
  /** The origin of the credentials, for messages: `kubeconfig "…" context "…"`. */
  readonly source: string;
  /** The namespace of the kubeconfig context or of the pod. */
  readonly namespace: string | undefined;
  readonly proxy: ClusterAccess['proxy'];
  /** Reads the files and runs the plugin again; throws CredentialsError. */
  read(): Promise<ClusterAccess>;
}

export type CredentialsResult =
  | { kind: 'ok'; credentials: Credentials }
  | { kind: 'faults'; faults: readonly ClusterFault[] };
