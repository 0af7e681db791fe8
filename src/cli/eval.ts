// `hostward eval`: evaluates one expression, or many from standard input, in the sandbox that the daemon uses. In: an
// expression, and a value or an object. Out: the result or the error, as text or as JSON.
import { fault, formatFault } from '../config/fault.ts';
import type { EvaluationError } from '../expression/evaluate/evaluation-error.ts';
import { compileExpression } from '../expression/language/compile.ts';
import { lintExpression } from '../expression/language/lint.ts';
import type { JsonMap } from '../expression/path/path.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from './line/context.ts';
import { exampleNames, loadSettings, loadWithNames, requireGood } from './line/load-settings.ts';
import type { Options } from './line/parse-arguments.ts';
import { type EvalAnswer, type EvalRequest, EvalSession, evalRequestOf, failed } from './offline/eval-session.ts';
import { readObjects } from './offline/read-objects.ts';

/** In characters; twice the largest request of the sandbox. */
const lineLimit = 8_388_608;

export async function evaluate(context: Context, options: Options): Promise<ExitCode> {
  const [expression] = options.operands;
  if (expression === undefined && !options.has('stdin')) {
    throw new CommandFault(exitCodes.usage, 'wanted an expression, found none', {
      hint: `hostward eval 'value + 1' --value 1`,
    });
  }
  const { loaded } = await loadWithNames(
    (placeholders) => loadSettings(context, options, { placeholders }),
    exampleNames,
  );
  const { settings } = requireGood(loaded);
  const request = await requestOf(context, options, expression ?? '');
  const session = new EvalSession(context, settings);
  try {
    if (options.has('stdin')) return await answerLines(context, session, request);
    return print(context, options, { request, answer: await session.answer(request) });
  } finally {
    await session.stop();
  }
}

async function requestOf(context: Context, options: Options, expression: string): Promise<EvalRequest> {
  const json = options.text('value');
  return {
    expression,
    value: json === undefined ? undefined : parseValue(json),
    valueExists: undefined,
    path: options.text('path'),
    object: await objectIn(context, options.text('file')),
    hostObject: await objectIn(context, options.text('host-object')),
    isBack: options.has('back'),
  };
}

function parseValue(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    const hint = `a text needs its quotes: --value '${JSON.stringify(json)}'`;
    throw new CommandFault(exitCodes.usage, `--value wants JSON, found "${json.slice(0, 60)}"`, { hint, cause });
  }
}

async function objectIn(context: Context, file: string | undefined): Promise<JsonMap | undefined> {
  if (file === undefined) return undefined;
  const [first, second] = await readObjects(context, [file]);
  if (first === undefined || second !== undefined) {
    throw new CommandFault(exitCodes.input, `${file}: wanted one object, found ${first ? 'several' : 'none'}`, {
      hint: 'write the object whose field the expression sees into a file of its own',
    });
  }
  return first.object as unknown as JsonMap;
}

async function answerLines(context: Context, session: EvalSession, defaults: EvalRequest): Promise<ExitCode> {
  for await (const line of inputLines(context.stdinChunks(), { maxLength: lineLimit })) {
    const read = readRequest(line, defaults);
    const answer = 'expression' in read ? await session.answer(read) : read;
    context.stdout.write(`${JSON.stringify(answer)}\n`);
  }
  return exitCodes.fine;
}

function readRequest(line: InputLine, defaults: EvalRequest): EvalRequest | EvalAnswer {
  if (line.kind === 'tooLong') return failed('size', `the request is longer than ${lineLimit} characters`);
  let said: unknown;
  try {
    // Shells of Windows put a byte order mark before the first line.
    said = JSON.parse(line.text.replace(/^\uFEFF/, ''));
  } catch {
    return failed('syntax', 'the request is not JSON');
  }
  return evalRequestOf(said, defaults);
}

function print(
  context: Context,
  options: Options,
  { request, answer }: { request: EvalRequest; answer: EvalAnswer },
): ExitCode {
  const outcomes = 'matches' in answer ? answer.matches : [{ path: '', ...answer }];
  const exitCode = outcomes.some((one) => 'error' in one) ? exitCodes.input : exitCodes.fine;
  if (options.choice('output') === 'json') {
    context.stdout.write(`${JSON.stringify(answer)}\n`);
    return exitCode;
  }
  context.stderr.write(lintText(request));
  for (const one of outcomes) {
    const place = one.path === '' ? '' : `${one.path}: `;
    if ('error' in one) context.stderr.write(`${place}${errorText(one.error, request.expression)}\n`);
    else context.stdout.write(`${place}${JSON.stringify(one.value, undefined, place === '' ? 2 : 0)}\n`);
  }
  return exitCode;
}

const shownName = 'expression';

function errorText({ kind, message, position }: EvaluationError, expression: string): string {
  const isOfPath = message.startsWith('path: ');
  if (position === undefined || isOfPath) return `${kind}: ${message}`;
  const at = { file: shownName, ...position };
  const said = kind === 'threw' ? { sentence: `the expression throws: ${message}` } : { sentence: message };
  return formatFault(fault({ code: 'PATCH_EXPRESSION', at, ...said }), new Map([[shownName, expression]]));
}

function lintText({ expression, isBack, value, valueExists }: EvalRequest): string {
  const compiled = compileExpression(expression);
  if (compiled.kind === 'faults') return '';
  const onMissing = value === undefined || valueExists === false ? 'create' : 'skip';
  return lintExpression(compiled.expression, { direction: isBack ? 'back' : 'forward', onMissing })
    .filter(({ rule }) => rule !== 'value-exists' && rule !== 'null-guard')
    .map(({ line, column, message, fix }) => `${shownName}:${line}:${column}: warning: ${message}; ${fix}\n`)
    .join('');
}

/**
 * Splits standard input into lines. Each line comes out as soon as it has arrived, because the program at the other end may
 * wait for an answer before it writes the next line.
 */
export type InputLine = { kind: 'line'; text: string } | { kind: 'tooLong' };

/** Leaves out blank lines. */
export async function* inputLines(
  chunks: AsyncIterable<string>,
  { maxLength }: { maxLength: number },
): AsyncGenerator<InputLine> {
  let rest = '';
  let isSkipping = false;
  for await (const chunk of chunks) {
    const parts = chunk.split('\n');
    for (const [at, part] of parts.entries()) {
      if (!isSkipping) rest += part;
      if (rest.length > maxLength) {
        // Drops the line and skips to its end, so that a long line takes no memory.
        isSkipping = true;
        rest = '';
      }
      if (at === parts.length - 1) break;
      if (isSkipping) yield { kind: 'tooLong' };
      else if (rest.trim() !== '') yield { kind: 'line', text: rest };
      rest = '';
      isSkipping = false;
    }
  }
  if (isSkipping) yield { kind: 'tooLong' };
  else if (rest.trim() !== '') yield { kind: 'line', text: rest };
}
