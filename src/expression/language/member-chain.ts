// Chains of members in the tree of an expression, `value.a["b"].c`: where they begin, and the keys along them as far as
// those are written out in the source.
import type { AnyNode, MemberExpression } from 'acorn';

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
