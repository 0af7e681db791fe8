// Runs the expressions of one configuration over the values of one object at a time. In: which expressions there are, what
// context.vcluster is, a sandbox; then per object the matched values of patches that do not overlap. Out: for each value its
// result or an error. Remembers answers, sends what is not known in one request, finds out whose expression ran out of time.
// It must never know what an object means, and never evaluate anything in this process.
import { createHash } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { CompiledExpression } from '../language/compile.ts';
import { emptyUse, mergeUse, project, useOf } from '../language/context-use.ts';
import { placeOf } from '../language/expression-fault.ts';
import { sourceIndexAt } from '../language/generate.ts';
import { sandboxLimits } from '../limits.ts';
import { harnessSource, type SandboxSetup } from '../realm/harness.ts';
import type { Sandbox, SandboxOutcome } from '../sandbox/sandbox.ts';
import { type Answer, type AnswerFault, isList, readAnswers, resultsOf } from './answer.ts';
import { AnswerMemory, type AnswerMemoryOptions, isJson } from './answer-memory.ts';
import { type EvaluationError, plainMessage } from './evaluation-error.ts';
import type { ExpressionMetrics, Quarantined } from './expression-metrics.ts';
import { Quarantine, type Suspicion } from './quarantine.ts';
import { countOf, type EvaluationRequest, filled, type GroupResult, type ValueGroup } from './request.ts';
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
  /** Tells the texts of values that were set aside from others; a test counts its calls. */
  digestOf?: (text: string) => string;
  /** Errors say where in the expression they were thrown, and the expression can see a stack: for one try after a fault. */
  traces?: boolean;
}

export interface Evaluator {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** At once where all is known: waiting for a promise takes longer than looking it up. */
  evaluate(request: EvaluationRequest): readonly GroupResult[] | Promise<readonly GroupResult[]>;
  /** Expressions and values that are set aside because they kept running out of time or memory. */
  readonly quarantined: Quarantined;
}

/** How a request is put. */
interface Asking {
  /** As it is sent, and as its answer is remembered by. */
  text: string;
  isRetry: boolean;
}

export function createEvaluator(options: EvaluatorOptions): Evaluator {
  return new SandboxedEvaluator(options);
}

/** The sandbox starts again, or has more to do than it can: neither takes longer. */
const unavailableMs = 1_000;

const noErrors: GroupResult['errors'] = [];
const noFaults: readonly AnswerFault[] = [];

class SandboxedEvaluator implements Evaluator {
  readonly #sandbox: Sandbox | undefined;
  readonly #writer: RequestWriter;
  readonly #memory: AnswerMemory;
  readonly #quarantine: Quarantine;
  readonly #metrics: ExpressionMetrics | undefined;

  constructor(options: EvaluatorOptions) {
    const { expressions } = options;
    this.#writer = new RequestWriter(expressions);
    this.#memory = new AnswerMemory(options.memory);
    this.#quarantine = new Quarantine(options.clock, options.digestOf ?? sha256Of);
    this.#metrics = options.metrics;
    // Without an expression there is no process to keep.
    if (expressions.length > 0) this.#sandbox = options.openSandbox(setupOf(options));
  }

  get quarantined(): Quarantined {
    return this.#quarantine.sizes;
  }

  async start(): Promise<void> {
    await this.#sandbox?.start();
  }

  async stop(): Promise<void> {
    await this.#sandbox?.stop();
  }

  evaluate(request: EvaluationRequest): readonly GroupResult[] | Promise<readonly GroupResult[]> {
    if (request.groups.length === 0) return [];
    const text = this.#writer.textOf(request);
    return this.#recall(text, request) ?? this.#ask(request, { text, isRetry: false });
  }

  #recall(text: string, request: EvaluationRequest): readonly GroupResult[] | undefined {
    const known = isWhollyIn(request) ? this.#memory.recall(text) : undefined;
    if (known !== undefined) this.#metrics?.remembered(countOf(known));
    return known;
  }

  #remember(text: string, request: EvaluationRequest, results: readonly GroupResult[]): void {
    if (isWhollyIn(request)) this.#memory.remember(text, results);
  }

  #ask(request: EvaluationRequest, asking: Asking): Promise<readonly GroupResult[]> {
    return request.groups.some((group) => this.#isSuspected(group))
      ? this.#askSome(request, asking)
      : this.#run(request, asking);
  }

  #isSuspected({ expression }: ValueGroup): boolean {
    return this.#quarantine.suspects(this.#writer.indexOf(expression));
  }

  /** What is not set aside. */
  async #askSome(request: EvaluationRequest, asking: Asking): Promise<readonly GroupResult[]> {
    const setAside = request.groups.map((group) =>
      this.#isSuspected(group) ? this.#setAside(group, request) : undefined,
    );
    const groups = request.groups.filter((_, at) => setAside[at] === undefined);
    if (groups.length === 0) return setAside as GroupResult[];
    const some = groups.length === setAside.length ? request : { ...request, groups };
    const text = some === request ? asking.text : this.#writer.textOf(some);
    const known = some === request ? undefined : this.#recall(text, some);
    if (known !== undefined) return filled(setAside, known);
    // A value that could not be finished on before must not stand in the way of others again.
    const isKnown = groups.some((group) => this.#isSuspected(group) && this.#isKnown(group, request));
    const told =
      isKnown && groups.length > 1
        ? await this.#tryEach(some, text)
        : await this.#run(some, { text, isRetry: asking.isRetry || isKnown });
    return filled(setAside, told);
  }

  #isKnown(group: ValueGroup, request: EvaluationRequest): boolean {
    return this.#quarantine.isKnown(this.#writer.indexOf(group.expression), this.#suspicionOf(group, request));
  }

  async #run(request: EvaluationRequest, { text, isRetry }: Asking): Promise<readonly GroupResult[]> {
    const { groups } = request;
    if (text.length > sandboxLimits.frameChars) {
      const message = `values of the object need more than ${sandboxLimits.frameChars} characters`;
      return this.#failAll(groups, { kind: 'size', message });
    }
    const outcome = await (this.#sandbox as Sandbox).run(text, { alone: isRetry });
    if (outcome.kind === 'unavailable')
      return this.#failAll(groups, { kind: 'crash', message: outcome.message, retryAfterMs: unavailableMs });
    if (outcome.kind !== 'answer') {
      const isAlone = isRetry || groups.length === 1;
      return isAlone ? this.#failAlone(request, outcome) : this.#tryEach(request, text);
    }
    const answers = readAnswers(outcome.text, groups);
    if (answers === undefined)
      return this.#failAll(groups, { kind: 'crash', message: 'the sandbox returned a malformed answer' });
    const results = groups.map((group, at) => this.#resultOf(group, answers[at] as Answer));
    this.#remember(text, request, results);
    this.#clear(request);
    return results;
  }

  /** Each expression by itself: the sandbox gave the request its whole time, but not each of several expressions in it. */
  async #tryEach(request: EvaluationRequest, text: string): Promise<readonly GroupResult[]> {
    const results: GroupResult[] = [];
    for (const group of request.groups) {
      const alone = { ...request, groups: [group] };
      const textAlone = this.#writer.textOf(alone);
      const known = this.#recall(textAlone, alone);
      results.push(...(known ?? (await this.#ask(alone, { text: textAlone, isRetry: true }))));
    }
    // Where only all of them together take too long, they need not be tried like this again.
    this.#remember(text, request, results);
    return results;
  }

  #failAlone(request: EvaluationRequest, outcome: Failure): GroupResult[] {
    return request.groups.map((group) => {
      const index = this.#writer.indexOf(group.expression);
      const suspicion = this.#suspicionOf(group, request);
      this.#quarantine.failed(index, suspicion);
      const retryAfterMs = this.#quarantine.remainingMs(index, suspicion);
      return this.#fail(group, { ...errorOf(outcome), retryAfterMs });
    });
  }

  /** Undefined where a group may be tried. */
  #setAside(group: ValueGroup, request: EvaluationRequest): GroupResult | undefined {
    const index = this.#writer.indexOf(group.expression);
    const remainingMs = this.#quarantine.remainingMs(index, this.#suspicionOf(group, request));
    if (remainingMs === 0) return undefined;
    // Always in the same words: each new message is a new event for somebody.
    const message = 'not tried: the expression ran out of its limits before and is set aside for a while';
    return this.#fail(group, { kind: 'timeout', message, retryAfterMs: remainingMs });
  }

  #suspicionOf(group: ValueGroup, request: EvaluationRequest): Suspicion {
    return { subject: request.subject, text: this.#writer.textOfOne(group, request) };
  }

  #clear(request: EvaluationRequest): void {
    for (const group of request.groups) {
      if (!this.#isSuspected(group)) continue;
      this.#quarantine.succeeded(this.#writer.indexOf(group.expression), this.#suspicionOf(group, request));
    }
  }

  #resultOf({ expression, values }: ValueGroup, answer: Answer): GroupResult {
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

/** What JSON cannot write is null in the text of a request, and where it does not change the result is the value itself. */
function isWhollyIn({ groups }: EvaluationRequest): boolean {
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

type Failure = SandboxOutcome & { kind: 'timeout' | 'memory' | 'crash' };

function errorOf(outcome: Failure): EvaluationError {
  switch (outcome.kind) {
    case 'timeout':
      return { kind: 'timeout', message: 'expression did not finish in time' };
    case 'memory':
      return { kind: 'memory', message: `expression needed more than ${sandboxLimits.isolateMemoryMb} MB` };
    case 'crash':
      return { kind: 'crash', message: plainMessage(outcome.message, undefined) };
    default:
      return outcome satisfies never;
  }
}
