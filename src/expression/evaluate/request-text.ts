// Writes requests to the sandbox as text: the values of each group with the number of its expression, and the fields of both
// objects that the expressions name. The text holds every input that an answer can depend on, and no other data leaves the daemon.
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
    // One projection for all groups, so that an object that many groups read is sent once.
    if (usesHost) request[0] = visiblePart(hostObject, this.#hostUse);
    if (usesVirtual) request[1] = visiblePart(virtualObject, this.#virtualUse);
    return JSON.stringify(request);
  }

  /** The text of one group: only the inputs of this group, without the fields that only other groups read. */
  textOfOne(group: ValueGroup, { hostObject, virtualObject }: EvaluationRequest): string {
    const slot = this.#slotOf(group.expression);
    const request = [visiblePart(hostObject, slot.hostUse), visiblePart(virtualObject, slot.virtualUse)];
    addGroup(request, slot, group);
    return JSON.stringify(request);
  }

  /** Most requests follow the order of the configuration, and an array access there is faster than the map. */
  #slotOf(expression: CompiledExpression, near = 0): Slot {
    const likely = this.#slots[near];
    const slot = likely?.expression === expression ? likely : this.#slotOfExpression.get(expression);
    if (slot === undefined)
      throw new Error(`evaluate: wanted an expression of this configuration, found "${expression.source}"`);
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

/** All groups share one flat list, because a list for each group would cost an allocation on both sides. */
function addGroup(request: unknown[], { index, usesPath }: Slot, { values, missing, paths }: ValueGroup): void {
  if (!usesPath && missing === undefined) {
    request.push(index, values);
    return;
  }
  const exists = missing === undefined ? 0 : values.map((_, at) => (missing.has(at) ? 0 : 1));
  request.push(-1 - index, values, exists, usesPath ? values.map((_, at) => paths?.[at] ?? '') : 0);
}

function visiblePart(object: unknown, use: ContextUse | undefined): unknown {
  return use === undefined ? null : (project(object, use) ?? null);
}
