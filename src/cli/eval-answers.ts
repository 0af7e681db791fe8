// Answers requests to evaluate an expression: compiles it, finds its values, runs it in the sandbox process. In: requests
// from anybody. Out: for each a value or an error, never a throw. Nothing of an expression runs in this process.
import type { Settings } from '../config/settings.ts';
import { type CompiledExpression, compileExpression } from '../expression/compile.ts';
import type { EvaluationErrorKind } from '../expression/evaluation-error.ts';
import { createEvaluator, type Evaluator, type GroupResult } from '../expression/evaluator.ts';
import { type JsonMap, parsePath } from '../expression/path.ts';
import { sandboxFunctions } from '../sync/patch/open-patcher.ts';
import type { Context } from './context.ts';
import { sandboxOpener } from './offline-patches.ts';
import { mappingsOf } from './rules-of.ts';

export interface EvalRequest {
  expression: string;
  /** Undefined: taken from the object. */
  value: unknown;
  valueExists: boolean | undefined;
  path: string;
  object: JsonMap | undefined;
  hostObject: JsonMap | undefined;
  isBack: boolean;
}

export interface EvalFault {
  kind: EvaluationErrorKind;
  message: string;
  position?: { line: number; column: number };
  fix?: string;
}

export type EvalOutcome = { value: unknown } | { error: EvalFault };
/** `matches` where a path matched several places. */
export type EvalAnswer = EvalOutcome | { matches: ({ path: string } & EvalOutcome)[] };

interface Prepared {
  request: EvalRequest;
  expression: CompiledExpression;
  values: unknown[];
  paths: string[];
  isMissing: boolean;
}

export async function answerRequests(
  context: Context,
  settings: Settings,
  requests: readonly EvalRequest[],
): Promise<EvalAnswer[]> {
  const prepared = requests.map(prepare);
  const ready = prepared.filter((one) => 'expression' in one);
  const evaluator = openEvaluator(context, settings, ready);
  try {
    await evaluator.start();
    const answers: EvalAnswer[] = [];
    // One after the other: whatever one of them does to the sandbox must not cost another its turn.
    for (const one of prepared) answers.push('expression' in one ? await run(evaluator, one) : one);
    return answers;
  } catch (thrown) {
    // One expression that the sandbox cannot even take in must not cost the others their answers.
    if (requests.length > 1) return await oneByOne(context, settings, requests);
    return [failed('crash', `the sandbox cannot be started: ${thrown instanceof Error ? thrown.message : thrown}`)];
  } finally {
    await evaluator.stop();
  }
}

async function oneByOne(context: Context, settings: Settings, requests: readonly EvalRequest[]): Promise<EvalAnswer[]> {
  const answers: EvalAnswer[] = [];
  for (const request of requests) answers.push(...(await answerRequests(context, settings, [request])));
  return answers;
}

function openEvaluator(context: Context, settings: Settings, ready: readonly Prepared[]): Evaluator {
  const { virtualClusterName, hostNamespace, vcluster } = settings;
  return createEvaluator({
    expressions: ready.map(({ expression }) => expression),
    vcluster: { name: virtualClusterName, namespace: hostNamespace, config: vcluster },
    functions: sandboxFunctions(settings, mappingsOf(settings)),
    openSandbox: sandboxOpener(context),
    clock: context.clock,
  });
}

function prepare(request: EvalRequest): Prepared | EvalOutcome {
  const compiled = compileExpression(request.expression);
  if (compiled.kind === 'faults') {
    const { kind, message, fix, line, column } = compiled.faults[0];
    return { error: { kind, message, position: { line, column }, fix } };
  }
  if ([request.value, request.object, request.hostObject].some(isTooDeep)) {
    return failed('size', `the input nests deeper than ${depthLimit} levels`);
  }
  const parsed = parsePath(request.path);
  if (parsed.kind === 'fault') {
    const { message, column, fix } = parsed;
    return { error: { kind: 'syntax', message: `path: ${message}`, position: { line: 1, column }, fix } };
  }
  const { expression } = compiled;
  const { path } = parsed;
  if (request.value !== undefined) {
    const isMissing = request.valueExists === false;
    return { request, expression, values: [request.value], paths: [path.canonical], isMissing };
  }
  const root = request.isBack ? (request.hostObject ?? request.object) : request.object;
  const hasPlace = root !== undefined && request.path.trim() !== '' && request.valueExists !== false;
  const found = hasPlace ? path.match(root, { withPaths: true }) : undefined;
  if (found === undefined || found.values.length === 0) {
    const isMissing = request.valueExists !== true;
    return { request, expression, values: [null], paths: [path.canonical], isMissing };
  }
  return { request, expression, values: found.values, paths: found.paths ?? [], isMissing: false };
}

async function run(evaluator: Evaluator, { request, expression, ...group }: Prepared): Promise<EvalAnswer> {
  const { values, paths, isMissing } = group;
  const [result] = await evaluator.evaluate({
    hostObject: contextObject(request.hostObject),
    virtualObject: contextObject(request.object),
    groups: [{ expression, values, paths, missing: isMissing ? new Set([0]) : undefined }],
  });
  const outcomes = values.map((_, at) => outcomeAt(result as GroupResult, at));
  const [only] = outcomes;
  if (outcomes.length === 1 && only !== undefined) return only;
  return { matches: outcomes.map((outcome, at) => ({ path: paths[at] ?? '', ...outcome })) };
}

function outcomeAt({ results, errors }: GroupResult, at: number): EvalOutcome {
  const found = errors.find((one) => one.at === at);
  return found === undefined ? { value: results[at] ?? null } : { error: found.error };
}

export function failed(kind: EvalFault['kind'], message: string): EvalOutcome {
  return { error: { kind, message } };
}

/** As expressions of the daemon see an object: without versions and without our own bookkeeping. */
function contextObject(object: JsonMap | undefined): unknown {
  const metadata = object?.['metadata'];
  if (object === undefined || !isMap(metadata)) return object ?? null;
  const { resourceVersion, generation, managedFields, annotations, ...shown } = metadata;
  if (!isMap(annotations)) return { ...object, metadata: shown };
  const kept = Object.entries(annotations).filter(([key]) => !key.startsWith('hostward.dev/'));
  return { ...object, metadata: { ...shown, annotations: Object.fromEntries(kept) } };
}

export function isMap(value: unknown): value is JsonMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Deeper ones cannot be printed again without the risk of running out of stack; Kubernetes itself stops far below. */
const depthLimit = 500;

function isTooDeep(value: unknown): boolean {
  const open: [unknown, number][] = [[value, 0]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [one, depth] = next;
    if (typeof one !== 'object' || one === null) continue;
    if (depth > depthLimit) return true;
    for (const part of Object.values(one)) open.push([part, depth + 1]);
  }
  return false;
}
