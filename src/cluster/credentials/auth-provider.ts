// Asks one of the old auth providers of a kubeconfig for a token: gcp, azure and oidc. In: the context that names it. Out: its headers, or
// a fault that says what its entry lacks. Only this file loads the whole of client-node, so that other kubeconfigs do not pay for its
// memory.
import type { Cluster, User } from '@kubernetes/client-node/dist/config_types.js';
import { isRecord } from '../../object/text/json.ts';
import { CredentialsError, excerpt, messageOf } from '../errors.ts';

export async function askAuthProvider(cluster: Cluster, user: User): Promise<Record<string, string>> {
  const provider = user.authProvider as { name?: unknown; config?: unknown };
  const name = excerpt(String(provider.name));
  const refuse = (why: string): never => {
    const message = `asking the auth provider "${name}" of user "${excerpt(user.name)}": ${why}`;
    throw new CredentialsError([{ code: 'CLUSTER_CREDENTIALS_UNREADABLE', message, fix: fixOf(name) }]);
  };
  const config = isRecord(provider.config) ? provider.config : {};
  const missing = missingIn(name, config);
  if (missing !== undefined) return refuse(missing);
  const { KubeConfig } = await import('@kubernetes/client-node');
  const kubeconfig = new KubeConfig();
  kubeconfig.loadFromClusterAndUser(cluster, user);
  const options: { headers?: Record<string, unknown> } = {};
  try {
    await kubeconfig.applyToHTTPSOptions(options);
  } catch (error) {
    return refuse(whyFailed(error));
  }
  const headers = Object.entries(options.headers ?? {}).map(([key, value]) => [key.toLowerCase(), String(value)]);
  // The library says nothing of a token that has ended and cannot be renewed.
  if (headers.length === 0) return refuse(`its token has ended; wanted ${listed(renewal[name] ?? [])} to get another`);
  return Object.fromEntries(headers);
}

/** What gets another token. */
const renewal: Readonly<Record<string, readonly string[]>> = {
  oidc: ['client-id', 'refresh-token', 'idp-issuer-url'],
  gcp: ['cmd-path', 'token-key', 'expiry-key'],
  azure: ['cmd-path', 'token-key', 'expiry-key'],
};

function missingIn(name: string, config: Readonly<Record<string, unknown>>): string | undefined {
  const wanted = renewal[name];
  if (wanted === undefined) return `wanted one of ${Object.keys(renewal).join(', ')}`;
  const has = (key: string) => typeof config[key] === 'string' && config[key] !== '';
  const token = name === 'oidc' ? 'id-token' : 'access-token';
  if (has(token)) return undefined;
  // An ID token can be renewed, but the first one comes from a login.
  if (name === 'oidc') return `its config has no ${token}`;
  return wanted.every(has) ? undefined : `its config has no ${token}; wanted it, or ${listed(wanted)} to get one`;
}

function listed(keys: readonly string[]): string {
  return `${keys.slice(0, -1).join(', ')} and ${keys.at(-1)}`;
}

/** What the library says of an entry that it did not expect is about its own variables. */
function whyFailed(error: unknown): string {
  const isAboutItself = (error instanceof TypeError && error.cause === undefined) || error instanceof SyntaxError;
  return isAboutItself ? 'its config, or what its command printed, holds no token' : messageOf(error);
}

function fixOf(name: string): string {
  return name === 'oidc'
    ? 'log in again with the tool that wrote the kubeconfig'
    : 'get a new kubeconfig with a token, a client certificate or an exec plugin: Kubernetes has dropped this kind of entry in 1.26';
}
