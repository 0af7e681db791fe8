// Turns the user entry of a kubeconfig into headers and TLS material: tokens, token files, client certificates, basic
// authentication, exec plugins, the old auth providers, impersonation. Each call reads the files again.
import type { Cluster, User } from '@kubernetes/client-node/dist/config_types.js';
import type { ClusterFault } from '../errors.ts';
import { CredentialsError, excerpt } from '../errors.ts';
import type { ClusterAccess, TlsMaterial } from './access.ts';
import { askAuthProvider } from './auth-provider.ts';
import { runPlugin } from './exec-plugin.ts';
import { readSecretFile } from './secret-file.ts';

/** The entries of a kubeconfig that its current context names. */
export interface SelectedContext {
  cluster: Cluster;
  user: User;
  /** The user entry as written, because client-node knows neither `tokenFile` nor impersonated groups. */
  rawUser: Readonly<Record<string, unknown>>;
  context: string;
  namespace: string | undefined;
}

export type UserEnvironment = Readonly<Record<string, string | undefined>>;

/** What the user entry says; the server and the proxy are in the cluster entry. */
export type UserAccess = Omit<ClusterAccess, 'server' | 'proxy'>;

/** Throws one CredentialsError with all faults. */
export async function readUser(selected: SelectedContext, environment: UserEnvironment): Promise<UserAccess> {
  const { cluster, user, rawUser } = selected;
  const faults: ClusterFault[] = [];
  const tls: TlsMaterial = {
    ca: await material(cluster.caData, cluster.caFile, 'CA certificate', faults),
    cert: await material(user.certData, user.certFile, 'client certificate', faults),
    key: await material(user.keyData, user.keyFile, 'client key', faults),
    servername: cluster.tlsServerName,
    rejectUnauthorized: !cluster.skipTLSVerify,
  };
  const headers = impersonation(rawUser);
  const tokenFile = rawUser['tokenFile'];
  const token =
    typeof tokenFile === 'string' ? await readSecretFile(tokenFile, 'token file', faults) : user.token?.trim();
  if (token !== undefined && /[^\t\x20-\x7e\x80-\xff]/.test(token))
    faults.push({
      code: 'CLUSTER_CREDENTIALS_UNREADABLE',
      message: `the token of user "${excerpt(user.name)}" has a line break or another character that no token has`,
      fix: 'write the token as its cluster gave it, in one line',
    });
  // As kubectl has it: without the key nobody would learn whose requests these are.
  if (tls.cert !== undefined && !user.keyData && user.keyFile === undefined)
    faults.push({
      code: 'CLUSTER_CREDENTIALS_UNREADABLE',
      message: `user "${excerpt(user.name)}" has a client certificate and no key for it`,
      fix: 'add its client-key or client-key-data, or get a new kubeconfig from its cluster',
    });
  if (token !== undefined && token !== '') headers['authorization'] = `Bearer ${token}`;
  else if (user.username !== undefined) headers['authorization'] = basic(user.username, user.password ?? '');
  if (faults.length > 0) throw new CredentialsError(faults);

  if (user.exec !== undefined && user.exec !== null)
    return withPlugin(selected, { headers, tls, from: 'plugin' }, environment);
  if (user.authProvider !== undefined && user.authProvider !== null)
    return { headers: { ...headers, ...(await askAuthProvider(cluster, user)) }, tls, from: 'files' };
  return { headers, tls, from: 'files' };
}

async function withPlugin(
  selected: SelectedContext,
  access: UserAccess,
  environment: UserEnvironment,
): Promise<UserAccess> {
  const credential = await runPlugin(selected, environment);
  const tls = {
    ...access.tls,
    cert: credential.clientCertificateData ?? access.tls.cert,
    key: credential.clientKeyData ?? access.tls.key,
  };
  const headers =
    credential.token === undefined
      ? access.headers
      : { ...access.headers, authorization: `Bearer ${credential.token}` };
  const renewed: UserAccess = { headers, tls, from: 'plugin' };
  return credential.expiresAtMs === undefined ? renewed : { ...renewed, expiresAtMs: credential.expiresAtMs };
}

async function material(
  data: string | undefined,
  path: string | undefined,
  what: string,
  faults: ClusterFault[],
): Promise<string | undefined> {
  if (data !== undefined && data !== null && data !== '') return Buffer.from(data, 'base64').toString('utf8');
  return path === undefined ? undefined : await readSecretFile(path, what, faults);
}

function impersonation(rawUser: Readonly<Record<string, unknown>>): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  if (typeof rawUser['as'] === 'string') headers['impersonate-user'] = rawUser['as'];
  if (typeof rawUser['as-uid'] === 'string') headers['impersonate-uid'] = rawUser['as-uid'];
  if (Array.isArray(rawUser['as-groups'])) headers['impersonate-group'] = rawUser['as-groups'].map(String);
  return headers;
}

function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}
