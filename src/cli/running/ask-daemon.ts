// Asks the running daemon one question over its local HTTP port. In: an address and a path. Out: the JSON of the answer, or a
// fault that says why the daemon did not answer and what to do.

import { explain } from '../../cluster/wire/explain.ts';
import { formatFault } from '../../config/fault.ts';
import { parseListen } from '../../config/settings/text-rules.ts';
import { CommandFault, type Context, exitCodes } from '../line/context.ts';
import { loadSettings } from '../line/load-settings.ts';
import type { Options } from '../line/parse-arguments.ts';

const defaultAddress = '127.0.0.1:9440';
/** The daemon answers from memory, or runs the patches of one object first. */
const answerTimeoutMs = 10_000;
/** Longer for a list of a hundred thousand objects. */
const listTimeoutMs = 60_000;

export async function addressOf(context: Context, options: Options): Promise<string> {
  const given = options.text('address');
  if (given !== undefined) {
    if (parseListen(given) !== undefined) return given;
    throw new CommandFault(exitCodes.usage, `--address wants HOST:PORT, found "${given}"`);
  }
  if (options.texts('config').length === 0) return defaultAddress;
  // Stand-in names, because the address does not depend on the real ones.
  const placeholders = { virtualClusterName: 'any', hostNamespace: 'any' };
  const loaded = await loadSettings(context, options, { placeholders });
  if (loaded.kind === 'ok') return localAddress(loaded.settings.listen);
  // A running daemon goes on when its file gets a fault, and says which; only a fault in the address itself is in the way.
  const isKnown = loaded.faults.every(({ path }) => path !== 'hostward.listen');
  if (isKnown && loaded.tentative !== undefined) return localAddress(loaded.tentative.listen);
  throw new CommandFault(exitCodes.input, 'cannot read the address of the daemon in the configuration', {
    hint: 'mend the configuration, or name the address with --address HOST:PORT',
    details: loaded.faults.map((fault) => formatFault(fault)),
    shown: loaded.faults.map((fault) => formatFault(fault, loaded.texts)),
  });
}

/** A daemon that listens on every address still answers /status only on this machine. */
export function localAddress(listen: string): string {
  return listen.replace(/^(0\.0\.0\.0|\[::\]|\*):/, '127.0.0.1:');
}

export interface DaemonAnswer {
  isKnown: boolean;
  value: Record<string, unknown>;
}

/** 404 is an answer too: the daemon does not know the object. */
export async function askDaemon(context: Context, address: string, path: string): Promise<DaemonAnswer> {
  const url = `http://${address}${path}`;
  const timeoutMs = path.startsWith('/status/objects') ? listTimeoutMs : answerTimeoutMs;
  let status: number;
  let text: string;
  try {
    const answer = await context.fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    status = answer.status;
    text = await answer.text();
  } catch (cause) {
    throw new CommandFault(exitCodes.environment, `cannot ask the daemon on ${address}: ${reasonOf(cause, address)}`, {
      cause,
      hint: 'start `hostward run` on this machine; in a cluster, use kubectl exec, or kubectl port-forward and --address',
    });
  }
  const value = parsed(text);
  if (value !== undefined && (status === 200 || status === 404)) return { isKnown: status === 200, value };
  throw new CommandFault(
    exitCodes.environment,
    `the program that listens on ${address} is not a Hostward daemon of this version, it answered ${status}`,
  );
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function reasonOf(thrown: unknown, address: string): string {
  const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'ECONNREFUSED') return 'connection refused, nothing listens there';
  if (cause instanceof Error && cause.message === 'bad port')
    return 'no HTTP client connects to this port, which belongs to another protocol; let the daemon listen on another one';
  if (cause instanceof Error && cause.name === 'TimeoutError') return 'no answer in time';
  return explain(thrown, address, 'this machine').message;
}
