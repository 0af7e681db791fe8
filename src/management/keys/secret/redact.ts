// Takes the hidden fields off an object before any other code sees it, and keeps them apart. So no answer, patch, difference,
// selector, conflict or managedFields entry can contain them.

import type { KubeObject } from '../../../object/meta/object.ts';
import { isRecord } from '../../../object/text/json.ts';
import { isTooDeep } from '../../../object/text/nesting.ts';

export interface HiddenFields {
  /** The value of the key: proved or digested at once, and never kept. */
  key?: string;
  connectorData?: string;
  idToken?: string;
  accessToken?: string;
  refreshToken?: string;
}

/** Everything but the key itself is stored, encrypted. */
export type StoredHidden = Omit<HiddenFields, 'key'>;

const places = [
  { path: [], field: 'key' },
  { path: ['identity'], field: 'connectorData' },
  { path: ['oidcLogin'], field: 'idToken' },
  { path: ['oidcLogin'], field: 'accessToken' },
  { path: ['oidcLogin'], field: 'refreshToken' },
] as const;

/** For the kit: where a writeOnly field is. */
export const hiddenPaths: readonly string[] = places.map(({ path, field }) => ['spec', ...path, field].join('.'));

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** The object itself is left as it is. */
export function detachHidden<T extends KubeObject>(object: T): { redacted: T; hidden: HiddenFields } {
  const redacted = structuredClone(object);
  const hidden = takeFrom(redacted);
  scrubLastApplied(redacted);
  return { redacted, hidden };
}

function takeFrom(object: Record<string, unknown>): HiddenFields {
  const hidden: HiddenFields = {};
  for (const { path, field } of places) {
    let holder: unknown = object['spec'];
    for (const step of path) holder = isRecord(holder) ? holder[step] : undefined;
    if (!isRecord(holder) || !Object.hasOwn(holder, field)) continue;
    const value = holder[field];
    // A value of another type is a secret all the same, and the schema has refused it.
    delete holder[field];
    if (typeof value === 'string') hidden[field] = value;
  }
  return hidden;
}

/** kubectl copies the whole manifest into an annotation, secrets included. */
function scrubLastApplied(object: KubeObject): void {
  const annotations = object.metadata?.annotations;
  const text = annotations?.[lastApplied];
  if (annotations === undefined || typeof text !== 'string') return;
  let manifest: unknown;
  try {
    if (isTooDeep(text)) throw new RangeError('nested too deep');
    manifest = JSON.parse(text);
  } catch {
    // kubectl did not write this text, so it may hold a secret.
    delete annotations[lastApplied];
    return;
  }
  if (!isRecord(manifest)) return;
  const before = JSON.stringify(manifest);
  takeFrom(manifest);
  const after = JSON.stringify(manifest);
  if (after !== before) annotations[lastApplied] = `${after}\n`;
}

/** The hidden fields after a write: an absent field is kept, a text replaces, an empty text removes, `identity: null` clears. */
export function mergeHidden(stored: StoredHidden, given: HiddenFields, written: KubeObject): StoredHidden {
  const spec = isRecord(written['spec']) ? written['spec'] : {};
  const merged: StoredHidden = { ...stored };
  for (const { path, field } of places) {
    if (field === 'key') continue;
    const [parent] = path;
    const value = given[field];
    if (value !== undefined && value !== '') merged[field] = value;
    else if (value === '' || spec[parent] === null) delete merged[field];
  }
  return merged;
}

/**
 * Finds the fields that a write cleared with a null, which decoding has dropped: their hidden parts go too. A PUT that leaves a
 * field out clears nothing, because a client that never received the hidden part cannot send it back.
 */
export function withCleared(object: KubeObject, old: KubeObject, sent: unknown): KubeObject {
  const [now, before] = [object, old].map(specIn);
  const cleared = ['identity', 'oidcLogin'].filter((field) =>
    sent === undefined
      ? before?.[field] !== undefined && now?.[field] === undefined
      : isRecord(sent) && specIn(sent)[field] === null,
  );
  return { ...object, spec: { ...now, ...Object.fromEntries(cleared.map((field) => [field, null])) } };
}

function specIn(object: Record<string, unknown>): Record<string, unknown> {
  return isRecord(object['spec']) ? object['spec'] : {};
}
