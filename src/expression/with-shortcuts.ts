// An evaluator in front of another one: answers the groups whose expression is of the simplest kind, and hands on the rest.
// A group is answered as a whole or not at all, so every error and every limit is the other one's to tell.
import type { CompiledExpression } from './compile.ts';
import type { EvaluationRequest, Evaluator, GroupResult, ValueGroup } from './evaluator.ts';
import type { ExpressionMetrics } from './expression-metrics.ts';
import { shortcutLimits } from './limits.ts';
import { type Shortcut, type Sight, shortcutOf } from './shortcut.ts';
import { unknown } from './shortcut-operators.ts';

export interface ShortcutOptions {
  expressions: readonly CompiledExpression[];
  /** context.vcluster. */
  vcluster: unknown;
  metrics?: Pick<ExpressionMetrics, 'shortcut'>;
}

export function withShortcuts(evaluator: Evaluator, options: ShortcutOptions): Evaluator {
  return new ShortcutEvaluator(evaluator, options);
}

class ShortcutEvaluator implements Evaluator {
  readonly #inner: Evaluator;
  readonly #shortcuts = new Map<CompiledExpression, Shortcut>();
  readonly #vcluster: unknown;
  readonly #metrics: ShortcutOptions['metrics'];
  /** What is left of a share since the loop was last given a turn. */
  #room: number = shortcutLimits.room;
  #turn: Promise<void> | undefined;

  constructor(inner: Evaluator, { expressions, vcluster, metrics }: ShortcutOptions) {
    this.#inner = inner;
    // As it comes to the sandbox: what JSON cannot hold is null.
    this.#vcluster = JSON.parse(JSON.stringify(vcluster));
    this.#metrics = metrics;
    for (const expression of expressions) {
      const shortcut = shortcutOf(expression);
      if (shortcut !== undefined) this.#shortcuts.set(expression, shortcut);
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

  async evaluate(request: EvaluationRequest): Promise<GroupResult[]> {
    const { hostObject, virtualObject, groups } = request;
    const context = {
      vcluster: this.#vcluster,
      hostObject: hostObject ?? null,
      virtualObject: virtualObject ?? null,
      path: '',
    };
    const open: ValueGroup[] = [];
    const known: (unknown[] | undefined)[] = [];
    let count = 0;
    for (const group of groups) {
      const shortcut = this.#shortcuts.get(group.expression);
      const cost = (shortcut?.steps ?? 0) * group.values.length;
      let results: unknown[] | undefined;
      if (shortcut !== undefined && group.values.length <= shortcutLimits.values) {
        while (cost > this.#room) await this.#nextTurn();
        // Also where it turns out not to be known.
        this.#room -= cost;
        results = answersOf(shortcut, group, context);
      }
      if (results === undefined) open.push(group);
      else count += results.length;
      known.push(results);
    }
    this.#metrics?.shortcut(count);
    const asked = open.length > 0 ? await this.#inner.evaluate({ ...request, groups: open }) : [];
    let next = 0;
    return known.map((results) =>
      results === undefined ? (asked[next++] as GroupResult) : { results, errors: noErrors },
    );
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

/** Undefined when one of them is not known. */
function answersOf(
  shortcut: Shortcut,
  { values, missing, paths }: ValueGroup,
  context: Sight['context'],
): unknown[] | undefined {
  const results: unknown[] = [];
  for (let at = 0; at < values.length; at++) {
    const result = shortcut.answer({
      value: values[at],
      valueExists: missing?.has(at) !== true,
      context: paths === undefined ? context : { ...context, path: paths[at] ?? '' },
    });
    if (result === unknown) return undefined;
    results.push(result);
  }
  return results;
}
