// Chains of members in the tree of an expression, `value.a["b"].c`: finds the root of a chain, and the keys that are literals
// in the source.
import type { AnyNode, MemberExpression } from 'acorn';

/** The root of a member chain. With `known`, each link is walked only once, although many chains share it. */
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

/** The keys of a member chain from its root up to the first computed key; a called method does not count. */
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

/** The key of a member, if it is a literal in the source. */
export function writtenKey(node: MemberExpression): string | undefined {
  const { property } = node;
  if (!node.computed) return property.type === 'Identifier' ? property.name : undefined;
  const isLiteral = property.type === 'Literal' && ['string', 'number'].includes(typeof property.value);
  return isLiteral ? String(property.value) : undefined;
}
