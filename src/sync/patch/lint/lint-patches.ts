// Warns of patches that are allowed and still most likely mistakes: paths that can never match, entries that overlap, keys
// that have another name on the host, and the findings of the expression lint. Pure.

import type { AnyNode } from 'acorn';
import type { FaultWords } from '../../../config/fault.ts';
import type { Steps } from '../../../config/steps.ts';
import { type CompiledExpression, compileExpression } from '../../../expression/language/compile.ts';
import { type ExpressionWarning, shown } from '../../../expression/language/expression-fault.ts';
import { lintExpression } from '../../../expression/language/lint.ts';
import { childrenOf } from '../../../expression/language/scope.ts';
import { pathText, type Segment, segmentsText } from '../../../expression/path/path-grammar.ts';
import { overlaps } from '../../../expression/path/path-overlap.ts';
import { labelKeyProblems } from '../../../object/meta/qualified-name.ts';
import type { KeyRules } from '../../plan/keys/key-rules.ts';
import { lastAppliedKey } from '../../plan/keys/reserved-keys.ts';
import type { Shape, SyncedKind } from '../../plan/kind.ts';
import type { CompiledPatch } from '../set/patch-set.ts';
import { reach } from '../set/reach.ts';

export type PatchWarning = FaultWords & {
  index: number;
  field: 'path' | 'expression' | 'reverseExpression';
  /** Line and column in the text of that field, from 1. */
  line: number;
  column: number;
  /** Stable name of the rule. */
  rule: string;
  fix: string;
};

export interface LintContext {
  kind: SyncedKind;
  /** Undefined when the configuration has faults. */
  rules: { labels: KeyRules; annotations: KeyRules } | undefined;
}

/** One patch is one step. */
export function* lintPatches(patches: readonly CompiledPatch[], { kind, rules }: LintContext): Steps<PatchWarning[]> {
  const warnings: PatchWarning[] = [];
  const hiding = rules && firstHidingPatch(patches, rules);
  for (const [at, patch] of patches.entries()) {
    warnings.push(
      ...lintReach(patch, kind),
      ...lintTranslation(patch, kind),
      ...(rules === undefined ? [] : lintKey(patch, rules)),
      ...lintOverlap(patch, { earlier: patches.slice(0, at), kind }),
      ...(patch === hiding ? [lintHidden(patch)] : []),
      ...lintTexts(patch),
    );
    yield;
  }
  return warnings;
}

function atPath(patch: CompiledPatch, parts: FaultWords & { rule: string; fix: string }): PatchWarning {
  return { index: patch.index, field: 'path', line: 1, column: 1, ...parts };
}

function lintReach(patch: CompiledPatch, kind: SyncedKind): PatchWarning[] {
  const { segments } = patch.path;
  const reached = reach(segments, kind);
  if (reached.kind === 'reached') return [];
  const wrong = segments[reached.at] as Segment;
  const parent = segmentsText(segments.slice(0, reached.at));
  const name = wrong.kind === 'every' ? 'elements' : `"${wrong.key}"`;
  const sentence = `no ${kind.kind} has ${name} below ${parent}, which ${whatItIs(reached.parent)}`;
  return [atPath(patch, { rule: 'no-such-field', sentence, fix: fixOf(reached, segments) })];
}

/** A reference patch needs a text for the name, a labels patch a label map or a selector. */
function lintTranslation(patch: CompiledPatch, kind: SyncedKind): PatchWarning[] {
  const { segments } = patch.path;
  const { reference } = patch;
  if (reference === undefined && !patch.isLabels) return [];
  const name = reference?.namePath;
  const whole = name === undefined ? segments : [...segments, ...name.segments];
  const reached = reach(whole, kind);
  if (patch.isLabels && isOwnLabels(segments)) {
    const sentence =
      'a labels patch rewrites the keys of a selector to their host names; the keys of metadata.labels are rewritten already';
    const fix = 'remove the entry; to set or change a label, write an expression instead of labels';
    return [atPath(patch, { rule: 'own-labels', sentence, fix })];
  }
  // lintReach() warns of the path itself.
  if (reached.kind === 'nowhere' && reached.at < segments.length) return [];
  const fits = (shape: Shape): boolean =>
    shape.kind === 'scalar' || (patch.isLabels && shape.kind === 'map' && shape.of.kind === 'scalar');
  if (reached.kind === 'reached' && reached.shapes.some(fits)) return [];
  const place = segmentsText(whole) || 'the whole object';
  if (patch.isLabels) {
    const sentence = `a labels patch needs a label map or a selector, and ${place} can hold neither`;
    const selectorFix = 'name the label map, or the key that holds the selector';
    return [atPath(patch, { rule: 'no-selector', sentence, fix: selectorFix })];
  }
  const fix = name === undefined ? 'add namePath, or end the path at the name' : 'let namePath end at the name';
  return [atPath(patch, { rule: 'no-name', sentence: `a reference is a text, and ${place} is never a text`, fix })];
}

/** The object's own labels; a labels patch is for a selector, which names the labels of other objects. */
function isOwnLabels([root, map]: readonly Segment[]): boolean {
  return root?.kind === 'key' && root.key === 'metadata' && map?.kind === 'key' && map.key === 'labels';
}

function whatItIs(parent: string): string {
  if (parent === 'list') return 'is a list';
  return parent === 'scalar' ? 'is a single value' : 'has no such field';
}

function fixOf(reached: { at: number; parent: string; fields: string[] }, segments: readonly Segment[]): string {
  const wrong = segments[reached.at];
  const digits = wrong?.kind === 'key' ? /^\+?(\d+)$/.exec(wrong.key.trim())?.[1] : undefined;
  const index = digits?.replace(/^0+(?=\d)/, '');
  if (reached.parent === 'list') return `write ${segmentsText(segments.slice(0, reached.at))}[${index ?? '*'}]`;
  if (reached.parent === 'object') return `the fields are ${reached.fields.join(', ')}`;
  const [root, map, ...rest] = segments.map((segment) => (segment.kind === 'key' ? segment.key : '*'));
  // Most annotation keys have dots, and a dot in a path leads one level down.
  if (root === 'metadata' && !rest.includes('*'))
    return `write metadata.${map}["${rest.join('.')}"] if that is one key`;
  return 'end the path there';
}

/** Keys of labels and annotations that cannot exist, are not synced, or have another name on the host. */
function lintKey(patch: CompiledPatch, rules: NonNullable<LintContext['rules']>): PatchWarning[] {
  const [root, map, key] = patch.path.segments;
  if (root?.kind !== 'key' || root.key !== 'metadata' || map?.kind !== 'key' || key?.kind !== 'key') return [];
  if (map.key !== 'labels' && map.key !== 'annotations') return [];
  const [problem] = labelKeyProblems(map.key === 'labels' ? key.key : key.key.toLowerCase());
  if (problem !== undefined) {
    const sentence = `${JSON.stringify(key.key)} is not a valid ${map.key === 'labels' ? 'label' : 'annotation'} key`;
    const fix = 'write an optional domain and "/", then at most 63 letters, digits, "-", "_" and "."';
    return [atPath(patch, { rule: 'no-such-key', sentence, fix })];
  }
  const keys = rules[map.key];
  // Patches see the host's keys, in both directions.
  const virtualKey = keys.toVirtual(key.key);
  if (virtualKey === undefined) {
    const hostKey = keys.toHost(key.key);
    if (hostKey === undefined) {
      const sentence = `"${key.key}" is synced in neither direction`;
      return [atPath(patch, { rule: 'key-stays', sentence, fix: 'remove the entry' })];
    }
    const sentence = `the label "${key.key}" is called "${hostKey}" on the host`;
    const fix = `write ${pathText(['metadata', map.key])}["${hostKey}"]`;
    return [atPath(patch, { rule: 'rewritten-key', sentence, fix })];
  }
  if (patch.back === undefined || keys.flowsBack(virtualKey)) return [];
  const sentence = `"${key.key}" never flows back, so its reverse expression never runs`;
  const parts = { rule: 'never-back', sentence, fix: 'remove it' };
  return [{ ...atPath(patch, parts), field: 'reverseExpression' }];
}

/** Said once for all entries: the mending is the same for all of them. */
function lintHidden(patch: CompiledPatch): PatchWarning {
  const sentence = `this value stays off the host, but kubectl apply repeats it in the annotation "${lastAppliedKey}", which goes there`;
  const fix =
    'name that annotation in hostward.exclude.annotations, or in an entry with the expression null; both also take it off copies that have it';
  return atPath(patch, { rule: 'shown-by-annotation', sentence, fix });
}

function lintOverlap(
  patch: CompiledPatch,
  { earlier, kind }: { earlier: readonly CompiledPatch[]; kind: SyncedKind },
): PatchWarning[] {
  // The configuration reports the same path twice as a fault.
  const other = earlier.find(
    (one) => one.entry.path !== patch.entry.path && sharesDirection(one, patch) && overlaps(one.path, patch.path),
  );
  if (other === undefined) return [];
  const canJoin = [other, patch].every((one) => one.reference === undefined && !one.isLabels);
  const isBack = [other, patch].every((one) => one.back !== undefined || one.reference !== undefined);
  const isSame = other.path.canonical === patch.path.canonical;
  const list = `${kind.settingsPath}.patches`;
  const sentence = isSame
    ? `${list}[${other.index}] patches the same path in another spelling`
    : `${list}[${other.index}] (${shown(other.entry.path) || '""'}) patches some of the same values; entries run in the order of the list${isBack ? ', also on the way back' : ''}`;
  const fix =
    isSame && canJoin
      ? 'join the two entries into one'
      : `${canJoin ? 'join them' : 'keep one of them'}, or make sure that the order is intended`;
  return [atPath(patch, { rule: 'overlap', sentence, fix })];
}

function sharesDirection(one: CompiledPatch, other: CompiledPatch): boolean {
  const [a, b] = [directionsOf(one), directionsOf(other)];
  return (a.forward && b.forward) || (a.back && b.back);
}

function directionsOf(patch: CompiledPatch): { forward: boolean; back: boolean } {
  const isTranslation = patch.reference !== undefined || patch.isLabels;
  return { forward: isTranslation || patch.forward !== undefined, back: isTranslation || patch.back !== undefined };
}

/** Rules that the lint of the configuration reports, because it also knows whether the entry sets onMissing. */
const saidElsewhere = new Set(['value-exists']);

function lintTexts(patch: CompiledPatch): PatchWarning[] {
  const { onMissing } = patch.entry;
  const of = (field: 'expression' | 'reverseExpression'): PatchWarning[] => {
    const expression = field === 'expression' ? patch.forward : patch.back;
    if (expression === undefined) return [];
    const direction = field === 'expression' ? 'forward' : 'back';
    // A reverse expression runs on existing keys only; onMissing is for the forward direction.
    const site = { direction, onMissing: direction === 'back' ? 'skip' : onMissing } as const;
    return lintExpression(expression, site)
      .concat(lintQuotes(expression))
      .filter(({ rule }) => !saidElsewhere.has(rule))
      .map((warning) => placed(patch.index, field, warning));
  };
  return [...of('expression'), ...of('reverseExpression')];
}

/** Quotes inside the quotes of YAML make the expression a string that evaluates to its own text. */
function lintQuotes({ tree }: CompiledExpression): ExpressionWarning[] {
  if (tree.type !== 'Literal' || typeof tree.value !== 'string') return [];
  const inner = tree.value;
  const isExpression = /\bvalue\b|\bcontext\./.test(inner) && compileExpression(inner).kind === 'ok';
  if (!isExpression) return [];
  const message = 'this string looks like an expression, but evaluates to its own text';
  return [{ line: 1, column: 1, rule: 'quoted-expression', message, fix: `write ${shown(inner)} without its quotes` }];
}

function placed(index: number, field: PatchWarning['field'], warning: ExpressionWarning): PatchWarning {
  const { line, column, rule, message, fix } = warning;
  return { index, field, line, column, rule, sentence: message, fix };
}

/**
 * The first entry that removes a key on the way to the host, while the annotation in which `kubectl apply` keeps the whole object still
 * shows it there. Undefined when no entry hides a key, or when the annotation does not reach the host either.
 */
function firstHidingPatch(
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
