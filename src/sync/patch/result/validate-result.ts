// Whether the API server would accept the result of the patches. Found here, a problem can be blamed on the patch that made
// it; the refusal of the API server would name no patch. Pure.

import { areWithin, entryBytes, maxAnnotationBytes } from '../../../object/meta/meta-validation.ts';
import { labelKeyProblems, labelValueProblems, withoutPattern } from '../../../object/meta/qualified-name.ts';
import { isRecord } from '../../../object/text/json.ts';
import type { Draft } from '../../plan/draft.ts';
import { shownKey } from '../../plan/excerpt.ts';
import type { ResultProblem, SyncedKind } from '../../plan/kind.ts';
import type { Part } from '../set/changed-parts.ts';

/** Far more than real objects have. To check more keys would delay all other objects. */
const maxKeys = 10_000;
const maxLabelBytes = maxAnnotationBytes;
/** Labels and annotations are two levels below a whole object. */
const mapDepth = 2;

/** The first problem of the result. Parts that are the draft's own are valid already and are not checked again. */
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

/** The first check of a result that is a map or a whole object: to count keys is cheap, to check each key is not. */
export function problemOfKeyCount(results: readonly unknown[], depth = 0): string | undefined {
  for (const result of results) {
    if (!isRecord(result)) continue;
    const parts = Object.values(result);
    if (parts.length > maxKeys)
      return `the result has an object of ${parts.length} keys; at most ${maxKeys} are allowed`;
    const problem = depth < mapDepth ? problemOfKeyCount(parts, depth + 1) : undefined;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function inMetadata(map: string, problem: string): ResultProblem {
  return { place: ['metadata', map], message: `metadata.${map} ${problem}` };
}

type Texts = ReadonlyMap<string, string>;

/** The messages leave out the value, which may be a secret; the general rules of metadata would quote it. */
function problemOfLabels(labels: Texts, right: Texts | undefined): ResultProblem | undefined {
  const tooMuch = problemOfSize('labels', labels, maxLabelBytes);
  if (tooMuch !== undefined) return tooMuch;
  for (const key of labels.keys()) {
    const value = labels.get(key) as string;
    if (right?.get(key) === value) continue;
    const place = ['metadata', 'labels', key];
    const [ofKey] = labelKeyProblems(key).map(withoutPattern);
    if (ofKey !== undefined)
      return { place, message: `metadata.labels: a key of ${key.length} characters is not valid: ${ofKey}` };
    const [ofValue] = labelValueProblems(value).map(withoutPattern);
    if (ofValue !== undefined) return { place, message: `metadata.labels["${shownKey(key)}"]: ${ofValue}` };
  }
  return undefined;
}

function problemOfAnnotations(annotations: Texts, right: Texts | undefined): ResultProblem | undefined {
  const tooMuch = problemOfSize('annotations', annotations, maxAnnotationBytes);
  if (tooMuch !== undefined) return tooMuch;
  for (const key of annotations.keys()) {
    if (right?.has(key)) continue;
    // Unlike a label key, an annotation key may have upper case letters in its domain.
    const [problem] = labelKeyProblems(key.toLowerCase()).map(withoutPattern);
    if (problem === undefined) continue;
    const message = `metadata.annotations: a key of ${key.length} characters is not valid: ${problem}`;
    return { place: ['metadata', 'annotations', key], message };
  }
  return undefined;
}

function problemOfSize(map: string, texts: Texts, maxBytes: number): ResultProblem | undefined {
  if (texts.size > maxKeys) return inMetadata(map, `must have at most ${maxKeys} keys, found ${texts.size}`);
  if (areWithin(texts, maxBytes)) return undefined;
  return inMetadata(map, `must have at most ${maxBytes} bytes, found ${entryBytes(texts)}`);
}
