// Writes the text of a kubeconfig for one virtual cluster. In: the address of its API, the authority of its certificate, and a
// credential. Out: YAML that kubectl and client libraries load. The text always contains the authority, so that TLS proves the
// server at every address.

export type KubeconfigUser =
  | { token: string }
  | { certificatePem: string; keyPem: string }
  | { command: string; args: readonly string[]; installHint: string };

export interface KubeconfigParts {
  /** Name of the cluster, the user and the context. */
  name: string;
  server: string;
  /** The name in the server's certificate, if the address has another name. */
  tlsServerName?: string | undefined;
  authorityPem: string;
  user: KubeconfigUser;
}

export async function kubeconfigText({
  name,
  server,
  tlsServerName,
  authorityPem,
  user,
}: KubeconfigParts): Promise<string> {
  // Loaded late, because most commands and requests need no YAML.
  const { dump } = await import('js-yaml');
  const cluster = {
    server,
    'certificate-authority-data': base64(authorityPem),
    ...(tlsServerName === undefined ? {} : { 'tls-server-name': tlsServerName }),
  };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster }],
    users: [{ name, user: userEntry(user) }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  };
  return dump(config, { noRefs: true, lineWidth: -1 });
}

function userEntry(user: KubeconfigUser): object {
  if ('token' in user) return { token: user.token };
  if ('certificatePem' in user)
    return { 'client-certificate-data': base64(user.certificatePem), 'client-key-data': base64(user.keyPem) };
  return {
    exec: {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: user.command,
      args: [...user.args],
      installHint: user.installHint,
      interactiveMode: 'Never',
      provideClusterInfo: false,
    },
  };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
