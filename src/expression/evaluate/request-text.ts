// Writes what the sandbox is asked, as text: the values of each group by the number of its expression, and of the objects what
// the expressions of the configuration name. All that an answer can depend on is in it, and nothing else leaves the daemon.
import type { CompiledExpression } from '../language/compile.ts';
import { type ContextUse, emptyUse, mergeUse, project, useOf } from '../language/context-use.ts';
import type { EvaluationRequest, ValueGroup } from './request.ts';

interface Slot {
  expression: CompiledExpression;
  index: number;
  usesPath: boolean;
  hostUse: ContextUse | undefined;
  virtualUse: ContextUse | undefined;
}

export class RequestWriter {
  readonly #slots: Slot[];
  readonly #slotOfExpression: ReadonlyMap<CompiledExpression, Slot>;
  readonly #hostUse = emptyUse();
  readonly #virtualUse = emptyUse();

  constructor(expressions: readonly CompiledExpression[]) {
    this.#slots = expressions.map((expression, index) => slotOf(expression, index));
    this.#slotOfExpression = new Map(this.#slots.map((slot) => [slot.expression, slot]));
    for (const { hostUse, virtualUse } of this.#slots) {
      if (hostUse !== undefined) mergeUse(this.#hostUse, hostUse);
      if (virtualUse !== undefined) mergeUse(this.#virtualUse, virtualUse);
    }
  }

  indexOf(expression: CompiledExpression): number {
    return this.#slotOf(expression).index;
  }

  textOf({ groups, hostObject, virtualObject }: EvaluationRequest): string {
    let [usesHost, usesVirtual] = [false, false];
    const request: unknown[] = [null, null];
    for (const [at, group] of groups.entries()) {
      const slot = this.#slotOf(group.expression, at);
      usesHost ||= slot.hostUse !== undefined;
      usesVirtual ||= slot.virtualUse !== undefined;
      addGroup(request, slot, group);
    }
    // The same for all groups, so that an object that many of them see is sent once.
    if (usesHost) request[0] = seenOf(hostObject, this.#hostUse);
    if (usesVirtual) request[1] = seenOf(virtualObject, this.#virtualUse);
    return JSON.stringify(request);
  }

  /** All that the results of one group can depend on, and nothing that only others see. */
  textOfOne(group: ValueGroup, { hostObject, virtualObject }: EvaluationRequest): string {
    const slot = this.#slotOf(group.expression);
    const request = [seenOf(hostObject, slot.hostUse), seenOf(virtualObject, slot.virtualUse)];
    addGroup(request, slot, group);
    return JSON.stringify(request);
  }

  /** Most requests hold the expressions in the order of the configuration, and a look there is quicker. */
  #slotOf(expression: CompiledExpression, near = 0): Slot {
    const likely = this.#slots[near];
    const slot = likely?.expression === expression ? likely : this.#slotOfExpression.get(expression);
    if (slot === undefined)
      throw new Error(`evaluate: wanted an expression of this configuration, got "${expression.source}"`);
    return slot;
  }
}

function slotOf(expression: CompiledExpression, index: number): Slot {
  const { context, usesPath } = expression;
  return {
    expression,
    index,
    usesPath,
    hostUse: useOf(context, 'hostObject'),
    virtualUse: useOf(context, 'virtualObject'),
  };
}

/** All in one list, as a list for each group would have to be made here and there. */
function addGroup(request: unknown[], { index, usesPath }: Slot, { values, missing, paths }: ValueGroup): void {
  if (!usesPath && missing === undefined) {
    request.push(index, values);
    return;
  }
  const exists = missing === undefined ? 0 : values.map((_, at) => (missing.has(at) ? 0 : 1));
  request.push(-1 - index, values, exists, usesPath ? values.map((_, at) => paths?.[at] ?? '') : 0);
}

function seenOf(object: unknown, use: ContextUse | undefined): unknown {
  return use === undefined ? null : (project(object, use) ?? null);
}
