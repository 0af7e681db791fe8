// An evaluator in front of another one: answers the groups whose expression is of the simplest kind, and hands on the rest.
// A group is answered as a whole or not at all, so every error is the other one's to tell, and every limit but that of all results
// of an object together.
import type { CompiledExpression } from './compile.ts';
import { useOf } from './context-use.ts';
import type { Evaluator, Shortcuts } from './evaluator.ts';
import type { ExpressionMetrics } from './expression-metrics.ts';
import { shortcutLimits } from './limits.ts';
import { ListMemo } from './list-memo.ts';
import type { MemoOptions } from './memo.ts';
import { type EvaluationRequest, filled, type GroupResult, type ValueGroup } from './request.ts';
import { type Shortcut, type Sight, shortcutOf } from './shortcut.ts';
import { type Plain, unknown } from './shortcut-operators.ts';

export interface ShortcutOptions {
  expressions: readonly CompiledExpression[];
  /** context.vcluster. */
  vcluster: unknown;
  metrics?: Pick<ExpressionMetrics, 'shortcut' | 'remembered'>;
  memo?: MemoOptions;
}

export function withShortcuts(evaluator: Evaluator, options: ShortcutOptions): Evaluator {
  return new ShortcutEvaluator(evaluator, options);
}

type Answered = GroupResult[];

interface Front {
  shortcut: Shortcut;
  /** Where what it made of many values is remembered; undefined where its results hang on more than them. */
  shelf: number | undefined;
}

/** A request on its way: the loop may be given a turn between any two values. */
interface Work {
  request: EvaluationRequest;
  /** One for all values, one after the other. */
  sight: Sight;
  /** Of the groups so far; undefined where the other evaluator is to be asked. */
  results: (GroupResult | undefined)[];
  /** How many of them have been tried. */
  tried: number;
  /** The group that is being worked out. */
  begun: Begun | undefined;
  /** Whether one of them is left to the other evaluator. */
  isOpen: boolean;
  /** Values that were answered, by working it out and by memory. */
  count: number;
  remembered: number;
}

interface Begun {
  results: Plain[];
  /** How many values have theirs. */
  count: number;
}

/** The loop is to be given its turn first. */
const later = Symbol('later');

class ShortcutEvaluator implements Evaluator {
  readonly #inner: Evaluator;
  readonly #fronts = new Map<CompiledExpression, Front>();
  readonly #memo: ListMemo;
  readonly #vcluster: unknown;
  readonly #metrics: ShortcutOptions['metrics'];
  readonly shortcuts: Shortcuts = {
    of: (expression) => this.#fronts.get(expression)?.shortcut,
    sightOf: (objects) => this.#sightOf(objects),
    hasRoomFor: (parts) => parts <= this.#room,
    ran: (parts, values) => {
      this.#take(parts);
      this.#metrics?.shortcut(values);
    },
  };
  /** What is left of a share since the loop was last given a turn. */
  #room: number = shortcutLimits.room;
  #turn: Promise<void> | undefined;

  constructor(inner: Evaluator, { expressions, vcluster, metrics, memo }: ShortcutOptions) {
    this.#inner = inner;
    this.#memo = new ListMemo(memo);
    // As it comes to the sandbox: what JSON cannot hold is null.
    this.#vcluster = JSON.parse(JSON.stringify(vcluster));
    this.#metrics = metrics;
    for (const [index, expression] of expressions.entries()) {
      const shortcut = shortcutOf(expression);
      if (shortcut === undefined) continue;
      const shelf = seesOnlyValues(expression) ? index : undefined;
      this.#fronts.set(expression, { shortcut, shelf });
    }
  }

  get quarantined(): number {
    return this.#inner.quarantined;
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  stop(): Promise<void> {
    return this.#inner.stop();
  }

  evaluate(request: EvaluationRequest): Answered | Promise<Answered> {
    const results = new Array<GroupResult | undefined>(request.groups.length);
    const sight = this.#sightOf(request);
    const work = { request, sight, results, tried: 0, begun: undefined, isOpen: false, count: 0, remembered: 0 };
    return this.#goOn(work) === later ? this.#goOnLater(work) : this.#answered(work);
  }

  #sightOf({ hostObject, virtualObject }: Parameters<Shortcuts['sightOf']>[0]): Sight {
    const context = {
      vcluster: this.#vcluster,
      hostObject: hostObject ?? null,
      virtualObject: virtualObject ?? null,
      path: '',
    };
    return { value: undefined, valueExists: true, context };
  }

  #goOn(work: Work): typeof later | undefined {
    const { request, results } = work;
    const { groups } = request;
    for (; work.tried < groups.length; work.tried++) {
      const group = groups[work.tried] as ValueGroup;
      const front = this.#fronts.get(group.expression);
      const isOurs = front !== undefined && partsOf(front, group) <= shortcutLimits.parts;
      const known = isOurs ? this.#knownOf(front, group, work) : undefined;
      if (known === later) return later;
      work.isOpen ||= known === undefined;
      results[work.tried] = known && { results: known, errors: noErrors };
    }
    return undefined;
  }

  #answered({ request, results, isOpen, count, remembered }: Work): Answered | Promise<Answered> {
    this.#metrics?.shortcut(count);
    this.#metrics?.remembered(remembered);
    if (!isOpen) return results as Answered;
    const open = request.groups.filter((_, at) => results[at] === undefined);
    const asked = this.#inner.evaluate({ ...request, groups: open });
    return asked instanceof Promise ? asked.then((told) => filled(results, told)) : filled(results, asked);
  }

  /** Undefined when one of the values is for the other evaluator. */
  #knownOf(front: Front, group: ValueGroup, work: Work): readonly unknown[] | typeof later | undefined {
    // A look into the memory takes its time as well.
    if (this.#roomFor(front, group) < 1) return later;
    const shelf = shelfOf(front, group);
    if (work.begun === undefined) {
      const remembered = shelf === undefined ? undefined : this.#memo.recall(shelf, group.values);
      if (remembered !== undefined) {
        this.#take(remembered.length);
        work.remembered += remembered.length;
        return remembered;
      }
      work.begun = { results: new Array(group.values.length), count: 0 };
    }
    const { begun } = work;
    const known = this.#workOut(front, group, { work, begun });
    if (known === later) return later;
    work.begun = undefined;
    if (!known) return undefined;
    work.count += begun.count;
    if (shelf !== undefined) this.#memo.remember(shelf, group.values, begun.results);
    return begun.results;
  }

  /** As many values as there is room for. */
  #workOut(front: Front, group: ValueGroup, { work, begun }: { work: Work; begun: Begun }): boolean | typeof later {
    const { steps } = front.shortcut;
    const left = group.values.length - begun.count;
    const fitting = Math.min(left, Math.floor(this.#roomFor(front, group) / steps));
    if (fitting > 0) {
      // Also where it turns out not to be known.
      this.#take(fitting * steps);
      if (!workOut(front, group, { sight: work.sight, begun, until: begun.count + fitting })) return false;
    }
    return fitting < left ? later : true;
  }

  #roomFor(front: Front, group: ValueGroup): number {
    return partsOf(front, group) > shortcutLimits.kept ? this.#room - shortcutLimits.kept : this.#room;
  }

  /** The loop is asked for its turn before all is used up, so that nobody waits for it who comes a few at a time. */
  #take(parts: number): void {
    this.#room -= parts;
    if (this.#room < shortcutLimits.room / 2) void this.#nextTurn();
  }

  /** In one loop: a promise for each turn that was waited for would hold all the others until the last. */
  async #goOnLater(work: Work): Promise<Answered> {
    do {
      const group = work.request.groups[work.tried] as ValueGroup;
      const front = this.#fronts.get(group.expression) as Front;
      while (this.#roomFor(front, group) < front.shortcut.steps) await this.#nextTurn();
    } while (this.#goOn(work) === later);
    return this.#answered(work);
  }

  /** Nothing here waits for anybody else: without this, objects upon objects and patches upon patches would be one long turn. */
  #nextTurn(): Promise<void> {
    this.#turn ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#room = shortcutLimits.room;
        this.#turn = undefined;
        resolve();
      });
    });
    return this.#turn;
  }
}

const noErrors: GroupResult['errors'] = [];

function seesOnlyValues({ context, usesPath }: CompiledExpression): boolean {
  return !usesPath && useOf(context, 'hostObject') === undefined && useOf(context, 'virtualObject') === undefined;
}

function partsOf({ shortcut }: Front, { values }: ValueGroup): number {
  return shortcut.steps * values.length;
}

/** Where many values are remembered, when their results hang on nothing else. */
function shelfOf({ shelf }: Front, { values, missing }: ValueGroup): number | undefined {
  return missing === undefined && values.length > shortcutLimits.fewValues ? shelf : undefined;
}

/** False when one of them is not known. */
function workOut(
  { shortcut }: Front,
  { values, missing, paths }: ValueGroup,
  { sight, begun, until }: { sight: Sight; begun: Begun; until: number },
): boolean {
  const { answer } = shortcut;
  const { results } = begun;
  const { context } = sight;
  sight.valueExists = true;
  for (let at = begun.count; at < until; at++) {
    sight.value = values[at];
    if (missing !== undefined) sight.valueExists = !missing.has(at);
    if (paths !== undefined) sight.context = { ...context, path: paths[at] ?? '' };
    const result = answer(sight);
    if (result === unknown) {
      sight.context = context;
      return false;
    }
    results[at] = result;
  }
  sight.context = context;
  begun.count = until;
  return true;
}
