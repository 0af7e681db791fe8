// Evaluates expressions on request. In: an expression, and values or an object. Out: a value or an error; a bad request never
// throws. The expressions run in the sandbox process and never in this process.
import { mappingsOf } from '../../config/settings/host-namespaces.ts';
import type { Settings } from '../../config/settings/settings.ts';
import type { EvaluationError } from '../../expression/evaluate/evaluation-error.ts';
import { ExpressionTrial } from '../../expression/evaluate/expression-trial.ts';
import { type JsonMap, parsePath } from '../../expression/path/path.ts';
import { silentLog } from '../../log.ts';
import { isRecord } from '../../object/text/json.ts';
import { sandboxFunctions } from '../../sync/patch/run/open-patcher.ts';
import type { OfflineMeans } from './offline-patches.ts';

export interface EvalRequest {
  expression: string;
  /** Undefined means that the value comes from the object. */
  value: unknown;
  valueExists: boolean | undefined;
  /** The empty path is the whole object. */
  path: string | undefined;
  object: JsonMap | undefined;
  hostObject: JsonMap | undefined;
  isBack: boolean;
}

export type EvalOutcome = { value: unknown } | { error: EvaluationError };
/** `matches` when the path matched several values. */
export type EvalAnswer = EvalOutcome | { matches: ({ path: string } & EvalOutcome)[] };

interface EvalTarget {
  path: string;
  value: unknown;
  valueExists: boolean;
}

export class EvalSession {
  readonly #trial: ExpressionTrial;

  constructor(means: OfflineMeans, settings: Settings) {
    const { clock, nodePath, openSandbox } = means;
    const { virtualClusterName, hostNamespace, vcluster } = settings;
    this.#trial = new ExpressionTrial({
      clock,
      log: silentLog,
      nodePath,
      ...(openSandbox && { openSandbox }),
      vcluster: { name: virtualClusterName, namespace: hostNamespace, config: vcluster },
      functions: sandboxFunctions(settings, mappingsOf(settings)),
    });
  }

  stop(): Promise<void> {
    return this.#trial.stop();
  }

  async answer(request: EvalRequest): Promise<EvalAnswer> {
    if ([request.value, request.object, request.hostObject].some(isTooDeep))
      return failed('size', `the input nests deeper than ${depthLimit} levels`);
    const targets = targetsOf(request);
    if ('error' in targets) return targets;
    const outcomes: ({ path: string } & EvalOutcome)[] = [];
    for (const target of targets) outcomes.push({ path: target.path, ...(await this.#try(request, target)) });
    const [only] = outcomes;
    if (outcomes.length !== 1 || only === undefined) return { matches: outcomes };
    const { path: _, ...outcome } = only;
    return outcome;
  }

  async #try({ expression, object, hostObject }: EvalRequest, target: EvalTarget): Promise<EvalOutcome> {
    const inputs = { ...target, virtualObject: contextObject(object), hostObject: contextObject(hostObject) };
    try {
      const tried = await this.#trial.try(expression, inputs);
      return tried.kind === 'value' ? { value: tried.value } : { error: tried.error };
    } catch (thrown) {
      return failed('crash', `the sandbox cannot be started: ${thrown instanceof Error ? thrown.message : thrown}`);
    }
  }
}

/** A request as JSON says it; the defaults fill in what it leaves out. */
export function evalRequestOf(said: unknown, defaults: EvalRequest): EvalRequest | EvalAnswer {
  if (!isRecord(said)) return failed('type', 'wanted a request as a JSON object');
  const { expression = defaults.expression, path = defaults.path, object = said['virtualObject'] } = said;
  if (typeof expression !== 'string') return failed('type', 'wanted the expression as a text');
  if (path !== undefined && typeof path !== 'string') return failed('type', 'wanted the path as a text');
  const { hostObject, valueExists, value = Object.hasOwn(said, 'value') ? null : defaults.value } = said;
  for (const [name, one] of Object.entries({ object, hostObject })) {
    if (one !== undefined && one !== null && !isRecord(one)) return failed('type', `wanted ${name} as a JSON object`);
  }
  if (valueExists !== undefined && typeof valueExists !== 'boolean')
    return failed('type', 'wanted valueExists as true or false');
  return {
    expression,
    path,
    value,
    valueExists,
    object: isRecord(object) ? object : defaults.object,
    hostObject: isRecord(hostObject) ? hostObject : defaults.hostObject,
    isBack: said['back'] === true || defaults.isBack,
  };
}

export function failed(kind: EvaluationError['kind'], message: string): { error: EvaluationError } {
  return { error: { kind, message } };
}

function targetsOf(request: EvalRequest): EvalTarget[] | { error: EvaluationError } {
  const parsed = parsePath(request.path ?? '');
  if (parsed.kind === 'fault') {
    const { message, column, fix } = parsed;
    return { error: { kind: 'syntax', message: `path: ${message}; ${fix}`, position: { line: 1, column } } };
  }
  const { canonical, match } = parsed.path;
  const { value, valueExists } = request;
  if (value !== undefined) return [{ path: canonical, value, valueExists: valueExists !== false }];
  const root = request.isBack ? (request.hostObject ?? request.object) : request.object;
  const isAsked = root !== undefined && request.path !== undefined && valueExists !== false;
  if (isAsked && canonical === '') return [{ path: '', value: contextObject(root), valueExists: true }];
  const found = isAsked ? match(root, { withPaths: true }) : undefined;
  if (found === undefined || found.values.length === 0)
    return [{ path: canonical, value: null, valueExists: valueExists === true }];
  return found.values.map((one, at) => ({ path: found.paths?.[at] ?? '', value: one, valueExists: true }));
}

/** Hides the fields that the daemon hides from expressions: versions and Hostward's own annotations. */
function contextObject(object: JsonMap | undefined): unknown {
  const metadata = object?.['metadata'];
  if (object === undefined || !isRecord(metadata)) return object ?? null;
  const { resourceVersion, generation, managedFields, annotations, ...shown } = metadata;
  if (!isRecord(annotations)) return { ...object, metadata: shown };
  const kept = Object.entries(annotations).filter(([key]) => !key.startsWith('hostward.dev/'));
  return { ...object, metadata: { ...shown, annotations: Object.fromEntries(kept) } };
}

/** Printing a deeper value may overflow the stack. Kubernetes objects nest far less. */
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
