// Which part of `context` an expression names. Only that part goes to the sandbox: the configuration may hold passwords,
// the objects may be large, and what an expression cannot see need not be part of what its result is remembered by.
import type { AnyNode, MemberExpression } from 'acorn';

/** A tree of keys; a leaf stands for everything below it. */
export interface ContextUse {
  isWhole: boolean;
  keys: Map<string, ContextUse>;
}

export function emptyUse(): ContextUse {
  return { isWhole: false, keys: new Map() };
}

export function addUse(use: ContextUse, chain: readonly string[]): void {
  let node = use;
  for (const key of chain) {
    if (node.isWhole) return;
    let next = node.keys.get(key);
    if (next === undefined) {
      next = emptyUse();
      node.keys.set(key, next);
    }
    node = next;
  }
  node.isWhole = true;
  node.keys.clear();
}

export function mergeUse(into: ContextUse, other: ContextUse): void {
  const walk = (node: ContextUse, chain: string[]): void => {
    if (node.isWhole) addUse(into, chain);
    for (const [key, next] of node.keys) walk(next, [...chain, key]);
  };
  walk(other, []);
}

/** The use below one key; undefined when nothing there is named. */
export function useOf(use: ContextUse, ...chain: string[]): ContextUse | undefined {
  let node: ContextUse | undefined = use;
  for (const key of chain) {
    if (node?.isWhole) return node;
    node = node?.keys.get(key);
  }
  return node;
}

/** The named part of a value. Lists are taken whole: their length and their gaps are part of what can be seen. */
export function project(value: unknown, use: ContextUse): unknown {
  if (use.isWhole || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const part: Record<string, unknown> = {};
  for (const [key, next] of use.keys) {
    if (key !== '__proto__' && Object.hasOwn(value, key))
      part[key] = project((value as Record<string, unknown>)[key], next);
  }
  return part;
}

/** Where a chain of members begins. With what is known already, each link is walked once however many chains end in it. */
export function rootOf(node: MemberExpression, known = new Map<AnyNode, AnyNode>()): AnyNode {
  const links: AnyNode[] = [];
  let at: AnyNode = node;
  while (!known.has(at) && (at.type === 'MemberExpression' || at.type === 'ChainExpression')) {
    links.push(at);
    at = at.type === 'MemberExpression' ? at.object : at.expression;
  }
  const root = known.get(at) ?? at;
  for (const link of links) known.set(link, root);
  return root;
}

/** The keys from the root of a member chain, as far as they are written out; a method that is called is not one of them. */
export function keysOf(node: MemberExpression, called: boolean): string[] {
  const steps: (string | undefined)[] = [];
  let at: AnyNode = node;
  for (;;) {
    if (at.type === 'ChainExpression') at = at.expression;
    else if (at.type === 'MemberExpression') {
      steps.push(writtenKey(at));
      at = at.object;
    } else break;
  }
  steps.reverse();
  if (called) steps.pop();
  const dynamic = steps.indexOf(undefined);
  return (dynamic < 0 ? steps : steps.slice(0, dynamic)) as string[];
}

/** The key of a member where it is written out in the source. */
export function writtenKey(node: MemberExpression): string | undefined {
  const { property } = node;
  if (!node.computed) return property.type === 'Identifier' ? property.name : undefined;
  const isLiteral = property.type === 'Literal' && ['string', 'number'].includes(typeof property.value);
  return isLiteral ? String(property.value) : undefined;
}
