// How everybody sees a key: without its hidden parts, and with the status that it has now. In: an object as it is stored, or its text.
// Out: the same as it is shown.
import type { Clock } from '../../../clock.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import type { Activity } from '../life/activity.ts';
import type { KeyState } from '../life/key-state.ts';
import type { KeyRecord } from '../secret/key-record.ts';
import { hiddenPart, showsHidden, statusOfKey, withoutHidden } from './stored-key.ts';

export interface StatusParts {
  activity: Activity;
  clock: Clock;
  /** Of the key with this record, as far as its owner, its virtual cluster and its makers decide. */
  stateByOthers(record: KeyRecord, nowMs: number): KeyState;
}

export function shownKey(object: KubeObject, parts: StatusParts): KubeObject {
  return { ...withoutHidden(object), status: statusNow(object, parts) };
}

/** Undefined = the text has to be parsed as a whole. */
export function shownKeyText(text: string, parts: StatusParts): string | undefined {
  const split = splitText(text);
  return split && `${split.shown},"status":${JSON.stringify(statusNow(split.values, parts))}}`;
}

function statusNow(object: KubeObject, { activity, clock, stateByOthers }: StatusParts): object {
  const uid = object.metadata.uid ?? hiddenPart(object)?.record.uid ?? '';
  return statusOfKey(object, { lastMs: activity.lastMs(uid), nowMs: clock.wallTime().getTime(), stateByOthers });
}

/** A stored text in two: what may be sent as it is, and the values from which the status comes. */
interface SplitText {
  shown: string;
  values: KubeObject;
}

const specMark = ',"spec":';
const hiddenMark = ',"hidden":';
const creationMark = '"creationTimestamp":"';
const unusual = /"(?:deletionTimestamp|status)":/;

/**
 * Splits a text without parsing its metadata, which are the half of it. Undefined = it has to be parsed. A mark may also lie within a
 * value; but where both pieces are whole values, the members `spec` and `hidden` end the text, and nothing of them is before the mark.
 */
export function splitText(text: string): SplitText | undefined {
  const [specAt, hiddenAt] = [text.indexOf(specMark), text.lastIndexOf(hiddenMark)];
  if (specAt === -1 || hiddenAt < specAt) return undefined;
  const metadata = text.slice(0, specAt);
  const creationAt = metadata.indexOf(creationMark);
  // Labels and annotations have names of people's choice.
  if (creationAt === -1 || creationAt !== metadata.lastIndexOf(creationMark)) return undefined;
  if (unusual.test(metadata)) return undefined;
  const creationTimestamp = metadata.slice(creationAt + creationMark.length).split('"', 1)[0] as string;
  let values: KubeObject;
  try {
    const spec: unknown = JSON.parse(text.slice(specAt + specMark.length, hiddenAt));
    const hidden: unknown = JSON.parse(text.slice(hiddenAt + hiddenMark.length, -1));
    values = { metadata: { creationTimestamp }, spec, hidden };
  } catch {
    return undefined;
  }
  if (hiddenPart(values) === undefined || showsHidden(values)) return undefined;
  return { shown: text.slice(0, hiddenAt), values };
}
