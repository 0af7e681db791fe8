// From the options of a command to a management API that answers: a distant one with a key, the daemon on this machine through
// its socket, or the folder of a daemon that does not run, opened by this process for as long as the command takes.
import { isAbsolute, resolve } from 'node:path';
import type { Settings } from '../../../config/settings/settings.ts';
import { silentLog } from '../../../log.ts';
import { isUnused } from '../../../management/keys/folder/data-folder.ts';
import {
  isSocketPathTooLong,
  localSocketPath,
  longestSocketPath,
} from '../../../management/server/commands/local-socket.ts';
import { CommandFault, type Context, exitCodes } from '../../line/context.ts';
import { requireManagement } from '../../line/load-settings.ts';
import type { Options } from '../../line/parse-arguments.ts';
import { apiPrefix, ManagementClient } from './management-client.ts';

interface LocalFolder {
  /** Whether the command may be the first one that uses the folder, as the one that makes the first key. */
  mayMake: boolean;
}

/** Runs a command with a client, and gives the folder back afterwards. */
export async function withServer<T>(
  context: Context,
  options: Options,
  run: (client: ManagementClient) => Promise<T>,
  folder?: LocalFolder,
): Promise<T> {
  const url = options.text('server');
  if (url !== undefined) return run(await distantClient(context, options, url));
  for (const name of ['certificate-authority', 'key-file'])
    if (options.text(name) !== undefined)
      throw new CommandFault(exitCodes.usage, `--${name} goes with --server`, {
        hint: `leave --${name} out for the server on this machine, or name a distant one with --server URL`,
      });
  return withLocalServer(context, options, run, folder);
}

/** For the management API on this machine alone, whether it runs or not. */
export async function withLocalServer<T>(
  context: Context,
  options: Options,
  run: (client: ManagementClient) => Promise<T>,
  { mayMake }: LocalFolder = { mayMake: false },
): Promise<T> {
  const configured = await configuredServer(context, options);
  const path = localSocketPath(configured.server.dataDir);
  if (isSocketPathTooLong(path))
    throw new CommandFault(exitCodes.environment, `the path "${path}" is too long for a socket`, {
      hint: `shorten hostward.management.dataDir, so that the path has at most ${longestSocketPath} bytes, or use --server`,
    });
  const client = new ManagementClient({ kind: 'socket', path, osUser: context.osUser });
  if (await answers(client)) return run(client);
  await requireUsable(context, configured.server.dataDir);
  if (await isUnused(resolve(context.cwd, configured.server.dataDir)))
    judgeNewFolder(context, configured.server, mayMake);
  const api = await openFolder(context, configured, client);
  if (api === undefined) return run(client);
  try {
    return await run(
      new ManagementClient({
        kind: 'socket',
        path: localSocketPath(configured.server.dataDir, 'command'),
        osUser: context.osUser,
      }),
    );
  } finally {
    await api.close();
  }
}

/** Whether the command works on this machine, where there is no caller whose key it could be. */
export function isDistant(options: Options): boolean {
  return options.text('server') !== undefined;
}

async function distantClient(context: Context, options: Options, text: string): Promise<ManagementClient> {
  if (options.texts('config').length > 0)
    throw new CommandFault(
      exitCodes.usage,
      '--config names the management API on this machine and --server another one',
      {
        hint: 'give one of the two',
      },
    );
  const { url, authority } = await placeAt(context, options, text);
  return new ManagementClient({ kind: 'server', url, authority, accessKey: await accessKey(context, options) });
}

/** Where --server leads, for asking with another key than the command's own; undefined without --server. */
export async function distantPlace(context: Context, options: Options) {
  const text = options.text('server');
  return text === undefined ? undefined : placeAt(context, options, text);
}

async function placeAt(context: Context, options: Options, text: string) {
  const url = serverURL(text);
  const authorityFile = options.text('certificate-authority');
  const authority =
    authorityFile === undefined ? undefined : await context.files.read(resolve(context.cwd, authorityFile));
  if (authority !== undefined && !authority.includes('-----BEGIN CERTIFICATE-----'))
    throw new CommandFault(exitCodes.input, `${authorityFile}: want a certificate in PEM`, {
      hint: 'give the ca.crt of the server, which is in its dataDir',
    });
  return { kind: 'server' as const, url, authority };
}

/** The path is ours; what is in front of it, of a server behind a proxy, is not supported by the API itself. */
function serverURL(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const path = url?.pathname.replace(/\/+$/, '');
  const isPlain = url?.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (url?.protocol === 'https:' && isPlain && (path === '' || path === apiPrefix)) return url;
  // An address may hold a password, so that it is not repeated.
  throw new CommandFault(exitCodes.usage, '--server wants an address like https://hostward.example.com:8443', {
    hint: 'write scheme, host and port, and no path; the server has the address as hostward.management.baseURL',
  });
}

/** A header cannot hold anything else, and a key never does. */
const plainKey = /^[\x21-\x7e]{1,512}$/;

/** From the environment or a file, never from an argument. */
export async function accessKey(context: Context, options: Options): Promise<string> {
  const file = options.text('key-file');
  const given = file === undefined ? undefined : await context.files.read(resolve(context.cwd, file));
  const key = (given ?? context.environment['HOSTWARD_ACCESS_KEY'] ?? '').trim();
  const place = file === undefined ? 'HOSTWARD_ACCESS_KEY' : file;
  if (key === '' && file === undefined)
    throw new CommandFault(exitCodes.usage, '--server wants an access key, found none', {
      hint: 'put it into the environment variable HOSTWARD_ACCESS_KEY, or into a file and give --key-file FILE',
    });
  if (!plainKey.test(key))
    throw new CommandFault(exitCodes.input, `${place}: want one access key and nothing else`, {
      hint: 'write the line that hostward keys create has printed, without quotes or other lines',
    });
  return key;
}

type Configured = {
  settings: NonNullable<Settings['management']>;
  server: NonNullable<Settings['managementServer']>;
};

/** The settings of the management API on this machine. */
export async function configuredServer(context: Context, options: Options): Promise<Configured> {
  if (options.texts('config').length === 0)
    throw new CommandFault(exitCodes.usage, 'say which management API is meant', {
      hint: 'give --config FILE for the one on this machine, or --server URL',
    });
  const { management, managementServer } = await requireManagement(context, options.texts('config'));
  if (management === undefined || managementServer === undefined)
    throw new CommandFault(exitCodes.input, 'the configuration has no hostward.management', {
      hint: 'hostward docs settings shows the block that configures the management API',
    });
  return { settings: management, server: managementServer };
}

/** Codes of a socket that nobody listens on. */
const nobodyThere = new Set(['ENOENT', 'ECONNREFUSED', 'ENOTDIR', 'ENAMETOOLONG', 'EINVAL']);

async function answers(client: ManagementClient): Promise<boolean> {
  try {
    await client.send({ method: 'GET', path: `${apiPrefix}/version` });
    return true;
  } catch (thrown) {
    if (nobodyThere.has((thrown as NodeJS.ErrnoException).code ?? '')) return false;
    throw client.unreachable(thrown);
  }
}

/** A relative folder counts from the working folder, so that the same file means another database in another folder. */
export function relativeFolder(dataDir: string): string | undefined {
  if (isAbsolute(dataDir)) return undefined;
  return `hostward.management.dataDir is "${dataDir}", which counts from the working folder`;
}

/** Nothing helps there but another folder: neither a start of the server nor a first key. */
async function requireUsable(context: Context, dataDir: string): Promise<void> {
  const folder = resolve(context.cwd, dataDir);
  const why = await context.files.folderProblem(folder);
  if (why === undefined) return;
  throw new CommandFault(
    exitCodes.environment,
    `cannot use ${folder}, the folder of hostward.management.dataDir: ${why}`,
    {
      hint:
        relativeFolder(dataDir) ??
        'name a folder there that this user may write, or run the command as the user of the server',
    },
  );
}

function judgeNewFolder(context: Context, { dataDir, store }: Configured['server'], mayMake: boolean): void {
  const place = resolve(context.cwd, dataDir);
  const relative = relativeFolder(dataDir);
  const namespace = store?.kubernetes?.namespace;
  if (mayMake) {
    const made =
      namespace === undefined
        ? `a new database is made in ${place}`
        : `the key goes to the namespace ${namespace}; ${place} is new, and becomes the folder of a replica`;
    context.stderr.write(`${made}${relative === undefined ? '' : `; ${relative}`}\n`);
    return;
  }
  const none =
    namespace === undefined
      ? `there is no database of access keys in ${place}`
      : `no replica has used ${place} yet, and the keys are in the namespace ${namespace}`;
  throw new CommandFault(exitCodes.environment, none, {
    hint:
      relative === undefined
        ? 'start the server, or make the first key with hostward keys create NAME --admin --config FILE'
        : `${relative}: run the command where the server runs, or write an absolute path`,
  });
}

/** Undefined when a daemon answers after all: it was about to start. */
async function openFolder(context: Context, { settings, server }: Configured, client: ManagementClient) {
  const { ManagementApi } = await import('../../../management/server/server.ts');
  const { clock, version } = context;
  const api = new ManagementApi({ settings, server, clock, log: silentLog, version });
  try {
    await api.open();
    // A socket of its own: another command that used it would be cut off when this one is done.
    await api.openLocalSocket('command');
    return api;
  } catch (cause) {
    await api.close();
    if ((cause as { code?: string }).code === 'STORE_LOCKED' && (await answers(client))) return undefined;
    const message = `cannot open ${server.dataDir}: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new CommandFault(exitCodes.environment, message, { cause });
  }
}
