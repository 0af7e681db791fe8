// The rules for members, calls and `new`: no access to constructors and prototypes, only the kept members of a builtin, and
// nothing that depends on the time or the machine.
import type { CallExpression, MemberExpression, NewExpression } from 'acorn';
import { constructors, freeNames, keptStatics, machineryNames, removedMethods } from './builtins.ts';
import { type NodeFault, shown } from './expression-fault.ts';
import { writtenKey } from './member-chain.ts';
import { unavailable } from './refusals.ts';
import type { NameScope } from './scope.ts';

export function memberFaults(node: MemberExpression, scope: NameScope, source: string): NodeFault[] {
  const key = writtenKey(node);
  const faults: NodeFault[] = [];
  if (key !== undefined && machineryNames.has(key)) {
    faults.push({ at: node.property, message: `"${key}" is not available`, fix: 'expressions work on data only' });
  }
  return [...faults, ...builtinFaults(node, key, scope, source)];
}

function builtinFaults(node: MemberExpression, key: string | undefined, scope: NameScope, source: string): NodeFault[] {
  if (node.object.type !== 'Identifier' || key === undefined || scope.declares(node.object.name)) return [];
  const kept = keptStatics.get(node.object.name);
  if (kept === undefined || kept.includes(key) || machineryNames.has(key) || key === 'name') return [];
  const [message, fix] = unavailable(`${node.object.name}.${key}`, source, node.start);
  return [{ at: node, message, fix }];
}

/** The faults of the call itself; memberFaults() checks its callee. */
export function callFaults(node: CallExpression, scope: NameScope): NodeFault[] {
  const callee = calleeOf(node);
  if (callee.type === 'Identifier' && callee.name === 'Date' && !scope.declares('Date')) {
    const fix = 'results must depend on the object alone; use new Date(text)';
    return [{ at: node, message: 'Date() reads the clock', fix }];
  }
  if (callee.type !== 'MemberExpression') return [];
  const fix = removedMethods.get(writtenKey(callee) ?? '');
  if (fix === undefined) return [];
  return [{ at: callee.property, message: `${writtenKey(callee)}() depends on where it runs`, fix }];
}

export function calleeOf(node: CallExpression): CallExpression['callee'] {
  return node.callee.type === 'ChainExpression' ? node.callee.expression : node.callee;
}

export function constructionFaults(node: NewExpression, scope: NameScope, source: string): NodeFault[] {
  const { callee } = node;
  const name = callee.type === 'Identifier' && !scope.declares(callee.name) ? callee.name : undefined;
  if (name === undefined || !constructors.has(name)) {
    if (name !== undefined && !freeNames.has(name)) return [];
    const message = `new ${shown(source.slice(callee.start, callee.end))} is not available`;
    return [{ at: node, message, fix: `only ${[...constructors].join(', ')}` }];
  }
  if (name !== 'Date' || node.arguments.length > 0) return [];
  const fix = 'results must depend on the object alone; use new Date(text)';
  return [{ at: node, message: 'new Date() reads the clock', fix }];
}
