// Patches with the empty path: the expression gets the whole host object, and its result replaces the object top-level key by
// top-level key. The expression sees protected parts and cannot change them. Pure.
import { emptyMap, equalJson, isRecord, shapeOf } from '../../../object/text/json.ts';
import { fixedAnnotations, fixedLabels, present } from '../../plan/draft.ts';
import { shownKey } from '../../plan/excerpt.ts';
import type { SyncedKind } from '../../plan/kind.ts';
import type { Pass } from '../entry/pass.ts';
import { isProtectedAnnotation, isProtectedLabel } from '../set/protected.ts';
import type { PatchView } from '../set/view.ts';

export function wholeOf(
  view: PatchView,
  pass: Pick<Pass, 'virtual' | 'draft' | 'translation'>,
): Record<string, unknown> {
  const { virtual, draft, translation } = pass;
  const { metadata, ...payload } = view;
  const { protectedFields } = translation.kind;
  return {
    apiVersion: translation.kind.apiVersion,
    kind: translation.kind.kind,
    metadata: {
      name: draft.place.name,
      namespace: draft.place.namespace,
      labels: { ...metadata.labels, ...Object.fromEntries(present(fixedLabels(virtual, translation))) },
      annotations: {
        ...metadata.annotations,
        ...Object.fromEntries(present(fixedAnnotations(virtual, draft.place, translation))),
      },
    },
    ...Object.fromEntries(protectedFields.map((field) => [field, draft.payload[field]])),
    ...payload,
  };
}

export type WholeRead = { kind: 'written'; changes: number; restored: number } | { kind: 'fault'; message: string };

/** Top-level keys that the result leaves out stay as they were. A result of null changes nothing. */
export function readWhole(
  view: PatchView,
  result: unknown,
  pass: Pick<Pass, 'virtual' | 'draft' | 'translation'>,
): WholeRead {
  if (result === null || result === undefined) return { kind: 'written', changes: 0, restored: 0 };
  if (!isRecord(result)) {
    return { kind: 'fault', message: `with the empty path the result must be the object, found ${shapeOf(result)}` };
  }
  const before = wholeOf(view, pass);
  const unknown = Object.keys(result).find((key) => !Object.hasOwn(before, key));
  if (unknown !== undefined)
    return { kind: 'fault', message: `the result has a field "${shownKey(unknown)}", which this kind does not know` };
  const { metadata } = result;
  if (metadata !== undefined && metadata !== null && !isRecord(metadata))
    return { kind: 'fault', message: `metadata of the result must be an object, found ${shapeOf(metadata)}` };
  const { kind } = pass.translation;
  let changes = 0;
  let restored = 0;
  for (const [key, value] of Object.entries(result)) {
    if (equalJson(value, before[key])) continue;
    if (key === 'apiVersion' || key === 'kind' || kind.protectedFields.includes(key)) restored++;
    else if (key !== 'metadata') {
      view[key] = value ?? [];
      changes++;
    } else {
      restored += readMetadata(view, metadata ?? {}, { kind, before: before['metadata'] as Record<string, unknown> });
      changes++;
    }
  }
  return { kind: 'written', changes, restored };
}

function readMetadata(
  view: PatchView,
  metadata: Record<string, unknown>,
  { kind, before }: { kind: SyncedKind; before: Record<string, unknown> },
): number {
  let restored = 0;
  for (const field of ['name', 'namespace']) if (metadata[field] !== before[field]) restored++;
  for (const field of Object.keys(metadata)) if (!Object.hasOwn(before, field)) restored++;
  for (const map of ['labels', 'annotations'] as const) {
    const isProtected = map === 'labels' ? (key: string) => isProtectedLabel(key, kind) : isProtectedAnnotation;
    const found = metadata[map] ?? {};
    const shown = before[map] as Record<string, unknown>;
    const kept = emptyMap<unknown>();
    if (!isRecord(found)) {
      // readView() reports it later, with its path.
      (view.metadata as Record<string, unknown>)[map] = found;
      continue;
    }
    for (const [key, value] of Object.entries(found)) {
      if (!isProtected(key)) kept[key] = value;
      else if (value !== shown[key]) restored++;
    }
    for (const key of Object.keys(shown)) if (isProtected(key) && !Object.hasOwn(found, key)) restored++;
    view.metadata[map] = kept;
  }
  return restored;
}
