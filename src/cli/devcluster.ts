// `hostward devcluster`: serves one embedded API server for kubectl and tests until Ctrl-C.
import { dirname, resolve } from 'node:path';
import { checkAuthorities } from '../apiserver/tls/client-certificate.ts';
import { fromSetting } from '../apiserver/wire/listen.ts';
import { type DevclusterOptions, startDevcluster } from '../devcluster/devcluster.ts';
import { silentLog } from '../log.ts';
import { shellWord } from '../safe-text.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from './line/context.ts';
import type { Options } from './line/parse-arguments.ts';
import { requireFolderOf } from './line/system-fault.ts';

const defaultKubeconfig = '.hostward/devcluster.kubeconfig';

export async function devcluster(context: Context, options: Options): Promise<ExitCode> {
  const stopped = new Promise<void>((resolve) => context.onSignal('stop', resolve));
  const named = options.text('kubeconfig') ?? defaultKubeconfig;
  const path = resolve(context.cwd, named);
  const data = options.text('data');
  // A folder that the user names must exist; only the default one is made here.
  for (const name of ['kubeconfig', 'data'])
    if (options.has(name)) await requireFolderOf(context, `--${name}`, options.text(name) ?? '');
  const clientCa = await authorities(context, options.text('client-ca-file'));
  const cluster = await startDevcluster({
    name: 'devcluster',
    clock: context.clock,
    log: silentLog,
    port: portOf(options.text('port')),
    authorization: options.choice('authorization') === 'rbac' ? 'rbac' : 'open',
    ...(clientCa === undefined ? {} : { clientCa }),
    ...kept(data === undefined ? undefined : resolve(context.cwd, data)),
  })
    .catch(refuse)
    .catch(fromSetting('--port'));
  try {
    await context.files.makeFolder(dirname(path), { mode: 0o700 });
    await context.files.write(path, cluster.kubeconfig, { mode: 0o600 });
    if (options.choice('output') === 'json') {
      context.stdout.write(`${JSON.stringify({ server: cluster.url, kubeconfig: named })}\n`);
    } else {
      context.stdout.write(
        `serving on ${cluster.url}; Ctrl-C ends it\n  kubectl --kubeconfig ${shellWord(path)} get namespaces\n`,
      );
    }
    await stopped;
  } finally {
    await cluster.stop();
  }
  return exitCodes.fine;
}

/** A file that holds no objects of an embedded cluster, or belongs to another process, is no bug. */
function refuse(thrown: Error): never {
  if (thrown.name !== 'StoreFault') throw thrown;
  throw new CommandFault(exitCodes.environment, thrown.message, {
    cause: thrown,
    hint: 'name another file with --data',
  });
}

/** The authority lies next to the objects, so that a kubeconfig with it is trusted after a restart too. */
function kept(path: string | undefined): Pick<DevclusterOptions, 'store' | 'authorityFolder'> {
  if (path === undefined) return { store: { kind: 'memory' } };
  return { store: { kind: 'sqlite', path }, authorityFolder: `${path}-authority` };
}

function portOf(text: string | undefined): number {
  if (text === undefined) return 0;
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new CommandFault(exitCodes.usage, `--port wants a number from 1 to 65535, found "${text}"`);
}

async function authorities(context: Context, file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const pem = await context.files.read(resolve(context.cwd, file));
  try {
    checkAuthorities(pem);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CommandFault(exitCodes.input, `--client-ca-file ${file}: ${why}`, { cause });
  }
  return pem;
}
