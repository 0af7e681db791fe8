// Runs the expressions of one configuration over the values of one object at a time. In: which expressions there are, what
// context.vcluster is, a sandbox; then per object the matched values of patches that do not overlap. Out: for each value its
// result or an error. Remembers results, sends the rest in one request, finds out which expression a time-out belongs to.
// It must never know what an object means, and never evaluate anything in this process.
import { createHash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { type Answer, readAnswers } from './answer.ts';
import type { CompiledExpression } from './compile.ts';
import { type ContextUse, emptyUse, mergeUse, project, useOf } from './context-use.ts';
import { type EachOnce, eachOnce, spread } from './each-once.ts';
import { type EvaluationError, plainMessage } from './evaluation-error.ts';
import { placeOf } from './expression-fault.ts';
import type { ExpressionMetrics } from './expression-metrics.ts';
import { sourceIndexAt } from './generate.ts';
import { harnessSource, type SandboxSetup } from './harness.ts';
import { sandboxLimits } from './limits.ts';
import { Memo, type MemoOptions, type Question, question, type Shelf } from './memo.ts';
import { Quarantine, type Suspicion } from './quarantine.ts';
import type { Sandbox, SandboxOutcome } from './sandbox.ts';
import type { Shortcut, Sight } from './shortcut.ts';

export interface EvaluatorOptions {
  expressions: readonly CompiledExpression[];
  vcluster: { name: string; namespace: string; config: unknown };
  /** Functions of the realm by name, as source: `(tools) => (…) => …`, where tools has sha256Hex. */
  functions?: Record<string, string>;
  openSandbox: (setup: SandboxSetup) => Sandbox;
  clock: Clock;
  metrics?: ExpressionMetrics;
  memo?: MemoOptions;
  softMs?: number;
  /** Errors say where in the expression they were thrown, and the expression can see a stack: for one try after a fault. */
  traces?: boolean;
}

/** Values for one expression; a Matches of a path has this shape already. */
export interface ValueGroup {
  expression: CompiledExpression;
  values: readonly unknown[];
  /** Indexes of the values that do not exist. */
  missing?: ReadonlySet<number> | undefined;
  /** Concrete paths; needed only when expression.usesPath. */
  paths?: readonly string[] | undefined;
}

export interface EvaluationRequest {
  /** Tells objects apart where one of them makes expressions run out of time; without it each value counts as one. */
  subject?: string;
  hostObject: unknown;
  virtualObject: unknown;
  groups: readonly ValueGroup[];
}

export interface GroupResult {
  /**
   * In the order of the values. null deletes; a value with an error stands here unchanged. Nobody else holds the objects in
   * it; the list itself may be remembered, so it can only be read.
   */
  results: readonly unknown[];
  errors: readonly { at: number; error: EvaluationError }[];
}

export interface Evaluator {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** At once where all is known: waiting for a promise takes longer than looking it up. */
  evaluate(request: EvaluationRequest): GroupResult[] | Promise<GroupResult[]>;
  /** Expressions that are set aside because they kept running out of time or memory. */
  readonly quarantined: number;
  /** What is answered without a request, a value at a time; undefined where nothing is. */
  readonly shortcuts?: Shortcuts;
}

export interface Shortcuts {
  of(expression: CompiledExpression): Shortcut | undefined;
  /** One for all values of an object, one after the other. */
  sightOf(objects: Pick<EvaluationRequest, 'hostObject' | 'virtualObject'>): Sight;
  /** Whether so many parts of expressions can run before the loop is given a turn. */
  hasRoomFor(parts: number): boolean;
  /** To be told afterwards. */
  ran(parts: number, values: number): void;
}

interface Slot {
  index: number;
  expression: CompiledExpression;
  shelf: Shelf;
  hostUse: ContextUse | undefined;
  virtualUse: ContextUse | undefined;
}

/** A group whose results are not known yet. */
interface Open {
  slot: Slot;
  group: ValueGroup;
  result: GroupResult;
  question: Question;
  subject: string | undefined;
  /** What is sent: the values themselves, or each of them once. */
  values: readonly unknown[];
  /** For each sent value the places it stands for; undefined when every value is sent. */
  places: EachOnce['places'] | undefined;
}

export function createEvaluator(options: EvaluatorOptions): Evaluator {
  return new SandboxedEvaluator(options);
}

/** The sandbox starts again, or has more to do than it can: neither takes longer. */
const unavailableMs = 1_000;

const noErrors: GroupResult['errors'] = [];
const noResults: GroupResult['results'] = [];

class SandboxedEvaluator implements Evaluator {
  readonly #sandbox: Sandbox | undefined;
  readonly #slots = new Map<CompiledExpression, Slot>();
  readonly #memo: Memo;
  readonly #quarantine: Quarantine;
  readonly #metrics: ExpressionMetrics | undefined;
  readonly #hostUse = emptyUse();
  readonly #virtualUse = emptyUse();

  constructor(options: EvaluatorOptions) {
    this.#memo = new Memo(options.memo);
    this.#quarantine = new Quarantine(options.clock);
    this.#metrics = options.metrics;
    const vclusterUse = emptyUse();
    for (const [index, expression] of options.expressions.entries()) {
      const [hostUse, virtualUse] = [
        useOf(expression.context, 'hostObject'),
        useOf(expression.context, 'virtualObject'),
      ];
      if (hostUse !== undefined) mergeUse(this.#hostUse, hostUse);
      if (virtualUse !== undefined) mergeUse(this.#virtualUse, virtualUse);
      mergeUse(vclusterUse, useOf(expression.context, 'vcluster') ?? emptyUse());
      this.#slots.set(expression, { index, expression, shelf: this.#memo.shelf(), hostUse, virtualUse });
    }
    // Without an expression there is no process to keep.
    if (options.expressions.length > 0) this.#sandbox = options.openSandbox(setupOf(options, vclusterUse));
  }

  get quarantined(): number {
    return this.#quarantine.size;
  }

  async start(): Promise<void> {
    await this.#sandbox?.start();
  }

  async stop(): Promise<void> {
    await this.#sandbox?.stop();
  }

  evaluate(request: EvaluationRequest): GroupResult[] | Promise<GroupResult[]> {
    const open: Open[] = [];
    const results: GroupResult[] = [];
    for (const group of request.groups) {
      const slot = this.#slotOf(group.expression);
      const question = questionOf(slot, group, request);
      const known = this.#memo.recall(slot.shelf, question);
      this.#metrics?.remembered(known === undefined ? 0 : known.length);
      const result: GroupResult = { results: known ?? noResults, errors: noErrors };
      if (known === undefined) {
        const once = areAlikeAnywhere(slot, group, question) ? eachOnce(group.values) : undefined;
        const [values, places] = [once?.values ?? group.values, once?.places];
        open.push({ slot, group, result, question, subject: request.subject, values, places });
      }
      results.push(result);
    }
    if (open.length === 0) return results;
    return this.#ask(request, open, { isRetry: false }).then(() => results);
  }

  #slotOf(expression: CompiledExpression): Slot {
    const slot = this.#slots.get(expression);
    if (slot === undefined)
      throw new Error(`evaluate: wanted an expression of this configuration, got "${expression.source}"`);
    return slot;
  }

  async #ask(request: EvaluationRequest, groups: Open[], { isRetry }: { isRetry: boolean }): Promise<void> {
    const asked = this.#quarantine.isEmpty ? groups : groups.filter((open) => !this.#isSetAside(open));
    if (asked.length === 0) return;
    const text = this.#textOf(request, asked);
    if (text === undefined) {
      const message = `values of the object need more than ${sandboxLimits.frameChars} characters`;
      for (const open of asked) this.#failGroup(open, { kind: 'size', message });
      return;
    }
    const outcome = await (this.#sandbox as Sandbox).run(text, { alone: isRetry });
    if (outcome.kind === 'answer') {
      const answers = readAnswers(
        outcome.text,
        asked.map(({ values }) => values.length),
      );
      for (let at = 0; at < asked.length; at++) {
        const open = asked[at] as Open;
        const answer = answers?.[at];
        if (answer !== undefined) this.#take(open, answer);
        else this.#failGroup(open, { kind: 'crash', message: 'the sandbox gave an answer that is none' });
      }
      return;
    }
    if (outcome.kind === 'unavailable') {
      for (const open of asked)
        this.#failGroup(open, { kind: 'crash', message: outcome.message, retryAfterMs: unavailableMs });
      return;
    }
    // Each expression gets one more chance, alone and in a fresh isolate: it may have been a slow machine or its neighbour.
    if (!isRetry) {
      for (const open of asked) await this.#ask(request, [open], { isRetry: true });
      return;
    }
    for (const open of asked) {
      const suspicion = suspicionOf(open);
      this.#quarantine.failed(open.slot.index, suspicion);
      const retryAfterMs = this.#quarantine.remainingMs(open.slot.index, suspicion);
      this.#failGroup(open, { ...errorOf(outcome), retryAfterMs });
    }
  }

  #textOf(request: EvaluationRequest, asked: readonly Open[]): string | undefined {
    const groups = asked.map(({ slot, group, values }) => {
      const { usesPath } = slot.expression;
      if (!usesPath && group.missing === undefined) return [slot.index, values];
      const exists = group.missing === undefined ? 0 : values.map((_, at) => (group.missing?.has(at) ? 0 : 1));
      const paths = usesPath ? values.map((_, at) => group.paths?.[at] ?? '') : 0;
      return [slot.index, values, exists, paths];
    });
    const usesHost = asked.some(({ slot }) => slot.hostUse !== undefined);
    const usesVirtual = asked.some(({ slot }) => slot.virtualUse !== undefined);
    const host = usesHost ? seenOf(request.hostObject, this.#hostUse) : null;
    const virtual = usesVirtual ? seenOf(request.virtualObject, this.#virtualUse) : null;
    const text = JSON.stringify([groups, host, virtual]);
    return text.length <= sandboxLimits.frameChars ? text : undefined;
  }

  #isSetAside(open: Open): boolean {
    const remainingMs = this.#quarantine.remainingMs(open.slot.index, suspicionOf(open));
    if (remainingMs === 0) return false;
    // Always in the same words: each new message is a new event for somebody.
    const message = 'not tried: the expression ran out of its limits before and is set aside for a while';
    this.#failGroup(open, { kind: 'timeout', message, retryAfterMs: remainingMs });
    return true;
  }

  #take(open: Open, answer: Answer): void {
    const { slot, group, result, question, places } = open;
    const { faults } = answer;
    result.results = spread(group.values, places, answer);
    if (faults.length === 0) this.#memo.remember(slot.shelf, question, result.results);
    else {
      const errors = faults.flatMap(({ at, kind, message, offset }) => {
        const position = positionOf(slot.expression, offset);
        const error: EvaluationError = {
          kind,
          message: plainMessage(message, open.values[at], slot.expression.source),
          ...(position && { position }),
        };
        return (places?.[at] ?? [at]).map((place) => ({ at: place, error }));
      });
      result.errors = errors.sort((a, b) => a.at - b.at);
    }
    this.#metrics?.evaluated('value', open.values.length - faults.length);
    for (const { kind } of faults) this.#metrics?.evaluated(kind, 1);
    if (!this.#quarantine.isEmpty) this.#quarantine.succeeded(slot.index, suspicionOf(open));
  }

  #failGroup({ group, result, values }: Open, error: EvaluationError): void {
    result.results = [...group.values];
    result.errors = group.values.map((_, at) => ({ at, error }));
    this.#metrics?.evaluated(error.kind, values.length);
  }
}

function positionOf({ source, tree }: CompiledExpression, offset: number): EvaluationError['position'] {
  const index = offset < 0 ? undefined : sourceIndexAt(source, tree, offset);
  return index === undefined ? undefined : placeOf(source, index);
}

function setupOf(options: EvaluatorOptions, use: ContextUse): SandboxSetup {
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

/** All that the results of a group can depend on. */
function questionOf(slot: Slot, { values, missing, paths }: ValueGroup, request: EvaluationRequest): Question {
  const { usesPath } = slot.expression;
  const seesObjects = slot.hostUse !== undefined || slot.virtualUse !== undefined;
  if (!seesObjects && !usesPath && missing === undefined) return question(values, '');
  const host = seenOf(request.hostObject, slot.hostUse);
  const virtual = seenOf(request.virtualObject, slot.virtualUse);
  return question(
    values,
    JSON.stringify([host, virtual, usesPath ? paths : null, missing === undefined ? null : [...missing]]),
  );
}

/** Whether a value has the same result wherever it stands in the list; objects would have to be compared part by part. */
function areAlikeAnywhere({ expression }: Slot, { missing }: ValueGroup, { json }: Question): boolean {
  return json === undefined && missing === undefined && !expression.usesPath;
}

function seenOf(object: unknown, use: ContextUse | undefined): unknown {
  return use === undefined ? null : (project(object, use) ?? null);
}

/** What a group was asked, as far as it is needed to know it again: values can be a megabyte each, and many are remembered. */
function suspicionOf({ question: { values, json, extra }, subject }: Open): Suspicion {
  const key = createHash('sha256')
    .update(json ?? JSON.stringify(values))
    .update(extra)
    .digest('base64');
  return { subject: subject ?? key, key };
}

function errorOf(outcome: SandboxOutcome & { kind: 'timeout' | 'memory' | 'crash' }): EvaluationError {
  switch (outcome.kind) {
    case 'timeout':
      return { kind: 'timeout', message: 'expression did not finish in time, twice' };
    case 'memory':
      return { kind: 'memory', message: `expression needed more than ${sandboxLimits.isolateMemoryMb} MB, twice` };
    case 'crash':
      return { kind: 'crash', message: plainMessage(outcome.message, undefined) };
    default:
      return outcome satisfies never;
  }
}
