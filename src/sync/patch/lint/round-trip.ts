// Tries on samples whether a reverse expression undoes its expression. In: a patch set and an evaluator. Out: for each pair the first
// value that comes back changed. The samples can show that a pair is wrong; they cannot prove that it is right.
import type { AnyNode } from 'acorn';
import type { CompiledExpression } from '../../../expression/language/compile.ts';
import { childrenOf } from '../../../expression/language/scope.ts';
import type { Segment } from '../../../expression/path/path-grammar.ts';
import { equalJson } from '../../../object/text/json.ts';
import type { CompiledPatch } from '../set/patch-set.ts';
import { runOnSamples, type SampleResult, type Trial } from './sample-run.ts';

export interface CounterExample {
  forward: CompiledPatch;
  back: CompiledPatch;
  value: unknown;
  onHost: unknown;
  /** null when the reverse expression deletes the value, undefined when it fails, and then it fails for every sample. */
  returned: unknown;
}

export interface Pair {
  forward: CompiledPatch & { forward: CompiledExpression };
  back: CompiledPatch & { back: CompiledExpression };
}

/** `wentBoth` is called with each pair that took a sample both ways: only such a pair can be said to restore values. */
export function findCounterExamples(
  patches: readonly CompiledPatch[],
  trial: Trial,
  wentBoth: (pair: Pair) => void = () => {},
): Promise<CounterExample[]> {
  return examplesOf(patches, trial, (pair) => counterExample(pair, trial, wentBoth));
}

/** What is found for each pair until the time is up. */
export async function examplesOf<T>(
  patches: readonly CompiledPatch[],
  trial: Trial,
  exampleOf: (pair: Pair) => Promise<T | undefined>,
): Promise<T[]> {
  const found: T[] = [];
  for (const pair of pairsOf(patches)) {
    if (trial.isTimeUp()) break;
    const example = await exampleOf(pair);
    if (example !== undefined) found.push(example);
  }
  return found;
}

/** A pair is one entry with both expressions, or two entries on one path. */
export function pairsOf(patches: readonly CompiledPatch[]): Pair[] {
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

async function counterExample(
  { forward, back }: Pair,
  trial: Trial,
  wentBoth: (pair: Pair) => void,
): Promise<CounterExample | undefined> {
  const values = samplesFor(forward, back.back);
  if (values.length === 0) return undefined;
  const { canonical: path } = forward.path;
  const onHostAt = valuesOf(await runOnSamples(trial, forward.forward, { values, path }));
  // A value that fails or is deleted on the way to the host has no way back to judge.
  const sent = values.flatMap((value, at) => {
    const onHost = onHostAt[at];
    return onHost === undefined || onHost === null ? [] : [{ value, onHost }];
  });
  if (sent.length === 0) return undefined;
  const hosts = sent.map(({ onHost }) => onHost);
  const returned = valuesOf(await runOnSamples(trial, back.back, { values: hosts, path }));
  if (returned.some((one) => one !== undefined)) wentBoth({ forward, back });
  const wrong = sent.findIndex(({ value }, at) => returned[at] !== undefined && !equalJson(returned[at], value));
  // An expression that fails for some samples may be made for other values; one that fails for all of them is useless.
  const isUseless = returned.every((one) => one === undefined);
  const example = sent[isUseless ? 0 : wrong];
  return example && { forward, back, ...example, returned: returned[wrong] };
}

/** undefined for each failed evaluation. */
export function valuesOf(results: readonly SampleResult[]): unknown[] {
  return results.map((result) => ('error' in result ? undefined : result.value));
}

function samplesFor(forward: CompiledPatch, back: CompiledExpression): unknown[] {
  const [, map, key] = forward.path.segments;
  if (map === undefined) return [];
  if (key !== undefined) return domainOf(forward.forward?.source ?? '', textsFor(forward, back));
  const made = mentionedIn(forward, back).map((text) => ({ [text]: 'x' }));
  return isOfMetadata(forward) ? [{}, { a: '1' }, { 'example.com/key': 'web', b: '' }, ...made] : [];
}

export function isOfMetadata({ path }: CompiledPatch): boolean {
  return mayBe(path.segments[0], 'metadata');
}

function mentionedIn(forward: CompiledPatch, back: CompiledExpression | undefined): string[] {
  return textsIn(forward.forward?.tree).concat(textsIn(back?.tree));
}

/** Valid values of the labels or annotations that the path matches; none for other fields, which never flow back. */
export function textsFor(forward: CompiledPatch, back: CompiledExpression | undefined): string[] {
  const [, map] = forward.path.segments;
  if (!isOfMetadata(forward) || map === undefined) return [];
  const isOfLabels = !mayBe(map, 'annotations');
  const mentioned = mentionedIn(forward, back);
  const texts = [...plainTexts, ...mentioned.flatMap((text) => [text, `${text}x`, `x${text}`, `${text}${text}`])];
  return [...new Set(isOfLabels ? texts.filter(isLabelValue) : texts)];
}

export function mayBe(segment: Segment | undefined, key: string): boolean {
  return segment?.kind === 'every' || segment?.key === key;
}

const plainTexts: readonly string[] = [
  ...['web', 'a', '', '0', '42', '-1', '1.50', '007', 'true', 'null', 'Mixed-Case', 'UPPER', 'with_under.dots-dash'],
  ...['10.0.0.1', 'db.internal.svc', 'https://example.com:8080/a?b=c&d=%20', 'two words', ' padded ', 'a,b,,c', 'a=b'],
  ...['line one\nline two\n', 'tab\there', 'grüße', '日本語', '🙂', '"quoted"', "it's", '{"a": [1, 2]}', '$&', '\\n'],
  ...['x'.repeat(63), 'long '.repeat(60).trim()],
];

export function isLabelValue(text: string): boolean {
  return text === '' || /^[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/.test(text);
}

/** An expression that decodes is tried on encoded samples only: it is not made for other texts. */
export function domainOf(source: string, texts: readonly string[]): string[] {
  if (/\batob\s*\(/.test(source)) {
    const latin = texts.filter((text) => /^\p{ASCII}*$/u.test(text));
    return latin.map((text) => Buffer.from(text).toString('base64'));
  }
  if (/\bJSON\.parse\s*\(/.test(source)) return texts.map((text) => JSON.stringify(text));
  return [...texts];
}

/** Each string becomes four samples, and a table of names may hold hundreds of strings. */
const mentionedLimit = 20;

/** The texts and numbers that an expression names. */
export function literalsIn(tree: AnyNode | undefined): unknown[] {
  const found = new Set<unknown>(textsIn(tree));
  const gather = (node: AnyNode): void => {
    if (found.size >= mentionedLimit) return;
    if (node.type === 'Literal' && typeof node.value === 'number') found.add(node.value);
    for (const child of childrenOf(node)) gather(child);
  };
  if (tree !== undefined) gather(tree);
  return [...found];
}

/** The strings in an expression, and the plain part of its patterns: its special cases are there. */
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
