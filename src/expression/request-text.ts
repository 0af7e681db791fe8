// Writes what the sandbox is asked, as text: the values of each group by the number of its expression, and of the objects what
// the expressions of the configuration name. All that an answer can depend on is in it, and nothing else leaves the daemon.
import type { CompiledExpression } from './compile.ts';
import { type ContextUse, emptyUse, mergeUse, project, useOf } from './context-use.ts';
import type { EvaluationRequest, ValueGroup } from './request.ts';

interface Slot {
  index: number;
  usesPath: boolean;
  hostUse: ContextUse | undefined;
  virtualUse: ContextUse | undefined;
}

export class RequestWriter {
  readonly #slots = new Map<CompiledExpression, Slot>();
  readonly #hostUse = emptyUse();
  readonly #virtualUse = emptyUse();

  constructor(expressions: readonly CompiledExpression[]) {
    for (const [index, expression] of expressions.entries()) {
      const { context, usesPath } = expression;
      const [hostUse, virtualUse] = [useOf(context, 'hostObject'), useOf(context, 'virtualObject')];
      if (hostUse !== undefined) mergeUse(this.#hostUse, hostUse);
      if (virtualUse !== undefined) mergeUse(this.#virtualUse, virtualUse);
      this.#slots.set(expression, { index, usesPath, hostUse, virtualUse });
    }
  }

  indexOf(expression: CompiledExpression): number {
    return this.#slotOf(expression).index;
  }

  textOf({ groups, hostObject, virtualObject }: EvaluationRequest): string {
    let [usesHost, usesVirtual] = [false, false];
    const request: unknown[] = [null, null];
    for (const group of groups) {
      const slot = this.#slotOf(group.expression);
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

  #slotOf(expression: CompiledExpression): Slot {
    const slot = this.#slots.get(expression);
    if (slot === undefined)
      throw new Error(`evaluate: wanted an expression of this configuration, got "${expression.source}"`);
    return slot;
  }
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
