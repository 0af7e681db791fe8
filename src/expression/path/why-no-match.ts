// Says where a path ends in an object in which it matches nothing: the field that is missing, or the map without a key. Pure.
import { isRecord } from '../../object/text/json.ts';
import { arrayIndex, type Segment, segmentsText } from './path-grammar.ts';

/** Undefined when the path leads somewhere. */
export function whyNoMatch(segments: readonly Segment[], root: unknown): string | undefined {
  let here: unknown[] = [root];
  for (const [at, segment] of segments.entries()) {
    here = here.flatMap((one) => below(one, segment));
    if (here.length > 0) continue;
    if (segment.kind === 'key') return `there is no ${segmentsText(segments.slice(0, at + 1))}`;
    return `${segmentsText(segments.slice(0, at)) || 'the object'} has nothing that a patch may change`;
  }
  return undefined;
}

function below(value: unknown, segment: Segment): unknown[] {
  const found = (() => {
    if (Array.isArray(value)) {
      if (segment.kind === 'every') return value;
      return arrayIndex.test(segment.key) ? [value[Number(segment.key)]] : [];
    }
    if (!isRecord(value)) return [];
    if (segment.kind === 'every') return Object.values(value);
    return Object.hasOwn(value, segment.key) ? [value[segment.key]] : [];
  })();
  return found.filter((one) => one !== undefined && one !== null);
}
