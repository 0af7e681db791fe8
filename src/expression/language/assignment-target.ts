// Checks the targets of assignments. An expression may assign to its own names, to their members, and to members of value,
// which is a private copy. Any other target would keep state between runs; the frozen realm would refuse it at run time.
import type { Expression, Identifier, MemberExpression, Pattern } from 'acorn';
import { realmLimits } from '../limits.ts';
import { freeNames } from './builtins.ts';
import type { NodeFault } from './expression-fault.ts';
import { rootOf, writtenKey } from './member-chain.ts';
import type { NameScope } from './scope.ts';

/** isPlain: a plain `=`, whose right side the printer can guard. A percent sign in a message becomes the text of the node. */
export function targetFaults(node: Pattern | Expression, scope: NameScope, form: { isPlain: boolean }): NodeFault[] {
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

function nameFaults(node: Identifier, scope: NameScope): NodeFault[] {
  // An unknown name gets its own fault when the walk reads it.
  if (scope.declares(node.name) || !freeNames.has(node.name)) return [];
  const fix =
    node.name === 'value'
      ? 'write the new value itself as the expression, without "value ="; to compare, use "==="'
      : 'declare a name of your own: (() => { const name = …; return name })()';
  return [{ at: node, message: `assignment to "${node.name}"`, fix }];
}

function rootFaults(node: MemberExpression, scope: NameScope): NodeFault[] {
  const root = rootOf(node);
  if (root.type !== 'Identifier' || scope.declares(root.name) || root.name === 'value') return [];
  if (!freeNames.has(root.name)) return [];
  return [
    { at: node, message: `assignment to a member of "${root.name}"`, fix: 'only members of value can be changed' },
  ];
}

/** Large gaps make arrays whose methods can run for hours, and V8 cannot stop them. */
function keyFaults(node: MemberExpression, form: { isPlain: boolean }): NodeFault[] {
  const key = writtenKey(node);
  if (key === 'length' && !form.isPlain) {
    return [{ at: node, message: 'change of the length of an array', fix: 'use slice() or splice()' }];
  }
  if (key !== undefined && /^\d+$/.test(key) && Number(key) > realmLimits.elements) {
    const fix = `use an index up to ${realmLimits.elements}`;
    return [{ at: node, message: `index ${key} leaves a gap in the array`, fix }];
  }
  return [];
}
