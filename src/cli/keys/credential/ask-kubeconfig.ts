// Asks a management API for a kubeconfig of a virtual cluster, and takes the credential out of its text.
import { isRecord } from '../../../object/text/json.ts';
import { CommandFault, type Context, exitCodes } from '../../line/context.ts';
import { durationMs } from '../../line/duration.ts';
import type { Options } from '../../line/parse-arguments.ts';
import { parseDocuments } from '../../offline/yaml-text.ts';
import { apiPrefix } from '../client/management-client.ts';
import { textAt } from '../client/print-key.ts';
import { withServer } from '../client/reach-server.ts';

export interface NamedInstance {
  project: string;
  name: string;
}

export type Secret = { token: string } | { clientCertificateData: string; clientKeyData: string };

export interface AnsweredKubeconfig {
  text: string;
  /** The same, read. */
  config: Record<string, unknown>;
  secret: Secret;
  /** RFC 3339. */
  expires: string;
  warnings: readonly string[];
}

/** The same limit as that of spec.certificateTTL. */
const longestTTL = { ms: 2_147_483_647_000, says: '68 years' };

export function instanceOperand(options: Options): NamedInstance {
  const [, project, name] = /^([a-z0-9-]{1,61})\/([a-z0-9-]{1,63})$/.exec(options.operands[0] ?? '') ?? [];
  if (project !== undefined && name !== undefined) return { project, name };
  const found = options.operands[0] === undefined ? 'nothing' : `"${options.operands[0]}"`;
  throw new CommandFault(exitCodes.usage, `want the virtual cluster as PROJECT/NAME, found ${found}`, {
    hint: 'kubectl get virtualclusterinstances -A shows them, where the namespace is p-PROJECT',
  });
}

export async function askKubeconfig(
  context: Context,
  options: Options,
  of: NamedInstance,
): Promise<AnsweredKubeconfig> {
  const ttl = options.text('ttl');
  const server = options.text('api-server');
  const spec = {
    ...(options.has('client-cert') ? { clientCert: true } : {}),
    ...(ttl === undefined ? {} : { certificateTTL: Math.ceil(durationMs('ttl', ttl, longestTTL) / 1000) }),
    ...(server === undefined ? {} : { server }),
  };
  const path = `${apiPrefix}/apis/management.platform/v1/namespaces/p-${of.project}/virtualclusterinstances/${of.name}/kubeconfig`;
  const { body, warnings } = await withServer(context, options, (client) =>
    client.ask({ method: 'POST', path, body: { spec } }),
  );
  const text = textAt(body, 'status', 'kubeConfig');
  const config = configIn(text);
  const expires = textAt(body, 'metadata', 'annotations', 'hostward.dev/expires');
  return { text, config, secret: secretIn(config), expires, warnings };
}

function configIn(text: string): Record<string, unknown> {
  const read = parseDocuments(text);
  const [config] = read.kind === 'fault' ? [] : read.documents;
  if (isRecord(config)) return config;
  throw new CommandFault(exitCodes.environment, 'the server answered without a kubeconfig', {
    hint: 'the server may be older than this command',
  });
}

function secretIn(config: Record<string, unknown>): Secret {
  const [entry] = Array.isArray(config['users']) ? config['users'] : [];
  const user = isRecord(entry) && isRecord(entry['user']) ? entry['user'] : {};
  const token = textAt(user, 'token');
  if (token !== '') return { token };
  const decoded = (field: string) => Buffer.from(textAt(user, field), 'base64').toString('utf8');
  return {
    clientCertificateData: decoded('client-certificate-data'),
    clientKeyData: decoded('client-key-data'),
  };
}
