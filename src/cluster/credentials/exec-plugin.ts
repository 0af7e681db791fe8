// Runs the exec plugin of a kubeconfig. We do not use client-node for this: client-node runs plugins without a time limit
// and without KUBERNETES_EXEC_INFO, and hides when the credential expires.
import { execFile } from 'node:child_process';
import type { Cluster, User } from '@kubernetes/client-node/dist/config_types.js';
import { CredentialsError, excerpt, messageOf } from '../errors.ts';

export interface PluginCredential {
  token: string | undefined;
  clientCertificateData: string | undefined;
  clientKeyData: string | undefined;
  expiresAtMs: number | undefined;
}

/** Long enough for a slow cloud login. A plugin that waits for a person in a browser can never serve a daemon. */
const pluginTimeoutMs = 60_000;
/** An ExecCredential has a few KiB, so a longer output is something else. */
const pluginOutputLimit = 1024 * 1024;

export async function runPlugin(
  selected: { cluster: Cluster; user: User },
  environment: Readonly<Record<string, string | undefined>>,
): Promise<PluginCredential> {
  const { exec } = selected.user;
  const command = String(exec?.command ?? '');
  const fail = (why: string): never => {
    throw new CredentialsError([
      {
        code: 'CLUSTER_CREDENTIALS_UNREADABLE',
        message: `running the exec plugin "${excerpt(command)}" of user "${selected.user.name}": ${why}`,
        fix: 'run the command by hand and see what it says; it must be installed where this program runs',
      },
    ]);
  };
  if (command === '') return fail('the user entry names no command');
  const env: Record<string, string | undefined> = { ...environment };
  for (const entry of Array.isArray(exec.env) ? exec.env : []) env[String(entry?.name)] = String(entry?.value ?? '');
  env['KUBERNETES_EXEC_INFO'] = execInfo(selected.cluster, exec);
  const args = Array.isArray(exec.args) ? exec.args.map(String) : [];
  let output: string;
  try {
    output = await run(command, args, env);
  } catch (error) {
    return fail(messageOf(error));
  }
  return parse(output) ?? fail('wanted an ExecCredential with a status on standard output, got something else');
}

const notStarted: Readonly<Record<string, string>> = {
  ENOENT: 'there is no program of that name',
  EACCES: 'this user may not run it',
  ENOEXEC: 'it is no program for this machine',
  ERR_CHILD_PROCESS_STDIO_MAXBUFFER: 'it printed more than a credential',
};

function run(command: string, args: string[], env: Record<string, string | undefined>): Promise<string> {
  const options = {
    env,
    timeout: pluginTimeoutMs,
    // A plugin may ignore a friendlier signal, and then every request that needs its credential would wait for it.
    killSignal: 'SIGKILL' as const,
    maxBuffer: pluginOutputLimit,
    encoding: 'utf8' as const,
  };
  return new Promise((resolve, reject) => {
    const child = execFile(command, args, options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      if (error.killed === true) return reject(new Error(`no answer within ${pluginTimeoutMs / 1000} s`));
      const why = notStarted[String(error.code)] ?? `it ended with ${error.code ?? error.signal}`;
      const said = excerpt(stderr);
      reject(new Error(said === '' ? why : `${why}: ${said}`));
    });
    // A daemon has no person at a terminal, so a plugin that reads its input must not wait.
    child.stdin?.end();
  });
}

function execInfo(cluster: Cluster, exec: Record<string, unknown>): string {
  const spec: Record<string, unknown> = { interactive: false };
  if (exec['provideClusterInfo'] === true) {
    spec['cluster'] = {
      server: cluster.server,
      'certificate-authority-data': cluster.caData,
      'tls-server-name': cluster.tlsServerName,
      'insecure-skip-tls-verify': cluster.skipTLSVerify,
    };
  }
  const apiVersion = exec['apiVersion'] ?? 'client.authentication.k8s.io/v1';
  return JSON.stringify({ apiVersion, kind: 'ExecCredential', spec });
}

function parse(output: string): PluginCredential | undefined {
  let value: unknown;
  try {
    value = JSON.parse(output);
  } catch {
    return undefined;
  }
  const status = (value as { status?: Record<string, unknown> } | null)?.status;
  if (typeof status !== 'object' || status === null) return undefined;
  const text = (name: string) => (typeof status[name] === 'string' && status[name] !== '' ? status[name] : undefined);
  const expires = Date.parse(text('expirationTimestamp') ?? '');
  const credential = {
    token: text('token'),
    clientCertificateData: text('clientCertificateData'),
    clientKeyData: text('clientKeyData'),
    expiresAtMs: Number.isNaN(expires) ? undefined : expires,
  };
  const isUsable = credential.token !== undefined || credential.clientCertificateData !== undefined;
  return isUsable ? credential : undefined;
}
