// `hostward status`: asks the running daemon about itself, about many objects or about one, and says first of all whether it
// is well. The exit code says the same, so that a script need not read the text.

import { pause } from '../clock.ts';
import { addressOf, askDaemon, type DaemonAnswer } from './line/ask-daemon.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from './line/context.ts';
import type { Options } from './line/parse-arguments.ts';
import { objectsText, statusText, wholeText } from './status-text.ts';

/** Often enough for a person who watches, seldom enough to cost the daemon nothing. */
const watchEveryMs = 2_000;

interface Look {
  text: string;
  code: ExitCode;
}

export async function status(context: Context, options: Options): Promise<ExitCode> {
  const path = pathOf(options);
  const address = await addressOf(context, options);
  const look = async (): Promise<Look> => lookOf(await askDaemon(context, address, path), context, options);
  if (options.has('watch')) return watch(context, options, look);
  const { text, code } = await look();
  context.stdout.write(text);
  return code;
}

function pathOf(options: Options): string {
  const key = options.operands[0];
  const namespace = options.text('namespace');
  const state = options.text('state');
  const isList = options.has('all') || namespace !== undefined || state !== undefined;
  if (key === undefined) {
    const query = new URLSearchParams({ ...(namespace && { namespace }), ...(state && { state }) });
    return isList ? `/status/objects?${query}` : '/status';
  }
  if (options.has('all') || state !== undefined)
    throw new CommandFault(exitCodes.usage, '--all and --state list objects, so they go without NAMESPACE/NAME');
  // As with kubectl, `-n shop database` names one object.
  const whole = namespace !== undefined && !key.includes('/') ? `${namespace}/${key}` : key;
  if (!/^[^/]+\/[^/]+$/.test(whole) || (namespace !== undefined && !whole.startsWith(`${namespace}/`)))
    throw new CommandFault(exitCodes.usage, `wanted NAMESPACE/NAME, found "${key}"`);
  return `/status?object=${encodeURIComponent(whole)}`;
}

function lookOf({ isKnown, value }: DaemonAnswer, context: Context, options: Options): Look {
  const isOne = options.operands.length > 0;
  if (!isKnown) {
    const message = typeof value['message'] === 'string' ? value['message'] : 'nothing is known of it';
    if (isOne) throw new CommandFault(exitCodes.input, message);
  }
  const code = (isOne ? isObjectWell(value) : isDaemonWell(value)) ? exitCodes.fine : exitCodes.input;
  if (options.choice('output') === 'json') {
    // One line for each look of many, as other programs read it.
    return { text: `${JSON.stringify(value, undefined, options.has('watch') ? 0 : 2)}\n`, code };
  }
  const { columns } = context.stdout;
  if (isOne) return { text: statusText(value, columns), code };
  return {
    text:
      'objects' in value && Array.isArray(value['objects']) ? objectsText(value, columns) : wholeText(value, columns),
    code,
  };
}

/** A daemon without a verdict is an older one, of which nothing bad is known. */
function isDaemonWell({ verdict }: Record<string, unknown>): boolean {
  return (verdict as { isWell?: boolean } | undefined)?.isWell ?? true;
}

/** On the host as it should be, or by rule or wish not there. */
function isObjectWell({ state }: Record<string, unknown>): boolean {
  const kind = String(state).split('/')[0] as string;
  return !['refused', 'waiting', 'retry', 'pending'].includes(kind);
}

const clearScreen = '\u001b[H\u001b[2J';

/** Until Ctrl-C, which ends it with the code of the last look. A daemon that cannot be asked is looked for again. */
async function watch(context: Context, options: Options, look: () => Promise<Look>): Promise<ExitCode> {
  const over = new AbortController();
  const forgetStop = context.onSignal('stop', () => over.abort());
  const isJson = options.choice('output') === 'json';
  const isRedrawn = context.stdout.isTerminal && !isJson;
  let last: Look | undefined;
  try {
    while (!over.signal.aborted) {
      const now = await look().catch((fault: unknown) => lookOfFault(fault, isJson));
      if (isRedrawn) context.stdout.control(clearScreen);
      // Into a pipe or a file goes what has changed.
      if (isRedrawn || now.text !== last?.text) context.stdout.write(now.text);
      last = now;
      await pause(context.clock, watchEveryMs, over.signal);
    }
  } finally {
    forgetStop();
  }
  return last?.code ?? exitCodes.fine;
}

function lookOfFault(fault: unknown, isJson: boolean): Look {
  if (!(fault instanceof CommandFault) || fault.exitCode === exitCodes.usage) throw fault;
  const text = isJson ? JSON.stringify({ error: fault.message }) : fault.message;
  return { text: `${text}\n`, code: fault.exitCode };
}
