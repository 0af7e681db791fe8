// An evaluator in front of another one: answers the groups whose expression is of the simplest kind, and hands on the rest.
// A group is answered as a whole or not at all, so every error is the other one's to tell, and every limit but that of all results
// of an object together.
import type { CompiledExpression } from './compile.ts';
import { useOf } from './context-use.ts';
import type { EvaluationRequest, Evaluator, GroupResult, Shortcuts, ValueGroup } from './evaluator.ts';
import type { ExpressionMetrics } from './expression-metrics.ts';
import { shortcutLimits } from './limits.ts';
import { Memo, type MemoOptions, plainQuestion, type Shelf } from './memo.ts';
import { type Shortcut, type Sight, shortcutOf } from './shortcut.ts';
import { unknown } from './shortcut-operators.ts';

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
  /** What it made of many values; undefined where its results hang on more than them. */
  shelf: Shelf | undefined;
}

/** A request on its way: the loop may be given a turn between two groups. */
interface Work {
  request: EvaluationRequest;
  /** One for all values, one after the other. */
  sight: Sight;
  /** Of the groups so far; undefined where the other evaluator is to be asked. */
  results: (GroupResult | undefined)[];
  /** How many of them have been tried. */
  tried: number;
  /** Whether one of them is left to the other evaluator. */
  isOpen: boolean;
  /** Values that were answered, by working it out and by memory. */
  count: number;
  remembered: number;
}

class ShortcutEvaluator implements Evaluator {
  readonly #inner: Evaluator;
  readonly #fronts = new Map<CompiledExpression, Front>();
  readonly #memo: Memo;
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
    this.#memo = new Memo(memo);
    // As it comes to the sandbox: what JSON cannot hold is null.
    this.#vcluster = JSON.parse(JSON.stringify(vcluster));
    this.#metrics = metrics;
    for (const expression of expressions) {
      const shortcut = shortcutOf(expression);
      if (shortcut === undefined) continue;
      const shelf = seesOnlyValues(expression) ? this.#memo.shelf() : undefined;
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
    return this.#goOn({ request, sight, results, tried: 0, isOpen: false, count: 0, remembered: 0 });
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

  #goOn(work: Work): Answered | Promise<Answered> {
    const { request, results } = work;
    const { groups } = request;
    for (; work.tried < groups.length; work.tried++) {
      const group = groups[work.tried] as ValueGroup;
      const front = this.#fronts.get(group.expression);
      const parts = front === undefined ? 0 : front.shortcut.steps * group.values.length;
      let known: readonly unknown[] | undefined;
      if (front !== undefined && parts <= shortcutLimits.parts) {
        if (parts > this.#room) return this.#goOnLater(work, parts);
        // Also where it turns out not to be known.
        this.#take(parts);
        known = this.#knownOf(front, group, work);
      }
      work.isOpen ||= known === undefined;
      results[work.tried] = known && { results: known, errors: noErrors };
    }
    this.#metrics?.shortcut(work.count);
    this.#metrics?.remembered(work.remembered);
    if (!work.isOpen) return results as Answered;
    const open = groups.filter((_, at) => results[at] === undefined);
    const asked = this.#inner.evaluate({ ...request, groups: open });
    return Array.isArray(asked) ? filled(results, asked) : asked.then((told) => filled(results, told));
  }

  #knownOf(front: Front, group: ValueGroup, work: Work): readonly unknown[] | undefined {
    if (group.values.length <= shortcutLimits.fewValues) return workOut(front, group, work);
    // Where the same values can have other results, the evaluator behind it knows what they hang on.
    if (front.shelf === undefined || group.missing !== undefined) return undefined;
    const asked = plainQuestion(group.values, '');
    // Objects would have to be read whole, which takes longer than to work it out.
    if (asked === undefined) return workOut(front, group, work);
    const remembered = this.#memo.recall(front.shelf, asked);
    if (remembered !== undefined) {
      work.remembered += remembered.length;
      return remembered;
    }
    const known = workOut(front, group, work);
    if (known !== undefined) this.#memo.remember(front.shelf, asked, known);
    return known;
  }

  /** The loop is asked for its turn before all is used up, so that nobody waits for it who comes a few at a time. */
  #take(parts: number): void {
    this.#room -= parts;
    if (this.#room < shortcutLimits.room / 2) void this.#nextTurn();
  }

  /** In one loop: a promise for each turn that was waited for would hold all the others until the last. */
  async #goOnLater(work: Work, parts: number): Promise<Answered> {
    while (parts > this.#room) await this.#nextTurn();
    return this.#goOn(work);
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

/** Undefined stands for what is not known here. */
function filled(results: readonly (GroupResult | undefined)[], told: Answered): Answered {
  let next = 0;
  return results.map((result) => result ?? (told[next++] as GroupResult));
}

function seesOnlyValues({ context, usesPath }: CompiledExpression): boolean {
  return !usesPath && useOf(context, 'hostObject') === undefined && useOf(context, 'virtualObject') === undefined;
}

/** Undefined when one of them is not known. */
function workOut({ shortcut }: Front, { values, missing, paths }: ValueGroup, work: Work): unknown[] | undefined {
  const results: unknown[] = new Array(values.length);
  const { sight } = work;
  const { context } = sight;
  for (let at = 0; at < values.length; at++) {
    sight.value = values[at];
    sight.valueExists = missing?.has(at) !== true;
    if (paths !== undefined) sight.context = { ...context, path: paths[at] ?? '' };
    const result = shortcut.answer(sight);
    sight.context = context;
    if (result === unknown) return undefined;
    results[at] = result;
  }
  work.count += results.length;
  return results;
}
