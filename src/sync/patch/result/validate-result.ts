// Whether what patches made of a host object is still an Endpoints that the API server will take. Found here, a wrong
// result is a failed patch with a name; found there, it would be a refusal that nobody can place. Pure.

import { areWithin, entryBytes, maxAnnotationBytes } from '../../../object/meta/meta-validation.ts';
import { labelKeyProblems, labelValueProblems } from '../../../object/meta/qualified-name.ts';
import { isRecord } from '../../../object/text/json.ts';
import type { Draft } from '../../plan/draft.ts';
import { shownKey } from '../../plan/excerpt.ts';
import type { ResultProblem, SyncedKind } from '../../plan/kind.ts';
import type { Part } from '../set/changed-parts.ts';

/** Nobody has so many; looking at more of them would keep all other objects waiting. */
const maxKeys = 10_000;
const maxLabelBytes = maxAnnotationBytes;
/** Labels and annotations stand two levels below a whole object. */
const mapDepth = 2;

/** The first thing that is wrong; undefined when nothing is. What is the draft's own was right already. */
export function problemOfResult(
  { labels, annotations, payload }: Pick<Draft, Part>,
  { kind, draft }: { kind: SyncedKind; draft?: Draft },
): ResultProblem | undefined {
  const problem =
    (labels === draft?.labels ? undefined : problemOfLabels(labels, draft?.labels)) ??
    (annotations === draft?.annotations ? undefined : problemOfAnnotations(annotations, draft?.annotations));
  if (problem !== undefined) return problem;
  return payload === draft?.payload ? undefined : kind.problemOf(payload);
}

/** Of results for maps and whole objects, asked before anything else is done with them: a count costs little, a look a lot. */
export function problemOfKeyCount(results: readonly unknown[], depth = 0): string | undefined {
  for (const result of results) {
    if (!isRecord(result)) continue;
    const parts = Object.values(result);
    if (parts.length > maxKeys) return `the result holds an object of ${parts.length} keys, and may hold ${maxKeys}`;
    const problem = depth < mapDepth ? problemOfKeyCount(parts, depth + 1) : undefined;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function inMetadata(map: string, problem: string): ResultProblem {
  return { place: ['metadata', map], message: `metadata.${map} ${problem}` };
}

type Texts = ReadonlyMap<string, string>;

/** In words without the value, which may be a secret: what the rules of metadata say would quote it whole. */
function problemOfLabels(labels: Texts, right: Texts | undefined): ResultProblem | undefined {
  const tooMuch = problemOfSize('labels', labels, maxLabelBytes);
  if (tooMuch !== undefined) return tooMuch;
  for (const key of labels.keys()) {
    const value = labels.get(key) as string;
    if (right?.get(key) === value) continue;
    const place = ['metadata', 'labels', key];
    const [ofKey] = labelKeyProblems(key);
    if (ofKey !== undefined)
      return { place, message: `metadata.labels: a key of ${key.length} characters is none: ${ofKey}` };
    const [ofValue] = labelValueProblems(value);
    if (ofValue !== undefined) return { place, message: `metadata.labels["${shownKey(key)}"]: ${ofValue}` };
  }
  return undefined;
}

function problemOfAnnotations(annotations: Texts, right: Texts | undefined): ResultProblem | undefined {
  const tooMuch = problemOfSize('annotations', annotations, maxAnnotationBytes);
  if (tooMuch !== undefined) return tooMuch;
  for (const key of annotations.keys()) {
    if (right?.has(key)) continue;
    // Upper case is allowed in the whole key, unlike in labels.
    const [problem] = labelKeyProblems(key.toLowerCase());
    if (problem === undefined) continue;
    const message = `metadata.annotations: a key of ${key.length} characters is none: ${problem}`;
    return { place: ['metadata', 'annotations', key], message };
  }
  return undefined;
}

function problemOfSize(map: string, texts: Texts, maxBytes: number): ResultProblem | undefined {
  if (texts.size > maxKeys) return inMetadata(map, `must have at most ${maxKeys} keys, got ${texts.size}`);
  if (areWithin(texts, maxBytes)) return undefined;
  return inMetadata(map, `must have at most ${maxBytes} bytes, got ${entryBytes(texts)}`);
}
