// Runs the expressions of one configuration over the values of one object at a time. In: the expressions, the data of
// context.vcluster and a sandbox; then, for each object, the values that its patches matched. Out: a result or an error for each
// value. Remembers answers, sends the rest in one request, and finds the expression that ran out of time or memory.
// This room must never know the meaning of an object, and must never evaluate an expression in this process.
import { createHash } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { CompiledExpression } from '../language/compile.ts';
import { emptyUse, mergeUse, project, useOf } from '../language/context-use.ts';
import { placeOf } from '../language/expression-fault.ts';
import { sourceIndexAt } from '../language/generate.ts';
import { sandboxLimits } from '../limits.ts';
import { harnessSource, type SandboxSetup } from '../realm/harness.ts';
import type { RanOut, Sandbox } from '../sandbox/sandbox.ts';
import { type AnswerFault, type GroupAnswer, isList, readAnswers, resultsOf } from './answer.ts';
import { AnswerMemory, type AnswerMemoryOptions, isJson } from './answer-memory.ts';
import { type EvaluationError, errorOf, notRun, plainMessage } from './evaluation-error.ts';
import type { ExpressionMetrics, Quarantined } from './expression-metrics.ts';
import { Offenders, type Suspicion } from './offenders.ts';
import { countOf, type EvaluationRequest, fillGaps, type GroupResult, type ValueGroup } from './request.ts';
import { RequestWriter } from './request-text.ts';

export interface EvaluatorOptions {
  expressions: readonly CompiledExpression[];
  vcluster: { name: string; namespace: string; config: unknown };
  /** Functions of the realm by name, as source: `(tools) => (…) => …`, where tools has sha256Hex. */
  functions?: Record<string, string>;
  openSandbox: (setup: SandboxSetup) => Sandbox;
  clock: Clock;
  metrics?: ExpressionMetrics;
  memory?: AnswerMemoryOptions;
  softMs?: number;
  /** Makes the short key under which the memory of offenders keeps the text of a failed value; a test counts the calls. */
  digestOf?: (text: string) => string;
  /** Errors carry the position of the throw. Only for a second try after a fault, because the realm then keeps stack traces. */
  traces?: boolean;
}

export interface Evaluator {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Returns without a promise when the memory has all answers, because waiting for a promise takes longer than the look-up. */
  evaluate(request: EvaluationRequest): readonly GroupResult[] | Promise<readonly GroupResult[]>;
  /** The expressions and values that are set aside because they ran out of time or memory. */
  readonly quarantined: Quarantined;
  /** For somebody who only looks: nothing is counted or set aside, and what ran out of its limits before is not run again. */
  readonly onlooker: Evaluator;
}

interface PreparedRequest {
  /** The text of the request, and the key of the remembered answer. */
  text: string;
  isRetry: boolean;
}

export function createEvaluator(options: EvaluatorOptions): Evaluator {
  const { expressions, clock, digestOf = sha256Of, memory, metrics } = options;
  return new SandboxedEvaluator({
    sandbox: expressions.length > 0 ? options.openSandbox(setupOf(options)) : undefined,
    writer: new RequestWriter(expressions),
    memory: new AnswerMemory(memory),
    offenders: new Offenders(clock, digestOf),
    metrics,
  });
}

interface EvaluatorParts {
  /** Undefined without expressions. */
  sandbox: Sandbox | undefined;
  writer: RequestWriter;
  memory: AnswerMemory;
  offenders: Offenders;
  metrics?: ExpressionMetrics | undefined;
  isOnlooker?: boolean;
}

const noErrors: GroupResult['errors'] = [];
const noFaults: readonly AnswerFault[] = [];

class SandboxedEvaluator implements Evaluator {
  readonly #sandbox: Sandbox | undefined;
  readonly #writer: RequestWriter;
  readonly #memory: AnswerMemory;
  readonly #offenders: Offenders;
  readonly #metrics: ExpressionMetrics | undefined;
  readonly #isOnlooker: boolean;
  #isStopped = false;

  constructor({ sandbox, writer, memory, offenders, metrics, isOnlooker = false }: EvaluatorParts) {
    this.#sandbox = sandbox;
    this.#writer = writer;
    this.#memory = memory;
    this.#offenders = offenders;
    this.#metrics = metrics;
    this.#isOnlooker = isOnlooker;
  }

  get quarantined(): Quarantined {
    return this.#offenders.sizes;
  }

  get onlooker(): Evaluator {
    const shared = { sandbox: this.#sandbox, writer: this.#writer, memory: this.#memory, offenders: this.#offenders };
    return new SandboxedEvaluator({ ...shared, isOnlooker: true });
  }

  async start(): Promise<void> {
    await this.#sandbox?.start();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#sandbox?.stop();
  }

  evaluate(request: EvaluationRequest): readonly GroupResult[] | Promise<readonly GroupResult[]> {
    if (request.groups.length === 0) return [];
    const text = this.#writer.textOf(request);
    return this.#recall(text, request) ?? this.#send(request, { text, isRetry: false });
  }

  #recall(text: string, request: EvaluationRequest): readonly GroupResult[] | undefined {
    const known = isFullyWritten(request) ? this.#memory.recall(text) : undefined;
    if (known !== undefined) this.#metrics?.remembered(countOf(known));
    return known;
  }

  #remember(text: string, request: EvaluationRequest, results: readonly GroupResult[]): void {
    if (isFullyWritten(request)) this.#memory.remember(text, results);
  }

  #send(request: EvaluationRequest, prepared: PreparedRequest): Promise<readonly GroupResult[]> {
    return request.groups.some((group) => this.#isSuspected(group))
      ? this.#sendRest(request, prepared)
      : this.#run(request, prepared);
  }

  #isSuspected({ expression }: ValueGroup): boolean {
    return this.#offenders.suspects(this.#writer.indexOf(expression));
  }

  /** Sends the groups that are not set aside. */
  async #sendRest(request: EvaluationRequest, prepared: PreparedRequest): Promise<readonly GroupResult[]> {
    const setAside = request.groups.map((group) =>
      this.#isSuspected(group) ? this.#setAside(group, request) : undefined,
    );
    const groups = request.groups.filter((_, at) => setAside[at] === undefined);
    if (groups.length === 0) return setAside as GroupResult[];
    const some = groups.length === setAside.length ? request : { ...request, groups };
    const text = some === request ? prepared.text : this.#writer.textOf(some);
    const known = some === request ? undefined : this.#recall(text, some);
    if (known !== undefined) return fillGaps(setAside, known);
    // A value that failed before must not delay the other groups again.
    const hasFailedBefore = groups.some((group) => this.#isSuspected(group) && this.#hasFailedBefore(group, request));
    const rest =
      hasFailedBefore && groups.length > 1
        ? await this.#tryEach(some, text)
        : await this.#run(some, { text, isRetry: prepared.isRetry || hasFailedBefore });
    return fillGaps(setAside, rest);
  }

  #hasFailedBefore(group: ValueGroup, request: EvaluationRequest): boolean {
    return this.#offenders.hasFailedBefore(this.#writer.indexOf(group.expression), this.#suspicionOf(group, request));
  }

  async #run(request: EvaluationRequest, { text, isRetry }: PreparedRequest): Promise<readonly GroupResult[]> {
    const { groups } = request;
    if (text.length > sandboxLimits.frameChars) {
      const message = `values of the object need more than ${sandboxLimits.frameChars} characters`;
      return this.#failAll(groups, { kind: 'size', message });
    }
    this.#offenders.waiting++;
    const outcome = await (this.#sandbox as Sandbox).run(text, {
      alone: isRetry,
      isOfKnown: request.isKnown ?? false,
      isSuspected: groups.some((group) => this.#isSuspected(group)),
      causes: groups.map(({ expression }) => this.#writer.indexOf(expression)),
    });
    this.#offenders.waiting--;
    if (outcome.kind === 'unavailable') return this.#failAll(groups, notRun(outcome.message, this.#isStopped));
    if (outcome.kind !== 'answer') {
      const isAlone = isRetry || groups.length === 1;
      return isAlone ? this.#failAlone(request, outcome) : this.#tryEach(request, text);
    }
    const answers = readAnswers(outcome.text, groups);
    if (answers === undefined)
      return this.#failAll(groups, { kind: 'crash', message: 'the sandbox returned a malformed answer' });
    const results = groups.map((group, at) => this.#resultOf(group, answers[at] as GroupAnswer));
    this.#remember(text, request, results);
    this.#clear(request);
    return results;
  }

  /** Sends each group by itself, because the time limit held for all expressions of the request together. */
  async #tryEach(request: EvaluationRequest, text: string): Promise<readonly GroupResult[]> {
    const results: GroupResult[] = [];
    for (const group of request.groups) {
      const alone = { ...request, groups: [group] };
      const textAlone = this.#writer.textOf(alone);
      const known = this.#recall(textAlone, alone);
      results.push(...(known ?? (await this.#send(alone, { text: textAlone, isRetry: true }))));
    }
    // Remembered for the whole request too, so that groups that are slow only together are not tried one by one again.
    this.#remember(text, request, results);
    return results;
  }

  #failAlone(request: EvaluationRequest, outcome: RanOut): GroupResult[] {
    return request.groups.map((group) => {
      const index = this.#writer.indexOf(group.expression);
      const suspicion = this.#suspicionOf(group, request);
      if (!this.#isOnlooker) this.#offenders.failed(index, suspicion);
      const retryAfterMs = this.#offenders.remainingMs(index, suspicion);
      return this.#fail(group, { ...errorOf(outcome), retryAfterMs });
    });
  }

  /** The error of a group that is set aside; undefined when the group may be tried. */
  #setAside(group: ValueGroup, request: EvaluationRequest): GroupResult | undefined {
    const index = this.#writer.indexOf(group.expression);
    const remainingMs = this.#offenders.remainingMs(index, this.#suspicionOf(group, request));
    if (remainingMs === 0 && !(this.#isOnlooker && this.#hasFailedBefore(group, request))) return undefined;
    // A constant message, because every new message would become a new event on the object.
    const message = 'not tried: the expression ran out of its limits before and is set aside for a while';
    return this.#fail(group, { kind: 'timeout', message, retryAfterMs: remainingMs });
  }

  #suspicionOf(group: ValueGroup, request: EvaluationRequest): Suspicion {
    return { subject: request.subject, text: this.#writer.textOfOne(group, request) };
  }

  #clear(request: EvaluationRequest): void {
    if (this.#isOnlooker) return;
    for (const group of request.groups) {
      if (!this.#isSuspected(group)) continue;
      this.#offenders.succeeded(this.#writer.indexOf(group.expression), this.#suspicionOf(group, request));
    }
  }

  #resultOf({ expression, values }: ValueGroup, answer: GroupAnswer): GroupResult {
    const faults = isList(answer) ? noFaults : answer.faults;
    this.#metrics?.evaluated('value', values.length - faults.length);
    const results = resultsOf(values, answer);
    if (faults.length === 0) return { results, errors: noErrors };
    const errors = faults.map(({ at, kind, message, offset }) => {
      this.#metrics?.evaluated(kind, 1);
      const position = positionOf(expression, offset);
      const error: EvaluationError = {
        kind,
        message: plainMessage(message, values[at], expression.source),
        ...(position && { position }),
      };
      return { at, error };
    });
    return { results, errors: errors.sort((a, b) => a.at - b.at) };
  }

  #failAll(groups: readonly ValueGroup[], error: EvaluationError): GroupResult[] {
    return groups.map((group) => this.#fail(group, error));
  }

  #fail({ values }: ValueGroup, error: EvaluationError): GroupResult {
    this.#metrics?.evaluated(error.kind, values.length);
    return { results: [...values], errors: values.map((_, at) => ({ at, error })) };
  }
}

function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

/** False when JSON writes a value as null: the remembered answer for null would be wrong for that value. */
function isFullyWritten({ groups }: EvaluationRequest): boolean {
  return groups.every(({ values, missing }) =>
    values.every((value, at) => isJson(value) || (value === undefined && missing?.has(at) === true)),
  );
}

function positionOf({ source, tree }: CompiledExpression, offset: number): EvaluationError['position'] {
  const index = offset < 0 ? undefined : sourceIndexAt(source, tree, offset);
  return index === undefined ? undefined : placeOf(source, index);
}

function setupOf(options: EvaluatorOptions): SandboxSetup {
  const use = emptyUse();
  for (const { context } of options.expressions) mergeUse(use, useOf(context, 'vcluster') ?? emptyUse());
  return {
    harness: harnessSource({ traces: options.traces ?? false }),
    expressions: options.expressions.map(({ code }) => code),
    functions: Object.entries(options.functions ?? {}),
    vcluster: JSON.stringify(project(options.vcluster, use)),
    memoryLimitMb: sandboxLimits.isolateMemoryMb,
    timeoutMs: options.softMs ?? sandboxLimits.softMs,
    callsPerIsolate: sandboxLimits.callsPerIsolate,
  };
}
