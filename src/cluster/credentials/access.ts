// What it takes to get into one cluster: the server, TLS material, headers. Shapes only, shared by the sources of
// credentials and by the transport that uses them.
import type { ProxyAgent } from 'undici';
import type { ClusterFault } from '../errors.ts';

export interface TlsMaterial {
  ca: string | undefined;
  cert: string | undefined;
  key: string | undefined;
  servername: string | undefined;
  rejectUnauthorized: boolean;
}

/** What one reading of the credentials gave. */
export interface Access {
  headers: Readonly<Record<string, string | string[]>>;
  tls: TlsMaterial;
  /** Files are cheap to read again and rotate without notice; a plugin is a process and says when to ask again. */
  from: 'files' | 'plugin';
  /** Wall time at which these stop to work, when the source tells. */
  expiresAtMs?: number;
}

export interface Credentials {
  readonly server: string;
  /** Where they come from, for messages: `kubeconfig "…" context "…"`. */
  readonly source: string;
  /** The namespace that the context or the pod names. */
  readonly namespace: string | undefined;
  /** A proxy on the way; its code is loaded with the credentials, since few need it. */
  readonly proxy: { url: string; Agent: typeof ProxyAgent } | undefined;
  /** Reads files and asks plugins anew; throws CredentialsError. */
  read(): Promise<Access>;
}

export type CredentialsResult =
  | { kind: 'ok'; credentials: Credentials }
  | { kind: 'faults'; faults: readonly ClusterFault[] };
