// `hostward status`: asks the running daemon through its local HTTP port, about itself or about one object.
import { parseListen } from '../config/settings/text-rules.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from './line/context.ts';
import { loadSettings } from './line/load-settings.ts';
import type { Options } from './line/parse-arguments.ts';
import { statusText } from './status-text.ts';

const defaultAddress = '127.0.0.1:9440';
/** The daemon answers from memory; whoever needs longer is not it. */
const answerTimeoutMs = 10_000;

export async function status(context: Context, options: Options): Promise<ExitCode> {
  const key = options.operands[0];
  if (key !== undefined && !/^[^/]+\/[^/]+$/.test(key)) {
    throw new CommandFault(exitCodes.usage, `wanted NAMESPACE/NAME, found "${key}"`);
  }
  const address = await addressOf(context, options);
  const answer = await ask(context, address, key);
  const value = await answer.json().catch(() => undefined);
  if (answer.status === 404 && key !== undefined) {
    throw new CommandFault(exitCodes.input, messageOf(value) ?? `nothing is known of "${key}"`);
  }
  if (!answer.ok || value === undefined) {
    throw new CommandFault(
      exitCodes.environment,
      `what listens on ${address} is not a Hostward daemon, it answered ${answer.status}`,
    );
  }
  const isJson = options.choice('output') === 'json';
  context.stdout.write(isJson ? `${JSON.stringify(value, undefined, 2)}\n` : statusText(value, context.stdout.columns));
  return exitCodes.fine;
}

async function addressOf(context: Context, options: Options): Promise<string> {
  const given = options.text('address');
  if (given !== undefined) {
    if (parseListen(given) !== undefined) return given;
    throw new CommandFault(exitCodes.usage, `--address wants HOST:PORT, found "${given}"`);
  }
  if (options.texts('config').length === 0) return defaultAddress;
  // Names do not matter here, so their absence must not either.
  const otherwise = { virtualClusterName: 'any', hostNamespace: 'any' };
  const loaded = await loadSettings(context, options, { otherwise });
  const listen = loaded.kind === 'ok' ? loaded.settings.listen : defaultAddress;
  // What listens everywhere answers status to this machine only.
  return listen.replace(/^(0\.0\.0\.0|\[::\]|\*):/, '127.0.0.1:');
}

async function ask(context: Context, address: string, key: string | undefined): Promise<Response> {
  const url = `http://${address}/status${key === undefined ? '' : `?object=${encodeURIComponent(key)}`}`;
  try {
    return await context.fetch(url, { signal: AbortSignal.timeout(answerTimeoutMs) });
  } catch (cause) {
    throw new CommandFault(exitCodes.environment, `cannot ask the daemon on ${address}: ${reasonOf(cause)}`, {
      cause,
      hint: 'is `hostward run` running on this machine? In a cluster: kubectl exec, or kubectl port-forward and --address',
    });
  }
}

function reasonOf(thrown: unknown): string {
  const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'ECONNREFUSED') return 'connection refused, nobody listens there';
  if (cause instanceof Error && cause.name === 'TimeoutError') return 'no answer in time';
  return cause instanceof Error ? cause.message : String(cause);
}

function messageOf(value: unknown): string | undefined {
  const message = typeof value === 'object' && value !== null ? (value as { message?: unknown }).message : undefined;
  return typeof message === 'string' ? message : undefined;
}
