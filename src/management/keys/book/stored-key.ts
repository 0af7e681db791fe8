// The stored form of an OwnedAccessKey: the object without its hidden fields, and under `hidden` the record of its secret and the
// encrypted fields. Data under `hidden` never leaves the process.
import type { KubeObject } from '../../../object/meta/object.ts';
import { isRecord } from '../../../object/text/json.ts';
import { expiryOf } from '../life/expiry.ts';
import { type KeyState, titleOf } from '../life/key-state.ts';
import { keySpec } from '../rules/key-spec.ts';
import type { FieldCipher } from '../secret/field-cipher.ts';
import type { KeyRecord } from '../secret/key-record.ts';
import { detachHidden, type HiddenFields, hiddenPaths, type StoredHidden } from '../secret/redact.ts';

/** Split once: a page has thousands of them to look at. */
const hiddenSteps = hiddenPaths.map((path) => path.split('.'));

export interface HiddenPart {
  record: KeyRecord;
  /** By name of the field, encrypted for the uid of the key. */
  sealed: Record<string, string>;
}

export function hiddenPart(object: KubeObject): HiddenPart | undefined {
  const part = object['hidden'];
  return isRecord(part) && isRecord(part['record']) ? (part as unknown as HiddenPart) : undefined;
}

/** Takes the hidden fields off the object itself. */
export function takeHidden(object: KubeObject): HiddenFields {
  const { redacted, hidden } = detachHidden(object);
  object['spec'] = redacted['spec'];
  if (redacted.metadata.annotations !== undefined) object.metadata.annotations = redacted.metadata.annotations;
  return hidden;
}

/** Without everything that is hidden; the argument stays as it is. */
export function withoutHidden(object: KubeObject): KubeObject {
  const { hidden: _hidden, ...shown } = object;
  return showsHidden(shown) ? detachHidden(shown as KubeObject).redacted : (shown as KubeObject);
}

/** Whether it has a hidden field in its place, as in what a client sent. */
export function showsHidden(object: object): boolean {
  return hiddenSteps.some((steps) => valueAt(object, steps) !== undefined);
}

/** Adds the hidden parts of another object that this object lacks. */
export function restoreHidden(object: KubeObject, from: KubeObject): void {
  if (from['hidden'] !== undefined) object['hidden'] ??= from['hidden'];
  for (const steps of hiddenSteps) {
    const value = valueAt(from, steps);
    if (value !== undefined && valueAt(object, steps) === undefined) putAt(object, steps, value);
  }
}

export function sealHidden(
  hidden: StoredHidden,
  before: { sealed: Record<string, string>; opened: StoredHidden },
  to: { cipher: FieldCipher; uid: string },
): Record<string, string> {
  const sealed: Record<string, string> = {};
  for (const [field, value] of Object.entries(hidden) as [keyof StoredHidden, string][]) {
    const kept = before.opened[field] === value ? before.sealed[field] : undefined;
    // Encryption makes new bytes every time, so an equal value keeps its old bytes and the write counts as unchanged.
    sealed[field] = kept ?? to.cipher.seal(value, to.uid);
  }
  return sealed;
}

export function openHidden(part: HiddenPart, cipher: FieldCipher): StoredHidden {
  const opened: Record<string, string> = {};
  for (const [field, value] of Object.entries(part.sealed)) {
    const text = cipher.open(value, part.record.uid);
    if (text !== undefined) opened[field] = text;
  }
  return opened;
}

function valueAt(object: unknown, steps: readonly string[]): unknown {
  let value: unknown = object;
  for (const step of steps) value = isRecord(value) ? value[step] : undefined;
  return value;
}

function putAt(object: KubeObject, steps: readonly string[], value: unknown): void {
  const last = steps.at(-1) as string;
  let holder: Record<string, unknown> = object;
  for (const step of steps.slice(0, -1)) {
    if (!isRecord(holder[step])) holder[step] = {};
    holder = holder[step] as Record<string, unknown>;
  }
  holder[last] = value;
}

/** Undefined = the key does not end. */
export function expiryOfKey(object: KubeObject, lastActivityMs: number | undefined): number | undefined {
  const { ttl, ttlAfterLastActivity } = keySpec(object);
  const creationMs = Date.parse(object.metadata.creationTimestamp ?? '') || 0;
  return expiryOf({ creationMs, ttl, afterLastActivity: ttlAfterLastActivity }, lastActivityMs);
}

export function statusOfKey(
  object: KubeObject,
  at: { lastMs: number | undefined; nowMs: number; stateByOthers(record: KeyRecord, nowMs: number): KeyState },
): object {
  const { lastMs, nowMs } = at;
  const { deletionTimestamp } = object.metadata;
  const expiryMs = expiryOfKey(object, lastMs);
  const state = (): KeyState => {
    if (deletionTimestamp !== undefined) return 'terminating';
    if (expiryMs !== undefined && nowMs >= expiryMs) return 'expired';
    if (keySpec(object).disabled) return 'disabled';
    // The object has the record that the book would have to unpack.
    const part = hiddenPart(object);
    return part === undefined ? 'active' : at.stateByOthers(part.record, nowMs);
  };
  return keyStatus({ state: state(), expiryMs, lastActivityMs: lastMs });
}

// What `status` of a key says: the state that also is in tables, its end, and both as conditions, so that `kubectl describe` and
// `kubectl wait` see them. Pure.
interface StatusFacts {
  state: KeyState;
  /** Undefined = the key does not end. */
  expiryMs: number | undefined;
  lastActivityMs: number | undefined;
}

function keyStatus({ state, expiryMs, lastActivityMs }: StatusFacts): object {
  const reason = titleOf(state);
  const ready = { type: 'Ready', status: state === 'active' ? 'True' : 'False', reason };
  const expired = { type: 'Expired', status: state === 'expired' ? 'True' : 'False', reason };
  return {
    phase: reason,
    ...(expiryMs === undefined || expiryMs > latestMs ? {} : { expiresAt: timeText(expiryMs) }),
    ...(lastActivityMs === undefined ? {} : { lastActivity: timeText(lastActivityMs) }),
    // A key without an end never expires, and says nothing about it.
    conditions: expiryMs === undefined ? [ready] : [ready, expired],
  };
}

/** The year 9999: RFC 3339 knows no later one. */
const latestMs = 253_402_300_799_000;

export function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
