// `hostward status`: asks the running daemon about itself, about many objects or about one object. In: options. Out: the
// daemon's answer with its verdict last, and an exit code that repeats the verdict for scripts.

import { pause } from '../../clock.ts';
import { safeText } from '../../safe-text.ts';
import { statusCommand } from '../../sync/report/attention/own-commands.ts';
import { objectRemedies, type RemediedObject } from '../../sync/report/attention/remedies.ts';
import { stateOrder } from '../../sync/report/words.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from '../line/context.ts';
import type { Options } from '../line/parse-arguments.ts';
import { addressOf, askDaemon, type DaemonAnswer } from './ask-daemon.ts';
import { shortText, verdictLines } from './short-text.ts';
import { objectsText, objectText, statusText } from './status-text.ts';

/** Often enough for a person, and rarely enough to cost the daemon almost nothing. */
const watchEveryMs = 2_000;

interface Reading {
  text: string;
  code: ExitCode;
  /** What a file that follows the answers compares: without the ages, which grow with every answer. */
  news: string;
  /** One line that stands for the whole text once a reader has seen that. */
  line?: string;
}

export async function status(context: Context, options: Options): Promise<ExitCode> {
  const path = pathOf(options);
  const address = await addressOf(context, options);
  const ask = (path: string) => askDaemon(context, address, path);
  const read = async (): Promise<Reading> => {
    const answer = await ask(path);
    // What is not known or not well gets a command to copy, which the whole status spells.
    const isMended = options.operands.length > 0 && options.choice('output') !== 'json' && !areAllWell(answer.value);
    const wantsWhole = wantsRest(options) || !answer.isKnown || isMended;
    return readingOf(answer, {
      context,
      options,
      address,
      ...(wantsWhole && { whole: (await ask('/status')).value }),
    });
  };
  if (options.has('watch')) return watch(context, options, read);
  const { text, code } = await read();
  context.stdout.write(text);
  return code;
}

function pathOf(options: Options): string {
  const key = options.operands[0];
  const namespace = options.text('namespace');
  const state = options.text('state');
  if (state !== undefined && !stateOrder.includes(state.split('/')[0] as string))
    throw new CommandFault(exitCodes.usage, `--state wants one of ${stateOrder.join(', ')}, found "${state}"`);
  const kind = kindOf(options);
  const isList = options.has('all') || namespace !== undefined || state !== undefined || kind !== undefined;
  if (key === undefined) {
    const query = new URLSearchParams({
      ...(namespace && { namespace }),
      ...(state && { state }),
      ...(kind && { kind }),
    });
    return isList ? `/status/objects?${query}` : '/status';
  }
  if (options.has('all') || state !== undefined || kind !== undefined)
    throw new CommandFault(
      exitCodes.usage,
      '--all, --state and --kind list objects, so they go without NAMESPACE/NAME',
    );
  // As with kubectl, `-n shop database` names one object.
  const whole = namespace !== undefined && !key.includes('/') ? `${namespace}/${key}` : key;
  if (!/^[^/]+\/[^/]+$/.test(whole) || (namespace !== undefined && !whole.startsWith(`${namespace}/`)))
    throw new CommandFault(exitCodes.usage, `wanted NAMESPACE/NAME, found "${key}"`);
  return `/status?object=${encodeURIComponent(whole)}`;
}

const listedKinds = ['Endpoints', 'EndpointSlice'];

/** The kind in any letter case, in the singular or the plural, as kubectl takes it. */
function kindOf(options: Options): string | undefined {
  const given = options.text('kind');
  if (given === undefined) return undefined;
  const plain = (name: string): string => name.toLowerCase().replace(/s$/, '');
  const kind = listedKinds.find((one) => plain(one) === plain(given));
  if (kind === undefined)
    throw new CommandFault(exitCodes.usage, `--kind wants one of ${listedKinds.join(', ')}, found "${given}"`);
  return kind;
}

/** --all alone: the facts about the daemon that the short form leaves out, and then all objects. */
function wantsRest(options: Options): boolean {
  const isFiltered = ['namespace', 'state', 'kind'].some((name) => options.text(name) !== undefined);
  return options.has('all') && !isFiltered && options.choice('output') !== 'json';
}

interface StatusQuestion {
  context: Context;
  options: Options;
  address: string;
  whole?: Record<string, unknown>;
}

function readingOf({ isKnown, value }: DaemonAnswer, { context, options, address, whole }: StatusQuestion): Reading {
  const isOne = options.operands.length > 0;
  if (!isKnown) {
    const message = typeof value['message'] === 'string' ? value['message'] : 'the object is not known';
    const list = statusCommand(whole ?? {}, '--all', address);
    if (isOne) throw new CommandFault(exitCodes.input, message, { hint: `\`${list}\` lists every object` });
  }
  const code = (isOne ? areAllWell(value) : isDaemonWell(value)) ? exitCodes.fine : exitCodes.input;
  const news = JSON.stringify(value, withoutAges);
  if (options.choice('output') === 'json') {
    // --watch prints one line for each answer, so that a program can read the answers line by line.
    return { text: `${JSON.stringify(value, undefined, options.has('watch') ? 0 : 2)}\n`, code, news };
  }
  const { columns } = context.stdout;
  if (isOne) return { text: `${objectText(value, columns)}${remediesText(value, whole, address)}`, code, news };
  if ('objects' in value && Array.isArray(value['objects'])) {
    const { verdict: _, ...facts } = whole ?? {};
    const head = whole === undefined ? '' : `${statusText(facts, columns)}\n`;
    const last = verdictLines(value['verdict'], columns ?? Number.POSITIVE_INFINITY);
    return { text: `${head}${objectsText(value, columns)}${last.map((line) => `${line}\n`).join('')}`, code, news };
  }
  const { sentence } = (value['verdict'] ?? {}) as { sentence?: string };
  const text = shortText(value, columns, address);
  return sentence === undefined ? { text, code, news } : { text, code, news: ageless(sentence), line: sentence };
}

function withoutAges(name: string, value: unknown): unknown {
  if (name === 'sentence' || name === 'part') return ageless(String(value));
  return /Seconds(Ago)?$/.test(name) ? undefined : value;
}

/** An age in a sentence, such as "the oldest change is 7 s old". */
function ageless(sentence: string): string {
  return sentence.replace(/\d+ s old/g, 'old');
}

/** An older daemon gives no verdict and counts as well. */
function isDaemonWell({ verdict }: Record<string, unknown>): boolean {
  return (verdict as { isWell?: boolean } | undefined)?.isWell ?? true;
}

/** Also the objects of other kinds with the same name. */
function allOf(value: Record<string, unknown>): Record<string, unknown>[] {
  const others = Object.entries(value).filter(([name]) => name.startsWith('also'));
  return [value, ...others.map(([, other]) => other as Record<string, unknown>)];
}

function areAllWell(value: Record<string, unknown>): boolean {
  return allOf(value).every(isObjectWell);
}

/** What mends the object, with a command that the terminal may fold, and that is copied whole. */
function remediesText(value: Record<string, unknown>, status: StatusQuestion['whole'], address: string): string {
  if (status === undefined) return '';
  const all = allOf(value).filter(({ object, state }) => typeof object === 'string' && typeof state === 'string');
  const found = all.flatMap((one) => objectRemedies({ status, address }, one as unknown as RemediedObject));
  return found.map(({ remedy, command }) => `\n${safeText(remedy)}:\n  ${command}\n`).join('');
}

/**
 * An object is well when its copy is right and whole, or when a rule or the operator keeps it off the host. In sync with a reason is not
 * whole; an older daemon tells of it in other members.
 */
function isObjectWell({ state, patchFailure, backflowFailures, references, unread }: Record<string, unknown>): boolean {
  const [kind, reason] = String(state).split('/') as [string, string?];
  // A copy that is nobody's any more, and that nothing removes.
  if (state === 'left/NotOurs') return false;
  if (['refused', 'waiting', 'retry', 'pending', 'unresolved', 'unread'].includes(kind)) return false;
  if (kind === 'inSync' && reason !== undefined) return false;
  const isUnresolved = Array.isArray(references) && references.some((one) => one?.standing === 'unresolved');
  return patchFailure === undefined && backflowFailures === undefined && !isUnresolved && unread === undefined;
}

const clearScreen = '\u001b[H\u001b[2J';

/** Asks until Ctrl-C and returns the exit code of the last answer. A daemon that does not answer is asked again. */
async function watch(context: Context, options: Options, read: () => Promise<Reading>): Promise<ExitCode> {
  const over = new AbortController();
  const forgetStop = context.onSignal('stop', () => over.abort());
  const isJson = options.choice('output') === 'json';
  const isRedrawn = context.stdout.isTerminal && !isJson;
  let last: Reading | undefined;
  try {
    while (!over.signal.aborted) {
      const now = await read().catch((fault: unknown) => readingOfFault(fault, isJson));
      if (isRedrawn) context.stdout.control(clearScreen);
      // A pipe or a file gets the first answer, and then what is new.
      if (isRedrawn || last === undefined) context.stdout.write(now.text);
      else if (now.news !== last.news) context.stdout.write(laterText(now, { isJson, now: context.clock.wallTime() }));
      last = now;
      await pause(context.clock, watchEveryMs, over.signal);
    }
  } finally {
    forgetStop();
  }
  return last?.code ?? exitCodes.fine;
}

function laterText({ text, line }: Reading, { isJson, now }: { isJson: boolean; now: Date }): string {
  return isJson || line === undefined ? text : `${now.toISOString().replace(/\.\d+Z$/, 'Z')} ${line}\n`;
}

function readingOfFault(fault: unknown, isJson: boolean): Reading {
  if (!(fault instanceof CommandFault) || fault.exitCode === exitCodes.usage) throw fault;
  const text = isJson ? JSON.stringify({ error: fault.message }) : fault.message;
  return { text: `${text}\n`, code: fault.exitCode, news: text, line: fault.message };
}
