// Writes a kubeconfig for one user of one cluster. The text is JSON, which is valid YAML and needs no quoting rules.

export function kubeconfigText(cluster: {
  name: string;
  url: string;
  caPem: string;
  token: string;
  user: string;
}): string {
  const { name, url, caPem, token, user } = cluster;
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: url, 'certificate-authority-data': Buffer.from(caPem).toString('base64') } }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name, context: { cluster: name, user } }],
    'current-context': name,
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
