// The credential that the plugin of kubectl keeps between two calls: a file of its owner, one for every server, virtual cluster, form and
// access key. In: what the command was asked. Out: the credential while more than a quarter of its life is left.
import { createHash } from 'node:crypto';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { isRecord } from '../../../object/text/json.ts';
import type { Context } from '../../line/context.ts';
import type { Options } from '../../line/parse-arguments.ts';
import { systemFault } from '../../line/system-fault.ts';
import { sayWarnings, textAt } from '../client/print-key.ts';
import { accessKey, isDistant } from '../client/reach-server.ts';
import type { NamedInstance, Secret } from './ask-kubeconfig.ts';

export interface KeptCredential {
  secret: Secret;
  madeMs: number;
  expiresMs: number;
}

/** A quarter is time enough to get a new one while the old one is good. */
const renewedAtShare = 0.25;

/** The time from which a new credential is fetched. */
export function renewAtMs({ madeMs, expiresMs }: KeptCredential): number {
  return expiresMs - (expiresMs - madeMs) * renewedAtShare;
}

/** Undefined where the environment names no folder of the user: then nothing is kept. */
export async function keptPath(context: Context, options: Options, of: NamedInstance): Promise<string | undefined> {
  const { environment, cwd } = context;
  const home = environment['HOME'];
  const named = environment['XDG_CACHE_HOME'] ?? '';
  // A relative folder counts as none, as its standard says: kubectl runs the plugin in any folder.
  const caches = isAbsolute(named) ? named : home === undefined || home === '' ? undefined : join(home, '.cache');
  if (caches === undefined) return undefined;
  const asked = [
    options.text('server') ?? '',
    ...options.texts('config').map((file) => resolve(cwd, file)),
    // Another key has other rights, and the digest of 256 bits reveals nothing about it.
    isDistant(options) ? await accessKey(context, options) : '',
    `${of.project}/${of.name}`,
    options.has('client-cert') ? 'certificate' : 'token',
    options.text('ttl') ?? '',
  ];
  const digest = createHash('sha256').update(JSON.stringify(asked)).digest('hex');
  return join(caches, 'hostward', 'kubeconfig', `${digest}.json`);
}

export async function readKept(context: Context, path: string): Promise<KeptCredential | undefined> {
  let value: unknown;
  try {
    value = JSON.parse(await context.files.read(path));
  } catch {
    // Not there, or damaged: a new one takes its place.
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const { madeMs, expiresMs, secret } = value;
  if (typeof madeMs !== 'number' || typeof expiresMs !== 'number' || !isRecord(secret)) return undefined;
  const token = textAt(secret, 'token');
  const certificate = {
    clientCertificateData: textAt(secret, 'clientCertificateData'),
    clientKeyData: textAt(secret, 'clientKeyData'),
  };
  if (token === '' && certificate.clientKeyData === '') return undefined;
  const kept = { madeMs, expiresMs, secret: token === '' ? certificate : { token } };
  return context.clock.wallTime().getTime() < renewAtMs(kept) ? kept : undefined;
}

/** A folder that cannot be made is reported when the credential is to be kept. */
export async function makeCacheFolder(context: Context, path: string): Promise<void> {
  await context.files.makeFolder(dirname(path), { mode: 0o700 }).catch(() => undefined);
}

/** A credential that cannot be kept is still good: without it no container with a file system that is read-only had one. */
export async function keep(context: Context, path: string, kept: KeptCredential): Promise<void> {
  try {
    await context.files.makeFolder(dirname(path), { mode: 0o700 });
    await context.files.write(path, `${JSON.stringify(kept)}\n`, { mode: 0o600 });
  } catch (error) {
    const fault = systemFault(error);
    if (fault === undefined) throw error;
    const remedy = 'every call gets a new one; let XDG_CACHE_HOME name a folder that can be written';
    sayWarnings(context, [`the credential is not kept: ${fault.message}; ${remedy}`]);
  }
}
