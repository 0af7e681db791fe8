// Finds the first entry that removes a label or annotation on the way to the host, while the annotation in which `kubectl apply`
// keeps the whole object still shows it there. Pure.
import type { AnyNode } from 'acorn';
import { childrenOf } from '../../../expression/language/scope.ts';
import type { KeyRules } from '../../plan/keys/key-rules.ts';
import { lastAppliedKey } from '../../plan/keys/reserved-keys.ts';
import type { CompiledPatch } from '../set/patch-set.ts';

/** Undefined when no entry hides a key, or when the annotation does not reach the host either. */
export function firstHidingPatch(
  patches: readonly CompiledPatch[],
  { annotations }: { annotations: KeyRules },
): CompiledPatch | undefined {
  if (annotations.toHost(lastAppliedKey) === undefined || patches.some(patchesLastApplied)) return undefined;
  return patches.find((patch) => hidesKey(patch) && !flowsBack(patch, patches));
}

function patchesLastApplied({ forward, path }: CompiledPatch): boolean {
  return (
    forward !== undefined && path.segments.some((segment) => segment.kind === 'key' && segment.key === lastAppliedKey)
  );
}

/** A patch with a way back gives the value another form; what flows both ways is no secret. */
function flowsBack(patch: CompiledPatch, patches: readonly CompiledPatch[]): boolean {
  return patches.some((one) => one.back !== undefined && one.path.canonical === patch.path.canonical);
}

function hidesKey({ forward, path }: CompiledPatch): boolean {
  const [root, map] = path.segments;
  if (forward === undefined || root?.kind !== 'key' || root.key !== 'metadata' || map?.kind !== 'key') return false;
  if (map.key !== 'labels' && map.key !== 'annotations') return false;
  return canRemove(forward.tree);
}

/** Whether one of the results is null or undefined, or a member of a whole map is deleted. */
function canRemove(node: AnyNode): boolean {
  switch (node.type) {
    case 'Literal':
      return node.raw === 'null';
    case 'Identifier':
      return node.name === 'undefined';
    case 'ConditionalExpression':
      return canRemove(node.consequent) || canRemove(node.alternate);
    case 'LogicalExpression':
      return canRemove(node.right);
    case 'SequenceExpression':
      return node.expressions.some(deletesMember) || canRemove(node.expressions.at(-1) as AnyNode);
    case 'UnaryExpression':
      return node.operator === 'void';
    default:
      return deletesMember(node);
  }
}

function deletesMember(node: AnyNode): boolean {
  return (node.type === 'UnaryExpression' && node.operator === 'delete') || [...childrenOf(node)].some(deletesMember);
}
