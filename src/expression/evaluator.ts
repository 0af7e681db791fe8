// Runs the expressions of one configuration over the values of one object at a time. In: which expressions there are, what
// context.vcluster is, a sandbox; then per object the matched values of patches that do not overlap. Out: for each value its
// result or an error. Remembers results, sends the rest in one request, finds out which expression a time-out belongs to.
// It must never know what an object means, and never evaluate anything in this process.
import type { Clock } from '../clock.ts';
import type { CompiledExpression } from './compile.ts';
import { type ContextUse, emptyUse, mergeUse, project, useOf } from './context-use.ts';
import { type EvaluationError, plainMessage } from './evaluation-error.ts';
import type { ExpressionMetrics } from './expression-metrics.ts';
import { harnessSource, type SandboxSetup } from './harness.ts';
import { sandboxLimits } from './limits.ts';
import { Memo, type MemoOptions, type Remembered, type Shelf } from './memo.ts';
import { Quarantine } from './quarantine.ts';
import type { Sandbox, SandboxOutcome } from './sandbox.ts';

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
  hostObject: unknown;
  virtualObject: unknown;
  groups: readonly ValueGroup[];
}

export interface GroupResult {
  /** In the order of the values. null deletes; a value with an error stands here unchanged. Nobody else holds the objects. */
  results: unknown[];
  errors: { at: number; error: EvaluationError }[];
}

export interface Evaluator {
  start(): Promise<void>;
  stop(): Promise<void>;
  evaluate(request: EvaluationRequest): Promise<GroupResult[]>;
  /** Expressions that are set aside because they kept running out of time or memory. */
  readonly quarantined: number;
}

interface Slot {
  index: number;
  expression: CompiledExpression;
  shelf: Shelf;
  hostUse: ContextUse | undefined;
  virtualUse: ContextUse | undefined;
}

/** What of one group is not known yet. */
interface Open {
  slot: Slot;
  group: ValueGroup;
  result: GroupResult;
  /** For each value that is sent: where its result goes, first the index in values. */
  places: number[][];
  values: unknown[];
  keys: string[];
  exists: 0 | (0 | 1)[];
  paths: 0 | string[];
}

export function createEvaluator(options: EvaluatorOptions): Evaluator {
  return new SandboxedEvaluator(options);
}

/** Below it, finding equal values costs more than sending them twice. */
const dedupeFrom = 32;

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

  async evaluate(request: EvaluationRequest): Promise<GroupResult[]> {
    const open: Open[] = [];
    const results = request.groups.map((group) => {
      const slot = this.#slotOf(group.expression);
      const result: GroupResult = { results: [...group.values], errors: [] };
      const rest = this.#recall(slot, group, result, this.#contextKey(slot, request));
      if (rest !== undefined) open.push(rest);
      return result;
    });
    if (open.length > 0) await this.#ask(request, open, { isRetry: false });
    for (const { errors } of results) errors.sort((a, b) => a.at - b.at);
    return results;
  }

  #slotOf(expression: CompiledExpression): Slot {
    const slot = this.#slots.get(expression);
    if (slot === undefined)
      throw new Error(`evaluate: wanted an expression of this configuration, got "${expression.source}"`);
    return slot;
  }

  /** What of the objects this expression sees, as part of the keys that its results are remembered by. */
  #contextKey(slot: Slot, request: EvaluationRequest): string {
    if (slot.hostUse === undefined && slot.virtualUse === undefined) return '';
    const seen = [seenOf(request.hostObject, slot.hostUse), seenOf(request.virtualObject, slot.virtualUse)];
    return JSON.stringify(seen);
  }

  /** Fills in what is remembered and gathers the rest. */
  #recall(slot: Slot, group: ValueGroup, result: GroupResult, contextKey: string): Open | undefined {
    const { values, missing, paths } = group;
    const { usesPath } = slot.expression;
    const isPlain = contextKey === '' && !usesPath && missing === undefined;
    let open: Open | undefined;
    let seen: Map<string, number> | undefined;
    for (let at = 0; at < values.length; at++) {
      const value = values[at];
      const isMissing = missing?.has(at) === true;
      const key = isPlain
        ? plainKey(value)
        : `${isMissing ? '?' : '!'}${JSON.stringify(value)}\n${usesPath ? (paths?.[at] ?? '') : ''}\n${contextKey}`;
      const known = this.#memo.get(slot.shelf, key);
      if (known !== undefined) {
        result.results[at] = handOut(known);
        continue;
      }
      open ??= openOf(slot, group, result);
      const twin = seen?.get(key);
      if (twin !== undefined) {
        open.places[twin]?.push(at);
        continue;
      }
      if (values.length >= dedupeFrom) {
        seen ??= new Map();
        seen.set(key, open.values.length);
      }
      add(open, { at, value, key, isMissing, path: paths?.[at] ?? '' });
    }
    this.#metrics?.remembered(values.length - (open?.values.length ?? 0));
    return open;
  }

  async #ask(request: EvaluationRequest, groups: Open[], { isRetry }: { isRetry: boolean }): Promise<void> {
    const asked = groups.filter((open) => !this.#isSetAside(open));
    if (asked.length === 0) return;
    const text = this.#textOf(request, asked);
    if (text === undefined) {
      const message = `values of the object need more than ${sandboxLimits.frameChars} characters`;
      for (const open of asked) this.#failGroup(open, { kind: 'size', message });
      return;
    }
    const outcome = await (this.#sandbox as Sandbox).run(text, { alone: isRetry });
    if (outcome.kind === 'answer') {
      const answers: unknown = JSON.parse(outcome.text);
      for (const [at, open] of asked.entries()) this.#take(open, (answers as Answer[])[at] as Answer);
      return;
    }
    if (outcome.kind === 'unavailable') {
      for (const open of asked) this.#failGroup(open, { kind: 'crash', message: outcome.message });
      return;
    }
    // Each expression gets one more chance, alone and in a fresh isolate: it may have been a slow machine or its neighbour.
    if (!isRetry) {
      for (const open of asked) await this.#ask(request, [open], { isRetry: true });
      return;
    }
    for (const open of asked) {
      this.#quarantine.failed(open.slot.index, suspectKey(open));
      this.#failGroup(open, errorOf(outcome));
    }
  }

  #textOf(request: EvaluationRequest, asked: readonly Open[]): string | undefined {
    const groups = asked.map(({ slot, values, exists, paths }) => [slot.index, values, exists, paths]);
    const usesHost = asked.some(({ slot }) => slot.hostUse !== undefined);
    const usesVirtual = asked.some(({ slot }) => slot.virtualUse !== undefined);
    const host = usesHost ? seenOf(request.hostObject, this.#hostUse) : null;
    const virtual = usesVirtual ? seenOf(request.virtualObject, this.#virtualUse) : null;
    const text = JSON.stringify([groups, host, virtual]);
    return text.length <= sandboxLimits.frameChars ? text : undefined;
  }

  #isSetAside(open: Open): boolean {
    if (this.#quarantine.isEmpty) return false;
    const remainingMs = this.#quarantine.remainingMs(open.slot.index, suspectKey(open));
    if (remainingMs === 0) return false;
    const seconds = Math.ceil(remainingMs / 1_000);
    const message = `not tried: the expression ran out of its limits before and is set aside for another ${seconds} s`;
    this.#failGroup(open, { kind: 'timeout', message });
    return true;
  }

  #take(open: Open, [changed, results, faults]: Answer): void {
    const { slot, result, places } = open;
    const failed = new Set(faults.map(([at]) => at));
    for (let at = 0, next = 0; at < places.length; at++) {
      if (failed.has(at)) continue;
      const isChanged = changed[next] === at;
      const value = isChanged ? results[next++] : open.values[at];
      const known = rememberedOf(value);
      this.#memo.set(slot.shelf, open.keys[at] as string, known);
      if (!isChanged) continue;
      for (const place of places[at] as number[]) result.results[place] = handOut(known);
    }
    for (const [at, kind, message] of faults) {
      const error: EvaluationError = { kind, message: plainMessage(message, open.values[at]) };
      for (const place of places[at] as number[]) result.errors.push({ at: place, error });
    }
    this.#metrics?.evaluated('value', places.length - faults.length);
    for (const [, kind] of faults) this.#metrics?.evaluated(kind, 1);
    if (!this.#quarantine.isEmpty) this.#quarantine.succeeded(slot.index, suspectKey(open));
  }

  #failGroup({ result, places }: Open, error: EvaluationError): void {
    for (const at of places.flat()) result.errors.push({ at, error });
    this.#metrics?.evaluated(error.kind, places.length);
  }
}

/** Of one group: which values changed, their results in the same order, and index, kind and message of those that failed. */
type Answer = [
  changed: number[],
  results: unknown[],
  faults: [at: number, kind: 'threw' | 'size' | 'type', message: string][],
];

function setupOf(options: EvaluatorOptions, use: ContextUse): SandboxSetup {
  return {
    harness: harnessSource(),
    expressions: options.expressions.map(({ code }) => code),
    functions: Object.entries(options.functions ?? {}),
    vcluster: JSON.stringify(project(options.vcluster, use)),
    memoryLimitMb: sandboxLimits.isolateMemoryMb,
    timeoutMs: options.softMs ?? sandboxLimits.softMs,
    callsPerIsolate: sandboxLimits.callsPerIsolate,
  };
}

/** No key is another one's: texts start with a quote and are not escaped, all else is JSON, and context keys have a mark. */
function plainKey(value: unknown): string {
  return typeof value === 'string' ? `"${value}` : JSON.stringify(value);
}

function openOf(slot: Slot, group: ValueGroup, result: GroupResult): Open {
  const exists = group.missing === undefined ? 0 : [];
  return { slot, group, result, places: [], values: [], keys: [], exists, paths: slot.expression.usesPath ? [] : 0 };
}

function add(open: Open, one: { at: number; value: unknown; key: string; isMissing: boolean; path: string }): void {
  open.places.push([one.at]);
  open.values.push(one.value);
  open.keys.push(one.key);
  if (open.exists !== 0) open.exists.push(one.isMissing ? 0 : 1);
  if (open.paths !== 0) open.paths.push(one.path);
}

function seenOf(object: unknown, use: ContextUse | undefined): unknown {
  return use === undefined ? null : (project(object, use) ?? null);
}

function rememberedOf(value: unknown): Remembered {
  if (typeof value === 'object' && value !== null) return { json: JSON.stringify(value) };
  return (value ?? null) as Remembered;
}

function handOut(known: Remembered): unknown {
  return typeof known === 'object' && known !== null ? JSON.parse(known.json) : known;
}

/** What a group was asked, as far as it is needed to know it again. */
function suspectKey(open: Open): string {
  return open.keys.join('\u0000');
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
