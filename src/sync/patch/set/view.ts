// Builds the object that patches see, which is labels, annotations and payload without our bookkeeping, and reads the patched
// object back into a draft. Separate from evaluation so that one place decides what is protected. Pure.
import { copyJson, emptyMap, isRecord, type JsonObject, shapeOf } from '../../../object/text/json.ts';
import type { Draft } from '../../plan/draft.ts';
import { type ObjectPath, shownKey } from '../../plan/excerpt.ts';
import type { HostItem, Payload, SyncedKind, VirtualItem } from '../../plan/kind.ts';
import type { ChangedParts, Part } from './changed-parts.ts';
import { isProtectedAnnotation, isProtectedLabel } from './protected.ts';

export interface PatchView {
  metadata: { labels: Record<string, unknown>; annotations: Record<string, unknown> };
  [payloadField: string]: unknown;
}

/** An object without a prototype: tenants choose the keys, and one of them may be `__proto__`. */
export function plainMap(entries: Iterable<readonly [string, string]>): Record<string, unknown> {
  const map = emptyMap<unknown>();
  for (const [key, value] of entries) map[key] = value;
  return map;
}

export function viewOf(
  side: { labels: Iterable<readonly [string, string]>; annotations: Iterable<readonly [string, string]> },
  payload: Payload,
  hidden: readonly string[] = [],
): PatchView {
  const shown = hidden.length === 0 ? payload : withoutFields(payload, hidden);
  return {
    metadata: { labels: plainMap(side.labels), annotations: plainMap(side.annotations) },
    // A copy, because patches write into it and the payload shares its parts with the cache.
    ...copyJson(shown as JsonObject),
  };
}

function withoutFields(payload: Payload, fields: readonly string[]): Payload {
  return Object.fromEntries(Object.entries(payload).filter(([field]) => !fields.includes(field)));
}

export type ReadBack = ({ kind: 'ok'; restored: number } & Pick<Draft, Part>) | Misread;

interface Misread {
  kind: 'wrong';
  place: ObjectPath;
  message: string;
}

/**
 * Reads a patched view. Protected keys that an expression returned are dropped and counted. Parts that no patch has changed
 * come from the draft.
 */
export function readView(
  view: PatchView,
  { kind, changedParts, draft }: { kind: SyncedKind; changedParts: ChangedParts; draft: Draft },
): ReadBack {
  const { metadata } = view;
  if (!isRecord(metadata))
    return { kind: 'wrong', place: ['metadata'], message: `metadata must be an object, found ${shapeOf(metadata)}` };
  const labels = changedParts.labels
    ? readMap(metadata.labels, 'labels', (key) => isProtectedLabel(key, kind))
    : asIn(draft.labels);
  if (labels.kind === 'wrong') return labels;
  const annotations = changedParts.annotations
    ? readMap(metadata.annotations, 'annotations', isProtectedAnnotation)
    : asIn(draft.annotations);
  if (annotations.kind === 'wrong') return annotations;
  return {
    kind: 'ok',
    labels: labels.entries,
    annotations: annotations.entries,
    payload: changedParts.payload ? payloadIn(view, kind, draft) : draft.payload,
    restored: labels.restored + annotations.restored,
  };
}

function payloadIn(view: PatchView, { payloadFields, protectedFields }: SyncedKind, draft: Draft): Payload {
  const payload: Payload = {};
  for (const field of payloadFields)
    payload[field] = protectedFields.includes(field) ? draft.payload[field] : (view[field] ?? []);
  return payload;
}

interface Texts {
  kind: 'ok';
  entries: ReadonlyMap<string, string>;
  restored: number;
}

function asIn(entries: Texts['entries']): Texts {
  return { kind: 'ok', entries, restored: 0 };
}

function readMap(
  value: unknown,
  map: 'labels' | 'annotations',
  isProtected: (key: string) => boolean,
): Texts | Misread {
  const entries = new Map<string, string>();
  if (value === undefined || value === null) return { kind: 'ok', entries, restored: 0 };
  const wrong = (path: string, found: unknown, wanted: string): Misread => ({
    kind: 'wrong',
    place: ['metadata', map],
    message: `metadata.${map}${path} must be ${wanted}, found ${shapeOf(found)}`,
  });
  if (!isRecord(value)) return wrong('', value, 'an object');
  let restored = 0;
  for (const key of Object.keys(value)) {
    const text = value[key];
    if (text === null || text === undefined) continue;
    if (isProtected(key)) restored++;
    else if (typeof text === 'string') entries.set(key, text);
    else return { ...wrong(`["${shownKey(key)}"]`, text, 'a string'), place: ['metadata', map, key] };
  }
  return { kind: 'ok', entries, restored };
}

/** context.hostObject, without versions and without our own annotations. */
export function hostObjectOf(host: HostItem | undefined, kind: SyncedKind): object | null {
  if (host === undefined) return null;
  return {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: {
      name: host.name,
      namespace: host.namespace,
      uid: host.uid,
      ...(host.labels && { labels: host.labels }),
      ...(host.annotations && { annotations: withoutOurs(host.annotations) }),
      ...(host.ownerReferences && { ownerReferences: host.ownerReferences }),
    },
    ...kind.payloadOf(host),
  };
}

/** context.virtualObject: the tenant's object before translation. */
export function virtualObjectOf(virtual: VirtualItem, kind: SyncedKind): object {
  const { name, namespace, uid, creationTimestamp, labels, annotations } = virtual;
  const metadata: Record<string, unknown> = { name, namespace };
  // An object from a file that was never applied has neither.
  if (uid !== '') metadata['uid'] = uid;
  if (creationTimestamp !== '') metadata['creationTimestamp'] = creationTimestamp;
  if (labels !== undefined) metadata['labels'] = labels;
  if (annotations !== undefined) metadata['annotations'] = withoutOurs(annotations);
  const { apiVersion, kind: kindName } = kind;
  return { apiVersion, kind: kindName, metadata, ...kind.payloadOf(virtual as unknown as HostItem) };
}

function withoutOurs(annotations: Record<string, string>): Record<string, string> {
  const isOurs = (key: string): boolean => key.startsWith('hostward.dev/');
  if (!Object.keys(annotations).some(isOurs)) return annotations;
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !isOurs(key)));
}

/** Keys whose value differs between two maps of texts. */
export function changedKeys(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): Set<string> {
  const changed = new Set<string>();
  for (const [key, value] of after) if (before.get(key) !== value) changed.add(key);
  for (const key of before.keys()) if (!after.has(key)) changed.add(key);
  return changed;
}
