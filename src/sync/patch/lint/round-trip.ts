// Whether a reverse expression undoes its expression, tried on samples: texts of many kinds, and texts made of what the
// expressions themselves mention. In: a patch set and whoever evaluates. Out: for each pair the first value that comes back
// as another one. Nothing here can prove that a pair is right.
import type { AnyNode } from 'acorn';
import type { Evaluator } from '../../../expression/evaluate/evaluator.ts';
import type { CompiledExpression } from '../../../expression/language/compile.ts';
import { childrenOf } from '../../../expression/language/scope.ts';
import type { Segment } from '../../../expression/path/path-grammar.ts';
import { equalJson } from '../../../object/text/json.ts';
import type { CompiledPatch } from '../set/patch-set.ts';
import { runOnSamples, type SampleResult } from './sample-run.ts';

export interface CounterExample {
  forward: CompiledPatch;
  back: CompiledPatch;
  value: unknown;
  onHost: unknown;
  /** null where the reverse expression deletes it, undefined where it fails, as it then does for every sample. */
  returned: unknown;
}

interface Pair {
  forward: CompiledPatch & { forward: CompiledExpression };
  back: CompiledPatch & { back: CompiledExpression };
}

export async function findCounterExamples(
  patches: readonly CompiledPatch[],
  { evaluator, isTimeUp }: { evaluator: Evaluator; isTimeUp(): boolean },
): Promise<CounterExample[]> {
  const found: CounterExample[] = [];
  for (const pair of pairsOf(patches)) {
    if (isTimeUp()) break;
    const example = await counterExample(pair, evaluator);
    if (example !== undefined) found.push(example);
  }
  return found;
}

/** One entry with both, or two entries on one path. */
function pairsOf(patches: readonly CompiledPatch[]): Pair[] {
  const hasForward = (patch: CompiledPatch): patch is Pair['forward'] => patch.forward !== undefined;
  const hasBack = (patch: CompiledPatch): patch is Pair['back'] => patch.back !== undefined;
  const backs = new Map(
    patches
      .filter(hasBack)
      .toReversed()
      .map((patch) => [patch.path.canonical, patch]),
  );
  return patches.flatMap((forward) => {
    const back = backs.get(forward.path.canonical);
    return hasForward(forward) && back !== undefined ? [{ forward, back }] : [];
  });
}

async function counterExample({ forward, back }: Pair, evaluator: Evaluator): Promise<CounterExample | undefined> {
  const values = samplesFor(forward, back.back);
  if (values.length === 0) return undefined;
  const { canonical: path } = forward.path;
  const there = valuesOf(await runOnSamples(evaluator, forward.forward, { values, path }));
  // What fails, or is deleted, has no way back to judge.
  const went = values.flatMap((value, at) => {
    const onHost = there[at];
    return onHost === undefined || onHost === null ? [] : [{ value, onHost }];
  });
  if (went.length === 0) return undefined;
  const hosts = went.map(({ onHost }) => onHost);
  const returned = valuesOf(await runOnSamples(evaluator, back.back, { values: hosts, path }));
  const wrong = went.findIndex(({ value }, at) => returned[at] !== undefined && !equalJson(returned[at], value));
  // One that fails now and then may know its values better than the samples do; one that always fails is of no use.
  const isUseless = returned.every((one) => one === undefined);
  const example = went[isUseless ? 0 : wrong];
  return example && { forward, back, ...example, returned: returned[wrong] };
}

/** undefined where the evaluation failed. */
function valuesOf(results: readonly SampleResult[]): unknown[] {
  return results.map((result) => ('error' in result ? undefined : result.value));
}

function samplesFor(forward: CompiledPatch, back: CompiledExpression): unknown[] {
  const [root, map, key] = forward.path.segments;
  if (!mayBe(root, 'metadata') || map === undefined) return [];
  const isOfLabels = !mayBe(map, 'annotations');
  const mentioned = textsIn(forward.forward?.tree).concat(textsIn(back.tree));
  const texts = [...plainTexts, ...mentioned.flatMap((text) => [text, `${text}x`, `x${text}`, `${text}${text}`])];
  const usable = [...new Set(isOfLabels ? texts.filter(isLabelValue) : texts)];
  const inDomain = domainOf(forward.forward?.source ?? '', usable);
  if (key !== undefined) return inDomain;
  return [{}, { a: '1' }, { 'example.com/key': 'web', b: '' }, ...mentioned.map((text) => ({ [text]: 'x' }))];
}

function mayBe(segment: Segment | undefined, key: string): boolean {
  return segment?.kind === 'every' || segment?.key === key;
}

const plainTexts: readonly string[] = [
  ...['web', 'a', '', '0', '42', '-1', '1.50', '007', 'true', 'null', 'Mixed-Case', 'UPPER', 'with_under.dots-dash'],
  ...['10.0.0.1', 'db.internal.svc', 'https://example.com:8080/a?b=c&d=%20', 'two words', ' padded ', 'a,b,,c', 'a=b'],
  ...['line one\nline two\n', 'tab\there', 'grüße', '日本語', '🙂', '"quoted"', "it's", '{"a": [1, 2]}', '$&', '\\n'],
  ...['x'.repeat(63), 'long '.repeat(60).trim()],
];

function isLabelValue(text: string): boolean {
  return text === '' || /^[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/.test(text);
}

/** An expression that decodes is only asked about what is encoded: all else is none of its business. */
function domainOf(source: string, texts: readonly string[]): string[] {
  if (/\batob\s*\(/.test(source)) {
    const latin = texts.filter((text) => /^\p{ASCII}*$/u.test(text));
    return latin.map((text) => Buffer.from(text).toString('base64'));
  }
  if (/\bJSON\.parse\s*\(/.test(source)) return texts.map((text) => JSON.stringify(text));
  return [...texts];
}

const mentionedLimit = 20;

/** Texts that an expression mentions, and the plain part of its patterns: that is where its special cases are. */
function textsIn(tree: AnyNode | undefined): string[] {
  const found = new Set<string>();
  const gather = (node: AnyNode): void => {
    if (node.type === 'Literal' && typeof node.value === 'string') found.add(node.value);
    if (node.type === 'TemplateElement' && node.value.cooked) found.add(node.value.cooked);
    if (node.type === 'Literal' && 'regex' in node && node.regex) {
      const plain = node.regex.pattern.replace(/^\^|\$$/g, '').replace(/\\([^\w])/g, '$1');
      if (!/[\\()[\]{}*+?|]/.test(plain)) found.add(plain);
    }
    for (const child of childrenOf(node)) gather(child);
  };
  if (tree !== undefined) gather(tree);
  return [...found].filter((text) => text !== '' && text.length < 60).slice(0, mentionedLimit);
}
