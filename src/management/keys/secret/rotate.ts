// Rotates a key: the new secret is valid at once, and the old one for a chosen overlap. A secret that is left from an earlier
// rotation is dropped.
import { type FieldError, invalidValue } from '../../../object/meta/field-error.ts';
import type { KeyRecord } from './key-record.ts';
import type { Peppers } from './pepper.ts';
import { makeToken, type RandomBytes } from './token.ts';

/** Long enough for a weekly pipeline to pick the new secret up. */
export const maxOverlapSeconds = 7 * 24 * 60 * 60;

export function overlapFaults(overlapSeconds: number, path: string): FieldError[] {
  if (Number.isInteger(overlapSeconds) && overlapSeconds >= 0 && overlapSeconds <= maxOverlapSeconds) return [];
  return [invalidValue(path, overlapSeconds, `must be a whole number of seconds from 0 to ${maxOverlapSeconds}`)];
}

/** The text is returned once and kept nowhere. */
export function makeSecret(
  random: RandomBytes,
  peppers: Peppers,
): { text: string; part: Pick<KeyRecord, 'id' | 'secrets'> } {
  const { text, id } = makeToken(random);
  return { text, part: { id, secrets: [{ ...peppers.digest(text), validUntilMs: undefined, isSupplied: false }] } };
}

/**
 * The id stays, because the old secret is found by it as well; a supplied key gets one, and its supplied value stays in the
 * second slot for the overlap.
 */
export function rotate(
  record: KeyRecord,
  options: { random: RandomBytes; peppers: Peppers; nowMs: number; overlapSeconds: number },
): { text: string; record: KeyRecord } {
  const { random, peppers, nowMs, overlapSeconds } = options;
  const { text, id } = makeToken(random, record.id === '' ? undefined : record.id);
  const fresh = { ...peppers.digest(text), validUntilMs: undefined, isSupplied: false };
  const [current] = record.secrets;
  const isKept = current !== undefined && overlapSeconds > 0;
  const left = isKept ? [{ ...current, validUntilMs: nowMs + overlapSeconds * 1000 }] : [];
  const { formerHolder: _dropped, ...kept } = record;
  const former = isKept && record.holder !== undefined ? { formerHolder: record.holder } : {};
  return { text, record: { ...kept, ...former, id, secrets: [fresh, ...left] } };
}
