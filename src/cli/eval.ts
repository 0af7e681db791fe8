// `hostward eval`: one expression, or one after the other from standard input, in the sandbox that the daemon uses. In: an
// expression, a value or an object. Out: the result or the error, as text or as JSON.
import { formatFault, warning } from '../config/fault.ts';
import type { Settings } from '../config/settings.ts';
import { compileExpression } from '../expression/compile.ts';
import { lintExpression } from '../expression/lint.ts';
import type { JsonMap } from '../expression/path.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from './context.ts';
import { answerRequests, type EvalAnswer, type EvalFault, type EvalRequest, failed, isMap } from './eval-answers.ts';
import { type InputLine, inputLines } from './input-lines.ts';
import { exampleNames, loadSettings, loadWithNames, requireGood } from './load-settings.ts';
import type { Options } from './parse-arguments.ts';
import { readObjects } from './read-objects.ts';

/** Characters; twice what the sandbox takes in one request. */
const lineLimit = 8_388_608;

export async function evaluate(context: Context, options: Options): Promise<ExitCode> {
  const [expression] = options.operands;
  if (expression === undefined && !options.has('stdin')) {
    throw new CommandFault(exitCodes.usage, 'wanted an expression, found none', {
      hint: `hostward eval 'value + 1' --value 1`,
    });
  }
  const { loaded } = await loadWithNames((otherwise) => loadSettings(context, options, { otherwise }), exampleNames);
  const { settings } = requireGood(context, loaded);
  const request = await requestOf(context, options, expression ?? '');
  if (options.has('stdin')) return answerLines(context, settings, request);
  const [answer] = await answerRequests(context, settings, [request]);
  return print(context, options, { request, answer: answer as EvalAnswer });
}

async function requestOf(context: Context, options: Options, expression: string): Promise<EvalRequest> {
  const json = options.text('value');
  return {
    expression,
    value: json === undefined ? undefined : parseValue(json),
    valueExists: undefined,
    path: options.text('path') ?? '',
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
    throw new CommandFault(exitCodes.input, `${file}: wanted one object, found ${first ? 'several' : 'none'}`);
  }
  return first.object as unknown as JsonMap;
}

async function answerLines(context: Context, settings: Settings, defaults: EvalRequest): Promise<ExitCode> {
  for await (const bundle of inputLines(context.stdinChunks(), { maxLength: lineLimit })) {
    const read = bundle.map((line) => readRequest(line, defaults));
    const answers = await answerRequests(
      context,
      settings,
      read.filter((one): one is EvalRequest => 'expression' in one),
    );
    for (const one of read) {
      const answer = 'expression' in one ? answers.shift() : one;
      context.stdout.write(`${JSON.stringify(answer)}\n`);
    }
  }
  return exitCodes.fine;
}

function readRequest(line: InputLine, defaults: EvalRequest): EvalRequest | EvalAnswer {
  if (line.kind === 'tooLong') return failed('size', `the request is longer than ${lineLimit} characters`);
  let said: unknown;
  try {
    said = JSON.parse(line.text);
  } catch {
    return failed('syntax', 'the request is not JSON');
  }
  if (!isMap(said)) return failed('type', 'wanted a request as a JSON object');
  const { expression = defaults.expression, path = defaults.path, object = said['virtualObject'] } = said;
  if (typeof expression !== 'string') return failed('type', 'wanted the expression as a text');
  if (typeof path !== 'string') return failed('type', 'wanted the path as a text');
  const { hostObject, valueExists, value = Object.hasOwn(said, 'value') ? null : defaults.value } = said;
  return {
    expression,
    path,
    value,
    valueExists: typeof valueExists === 'boolean' ? valueExists : undefined,
    object: isMap(object) ? object : defaults.object,
    hostObject: isMap(hostObject) ? hostObject : defaults.hostObject,
    isBack: said['back'] === true || defaults.isBack,
  };
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

function errorText({ kind, message, position, fix }: EvalFault, expression: string): string {
  const isOfPath = message.startsWith('path: ');
  if (position === undefined || isOfPath) return `${kind}: ${message}${fix === undefined ? '' : `; ${fix}`}`;
  const parts = { code: 'PATCH_EXPRESSION', at: { file: shownName, ...position }, found: message };
  const told = warning({ ...parts, wanted: 'one JavaScript expression', ...(fix && { fix }) });
  return formatFault({ ...told, severity: 'fault' }, new Map([[shownName, expression]]));
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
