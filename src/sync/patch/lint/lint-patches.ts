// What is allowed in a list of patches and still most likely a mistake: paths that can never match, entries that get into
// each other's way, keys that have another name on the host, and what the lint of expressions finds. Pure.

import type { FaultWords } from '../../../config/fault.ts';
import type { Steps } from '../../../config/steps.ts';
import { type CompiledExpression, compileExpression } from '../../../expression/language/compile.ts';
import { type ExpressionWarning, shown } from '../../../expression/language/expression-fault.ts';
import { lintExpression } from '../../../expression/language/lint.ts';
import { pathText, type Segment, segmentsText } from '../../../expression/path/path-grammar.ts';
import { overlaps } from '../../../expression/path/path-overlap.ts';
import { labelKeyProblems } from '../../../object/meta/qualified-name.ts';
import type { KeyRules } from '../../plan/keys.ts';
import { reach, type Shape } from '../result/endpoints-shape.ts';
import type { CompiledPatch } from '../set/patch-set.ts';

export type PatchWarning = FaultWords & {
  index: number;
  field: 'path' | 'expression' | 'reverseExpression';
  /** In the text of that field, from 1. */
  line: number;
  column: number;
  /** Stable name of the rule. */
  rule: string;
  fix: string;
};

export interface LintContext {
  /** Undefined where the configuration is too broken to have any. */
  rules: { labels: KeyRules; annotations: KeyRules } | undefined;
}

/** Patch by patch. */
export function* lintPatches(patches: readonly CompiledPatch[], { rules }: LintContext): Steps<PatchWarning[]> {
  const warnings: PatchWarning[] = [];
  for (const [at, patch] of patches.entries()) {
    warnings.push(
      ...lintReach(patch),
      ...lintTranslation(patch),
      ...(rules === undefined ? [] : lintKey(patch, rules)),
      ...lintOverlap(patch, patches.slice(0, at)),
      ...lintTexts(patch),
    );
    yield;
  }
  return warnings;
}

function atPath(patch: CompiledPatch, parts: FaultWords & { rule: string; fix: string }): PatchWarning {
  return { index: patch.index, field: 'path', line: 1, column: 1, ...parts };
}

function lintReach(patch: CompiledPatch): PatchWarning[] {
  const { segments } = patch.path;
  const reached = reach(segments);
  if (reached.kind === 'reached') return [];
  const wrong = segments[reached.at] as Segment;
  const parent = segmentsText(segments.slice(0, reached.at));
  const name = wrong.kind === 'every' ? 'elements' : `"${wrong.key}"`;
  const sentence = `no Endpoints has ${name} below ${parent}, which ${whatItIs(reached.parent)}`;
  return [atPath(patch, { rule: 'no-such-field', sentence, fix: fixOf(reached, segments) })];
}

/** A reference needs a text to write a name into, a labels patch something that selects. */
function lintTranslation(patch: CompiledPatch): PatchWarning[] {
  const { segments } = patch.path;
  const { reference } = patch;
  if (reference === undefined && !patch.isLabels) return [];
  const name = reference?.namePath;
  const whole = name === undefined ? segments : [...segments, ...name.segments];
  const reached = reach(whole);
  if (patch.isLabels && isOwnLabels(segments)) {
    const sentence =
      'a labels patch rewrites the keys of a selector as they are called on the host; those of metadata.labels are rewritten already';
    const fix = 'remove the entry; to set or change a label, write an expression instead of labels';
    return [atPath(patch, { rule: 'own-labels', sentence, fix })];
  }
  // What the path itself misses is said of it already.
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
  return [atPath(patch, { rule: 'no-name', sentence: `a reference is a text, and ${place} can never be one`, fix })];
}

/** The object's own labels; a labels patch is for a selector, which names the labels of others. */
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
  // The key of an annotation has dots, and dots go a level down.
  if (root === 'metadata' && !rest.includes('*'))
    return `write metadata.${map}["${rest.join('.')}"] if that is one key`;
  return 'end the path there';
}

/** Labels and annotations whose name, or right to cross, is another than the path seems to say. */
function lintKey(patch: CompiledPatch, rules: NonNullable<LintContext['rules']>): PatchWarning[] {
  const [root, map, key] = patch.path.segments;
  if (root?.kind !== 'key' || root.key !== 'metadata' || map?.kind !== 'key' || key?.kind !== 'key') return [];
  if (map.key !== 'labels' && map.key !== 'annotations') return [];
  const [problem] = labelKeyProblems(map.key === 'labels' ? key.key : key.key.toLowerCase());
  if (problem !== undefined) {
    const sentence = `no ${map.key === 'labels' ? 'label' : 'annotation'} can be called ${JSON.stringify(key.key)}`;
    const fix = 'write a domain and "/" if there is one, then at most 63 letters, digits, "-", "_" and "."';
    return [atPath(patch, { rule: 'no-such-key', sentence, fix })];
  }
  const keys = rules[map.key];
  // Patches see the host's spelling, also of what goes back.
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

function lintOverlap(patch: CompiledPatch, earlier: readonly CompiledPatch[]): PatchWarning[] {
  // The same path twice is a fault, and told as one.
  const other = earlier.find(
    (one) => one.entry.path !== patch.entry.path && sharesDirection(one, patch) && overlaps(one.path, patch.path),
  );
  if (other === undefined) return [];
  const canJoin = [other, patch].every((one) => one.reference === undefined && !one.isLabels);
  const isBack = [other, patch].every((one) => one.back !== undefined || one.reference !== undefined);
  const isSame = other.path.canonical === patch.path.canonical;
  const list = 'sync.toHost.endpoints.patches';
  const sentence = isSame
    ? `${list}[${other.index}] patches the same place in another spelling`
    : `${list}[${other.index}] (${shown(other.entry.path) || '""'}) patches some of these places too; entries run in the order of the list${isBack ? ', also on the way back' : ''}`;
  const fix =
    isSame && canJoin
      ? 'join the two entries into one'
      : `${canJoin ? 'join them' : 'keep one of them'}, or see to it that the order is meant`;
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

/** Asked for by the configuration's own lint, which also knows whether onMissing was written. */
const saidElsewhere = new Set(['value-exists']);

function lintTexts(patch: CompiledPatch): PatchWarning[] {
  const { onMissing } = patch.entry;
  const of = (field: 'expression' | 'reverseExpression'): PatchWarning[] => {
    const expression = field === 'expression' ? patch.forward : patch.back;
    if (expression === undefined) return [];
    const direction = field === 'expression' ? 'forward' : 'back';
    // A reverse expression runs on keys that are there, whatever onMissing says of the way out.
    const site = { direction, onMissing: direction === 'back' ? 'skip' : onMissing } as const;
    return lintExpression(expression, site)
      .concat(lintQuotes(expression))
      .filter(({ rule }) => !saidElsewhere.has(rule))
      .map((warning) => placed(patch.index, field, warning));
  };
  return [...of('expression'), ...of('reverseExpression')];
}

/** Quotes of YAML inside quotes of YAML: the expression is a text, and gives itself. */
function lintQuotes({ tree }: CompiledExpression): ExpressionWarning[] {
  if (tree.type !== 'Literal' || typeof tree.value !== 'string') return [];
  const inner = tree.value;
  const isExpression = /\bvalue\b|\bcontext\./.test(inner) && compileExpression(inner).kind === 'ok';
  if (!isExpression) return [];
  const message = 'this text reads like an expression, and is taken as it stands';
  return [{ line: 1, column: 1, rule: 'quoted-expression', message, fix: `write ${shown(inner)} without its quotes` }];
}

function placed(index: number, field: PatchWarning['field'], warning: ExpressionWarning): PatchWarning {
  const { line, column, rule, message, fix } = warning;
  return { index, field, line, column, rule, sentence: message, fix };
}
