// What an expression may assign to: names that it declared itself, and members that start at one of those or at value, which
// is a private copy. Anything else would be state, or an attempt at it; the frozen realm would refuse it at run time.
import type { Expression, Identifier, MemberExpression, Pattern } from 'acorn';
import { realmLimits } from '../limits.ts';
import { freeNames } from './builtins.ts';
import type { NodeFault } from './expression-fault.ts';
import { rootOf, writtenKey } from './member-chain.ts';
import type { Scope } from './scope.ts';

/** isPlain: a single `=`, whose right side the printer can guard. In messages a percent sign stands for the text of the node. */
export function targetFaults(node: Pattern | Expression, scope: Scope, form: { isPlain: boolean }): NodeFault[] {
  const below = (part: Pattern | Expression) => targetFaults(part, scope, { isPlain: false });
  switch (node.type) {
    case 'Identifier':
      return nameFaults(node, scope);
    case 'MemberExpression':
      return [...rootFaults(node, scope), ...keyFaults(node, form)];
    case 'ObjectPattern':
      return node.properties.flatMap((part) => below(part.type === 'RestElement' ? part.argument : part.value));
    case 'ArrayPattern':
      return node.elements.flatMap((element) => (element === null ? [] : below(element)));
    case 'RestElement':
      return below(node.argument);
    case 'AssignmentPattern':
      return below(node.left);
    default:
      return [{ at: node, message: '"%" cannot be assigned to', fix: 'assign to a member of value' }];
  }
}

function nameFaults(node: Identifier, scope: Scope): NodeFault[] {
  // An unknown name gets its own fault where the expression reads it.
  if (scope.declares(node.name) || !freeNames.has(node.name)) return [];
  const fix =
    node.name === 'value'
      ? 'write the new value itself as the expression, without "value ="; to compare, use "==="'
      : 'declare a name of your own: (() => { const name = …; return name })()';
  return [{ at: node, message: `assignment to "${node.name}"`, fix }];
}

function rootFaults(node: MemberExpression, scope: Scope): NodeFault[] {
  const root = rootOf(node);
  if (root.type !== 'Identifier' || scope.declares(root.name) || root.name === 'value') return [];
  if (!freeNames.has(root.name)) return [];
  return [
    { at: node, message: `assignment to a member of "${root.name}"`, fix: 'only members of value can be changed' },
  ];
}

/** Gaps make arrays whose methods run for hours without V8 being able to stop them. */
function keyFaults(node: MemberExpression, form: { isPlain: boolean }): NodeFault[] {
  const key = writtenKey(node);
  if (key === 'length' && !form.isPlain) {
    return [{ at: node, message: 'length of an array changed in place', fix: 'use slice() or splice()' }];
  }
  if (key !== undefined && /^\d+$/.test(key) && Number(key) > realmLimits.elements) {
    const fix = `use an index up to ${realmLimits.elements}`;
    return [{ at: node, message: `index ${key} leaves a gap in the array`, fix }];
  }
  return [];
}
