// `hostward kubeconfig`: prints a kubeconfig of a virtual cluster, with a credential or with a plugin that gets one, and is that plugin.
import { resolve } from 'node:path';
import { kubeconfigText } from '../../management/credentials/kubeconfig/text.ts';
import { isRecord } from '../../object/text/json.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from '../line/context.ts';
import type { Options } from '../line/parse-arguments.ts';
import { apiPrefix, ManagementClient } from './client/management-client.ts';
import { sayWarnings, textAt, tryOut, writeSecret } from './client/print-key.ts';
import { configuredServer, distantPlace, relativeFolder } from './client/reach-server.ts';
import {
  type AnsweredKubeconfig,
  askKubeconfig,
  instanceOperand,
  type NamedInstance,
} from './credential/ask-kubeconfig.ts';
import {
  type KeptCredential,
  keep,
  keptPath,
  makeCacheFolder,
  readKept,
  renewAtMs,
} from './credential/kept-credential.ts';
import { oneAtATime } from './credential/one-at-a-time.ts';

export async function kubeconfig(context: Context, options: Options): Promise<ExitCode> {
  const of = instanceOperand(options);
  if (options.has('exec') && options.has('exec-credential'))
    throw new CommandFault(exitCodes.usage, 'give --exec or --exec-credential, found both', {
      hint: 'give --exec; the kubeconfig that it writes calls --exec-credential by itself',
    });
  if (options.has('exec') && options.texts('config').includes('-'))
    throw new CommandFault(exitCodes.usage, '--exec wants a configuration file that kubectl can open later, found -', {
      hint: 'give --config FILE or --server URL',
    });
  if (options.has('exec-credential')) return printCredential(context, options, of);
  await tryOut(context, options);
  const answer = await askKubeconfig(context, options, of);
  sayWarnings(context, answer.warnings);
  if (options.has('exec') && options.texts('config').length > 0) await warnOfRelativeFolder(context, options);
  const text = options.has('exec') ? await withPlugin(context, options, { of, answer }) : answer.text;
  const file = await writeSecret(context, options, text);
  const { expires } = answer;
  if (options.choice('output') === 'json')
    context.stdout.write(
      `${JSON.stringify({ ...(file === undefined ? { kubeConfig: text } : { file }), expires }, undefined, 2)}\n`,
    );
  else if (file === undefined) context.stdout.write(text);
  else
    context.stderr.write(
      `the kubeconfig of ${of.project}/${of.name} is in ${file}${options.has('exec') ? '' : `, valid until ${expires}`}\n`,
    );
  return exitCodes.fine;
}

async function warnOfRelativeFolder(context: Context, options: Options): Promise<void> {
  const { dataDir } = (await configuredServer(context, options)).server;
  const where = relativeFolder(dataDir);
  if (where === undefined) return;
  sayWarnings(context, [
    `${where}, and kubectl runs the plugin in any folder; write an absolute path, or use --server`,
  ]);
}

/** The credential that came with the addresses is the first that the plugin hands out. */
async function withPlugin(
  context: Context,
  options: Options,
  { of, answer }: { of: NamedInstance; answer: AnsweredKubeconfig },
): Promise<string> {
  const path = await keptPath(context, options, of);
  if (path !== undefined) await keep(context, path, keptOf(context, answer));
  const [entry] = Array.isArray(answer.config['clusters']) ? answer.config['clusters'] : [];
  const cluster = isRecord(entry) && isRecord(entry['cluster']) ? entry['cluster'] : {};
  const tlsServerName = textAt(cluster, 'tls-server-name');
  return kubeconfigText({
    name: textAt(answer.config, 'current-context'),
    server: textAt(cluster, 'server'),
    tlsServerName: tlsServerName === '' ? undefined : tlsServerName,
    authorityPem: Buffer.from(textAt(cluster, 'certificate-authority-data'), 'base64').toString('utf8'),
    user: {
      command: 'hostward',
      args: pluginArguments(context, options, of),
      installHint: 'kubectl runs "hostward" for this cluster: install it, and put it into a folder of PATH',
    },
  });
}

/** kubectl may run the plugin in any folder. */
function pluginArguments({ cwd }: Context, options: Options, { project, name }: NamedInstance): string[] {
  const texts = (option: string) => options.texts(option).slice(-1);
  const files = (option: string) => options.texts(option).map((file) => resolve(cwd, file));
  return [
    'kubeconfig',
    `${project}/${name}`,
    '--exec-credential',
    ...(options.has('client-cert') ? ['--client-cert'] : []),
    ...texts('ttl').flatMap((value) => ['--ttl', value]),
    ...texts('server').flatMap((value) => ['--server', value]),
    ...['certificate-authority', 'key-file', 'config'].flatMap((option) =>
      files(option).flatMap((value) => [`--${option}`, value]),
    ),
  ];
}

async function printCredential(context: Context, options: Options, of: NamedInstance): Promise<ExitCode> {
  const path = await keptPath(context, options, of);
  const credential = await (path === undefined
    ? freshCredential(context, options, { of, path })
    : sharedCredential(context, options, { of, path }));
  const status = {
    // Programs that run for long ask again then, while the credential is still good.
    expirationTimestamp: `${new Date(renewAtMs(credential)).toISOString().slice(0, 19)}Z`,
    ...credential.secret,
  };
  const answer = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status };
  context.stdout.write(`${JSON.stringify(answer)}\n`);
  return exitCodes.fine;
}

/** kubectl starts a plugin for each of its processes, and all of them use one credential. */
async function sharedCredential(
  context: Context,
  options: Options,
  { of, path }: { of: NamedInstance; path: string },
): Promise<KeptCredential> {
  const look = async () => {
    const kept = await readKept(context, path);
    return kept !== undefined && (await isTaken(context, options, kept)) ? kept : undefined;
  };
  const make = () => freshCredential(context, options, { of, path });
  await makeCacheFolder(context, path);
  return oneAtATime(context, `${path}.lock`, { look, make });
}

async function freshCredential(
  context: Context,
  options: Options,
  { of, path }: { of: NamedInstance; path: string | undefined },
): Promise<KeptCredential> {
  const answer = await askKubeconfig(context, options, of);
  sayWarnings(context, answer.warnings);
  const made = keptOf(context, answer);
  if (path !== undefined) await keep(context, path, made);
  return made;
}

/** kubectl does not tell a plugin that its last token was refused, so that the plugin asks the server itself. */
async function isTaken(context: Context, options: Options, { secret }: KeptCredential): Promise<boolean> {
  const place = await distantPlace(context, options);
  if (place === undefined || !('token' in secret)) return true;
  try {
    const client = new ManagementClient({ ...place, accessKey: secret.token });
    const { code } = await client.send({ method: 'GET', path: `${apiPrefix}/api` });
    return code !== 401;
  } catch {
    // The virtual cluster may be there while the management API is not.
    return true;
  }
}

function keptOf({ clock }: Context, { secret, expires }: AnsweredKubeconfig): KeptCredential {
  const madeMs = clock.wallTime().getTime();
  const expiresMs = Date.parse(expires);
  if (Number.isNaN(expiresMs))
    throw new CommandFault(exitCodes.environment, 'the server did not say when the credential ends', {
      hint: 'it may be older than this command; compare hostward --version on both machines',
    });
  return { secret, madeMs, expiresMs };
}
