// All patches of one object, forward (DESIGN 4.1 to 4.10): the translated host object in, the patched one or a failure out.

import { copyOf, isMap, type JsonMap } from '../words/json.ts';
import { isProtected } from '../words/marks.ts';
import type { PatchEntry, Settings, SyncedKind } from '../words/settings.ts';
import type { Json, PlainObject } from '../words/types.ts';
import { type Answer, ask, isGone } from './expression.ts';
import { matchesOf, printedPath, segmentsOf } from './patch-path.ts';
import { rewriteLabels, translateReference } from './reference.ts';
import type { Translated } from './translate.ts';
import { tidySubsets } from './translate.ts';
import { areAnnotations, areLabels, isValidPayload } from './valid.ts';

/** What one virtual object meets when its patches run. */
export interface Surroundings {
  readonly settings: Settings;
  readonly virtual: PlainObject;
  readonly host: PlainObject | undefined;
  /** The name on the host of the object that a reference names. */
  readonly nameOnHost: (kind: string, namespace: string, name: string, entry: PatchEntry) => string;
}

export interface Patched {
  readonly ok: true;
  readonly labels: { readonly [key: string]: string };
  readonly annotations: { readonly [key: string]: string };
  readonly payload: JsonMap;
  /** What `onError: keepLast` leaves as the host has it: keys of a map, or `payload`. */
  readonly kept: ReadonlySet<string>;
}

export type Outcome = Patched | { readonly ok: false };

const HIDDEN = ['resourceVersion', 'generation', 'managedFields'];

/** An object as an expression sees it: nothing that only a machine reads, and nothing of ours. */
export function shown(object: PlainObject | undefined): Json {
  if (object === undefined) return null;
  const copy = copyOf(object) as unknown as { metadata: JsonMap };
  for (const field of HIDDEN) delete copy.metadata[field];
  const annotations: unknown = copy.metadata['annotations'];
  if (isMap(annotations)) {
    for (const key of Object.keys(annotations)) if (key.startsWith('hostward.dev/')) delete annotations[key];
  }
  return copy as unknown as Json;
}

export const contextOf = (around: Surroundings, path: string): { readonly [key: string]: Json } => ({
  vcluster: {
    name: around.settings.naming.virtualCluster,
    namespace: around.settings.naming.hostNamespace,
    config: around.settings.whole,
  },
  hostObject: shown(around.host),
  virtualObject: shown(around.virtual),
  path,
});

const metadataOf = (root: JsonMap): JsonMap => (isMap(root['metadata']) ? root['metadata'] : {});

/** Runs one entry over the whole object; false when it failed, and then the object may be half changed. */
function run(entry: PatchEntry, root: JsonMap, around: Surroundings): boolean {
  const segments = segmentsOf(entry.path);
  const answer = (value: Json | undefined, exists: boolean, path: string): Answer => {
    if (entry.reference !== undefined) return translateReference(entry, entry.reference, value, around);
    if (entry.labels !== undefined && entry.labels !== null) return rewriteLabels(value, around);
    const context = contextOf(around, path);
    return ask(entry.expression ?? '', { value, valueExists: exists, context, naming: around.settings.naming });
  };
  if (segments.length === 0) {
    const result = answer(copyOf(root), true, '');
    if (!result.ok || !isMap(result.value)) return false;
    for (const [key, value] of Object.entries(result.value)) root[key] = value;
    return true;
  }
  const gone: { readonly list: Json[]; readonly at: number }[] = [];
  for (const match of matchesOf(root, segments, entry.onMissing === 'create')) {
    const parent = match.parent as { [key: string | number]: Json };
    const value = match.exists ? copyOf(parent[match.key]) : undefined;
    const result = answer(value, match.exists, printedPath(match.path));
    if (!result.ok) return false;
    if (!isGone(result.value)) parent[match.key] = result.value as Json;
    else if (Array.isArray(match.parent)) gone.push({ list: match.parent, at: Number(match.key) });
    else delete parent[match.key];
  }
  for (const { list, at } of gone.sort((one, other) => other.at - one.at)) list.splice(at, 1);
  return true;
}

function isValid(kind: SyncedKind, root: JsonMap): boolean {
  const metadata = metadataOf(root);
  return (
    areLabels(metadata['labels'] ?? {}) && areAnnotations(metadata['annotations'] ?? {}) && isValidPayload(kind, root)
  );
}

/** The fields that belong to nobody's patch have their former values again. */
function restore(root: JsonMap, before: JsonMap): void {
  const metadata = metadataOf(root);
  for (const field of ['labels', 'annotations']) {
    const map: unknown = metadata[field];
    if (isMap(map)) for (const key of Object.keys(map)) if (isProtected(key)) delete map[key];
  }
  root['metadata'] = {
    ...metadataOf(before),
    labels: metadata['labels'] ?? {},
    annotations: metadata['annotations'] ?? {},
  };
  root['apiVersion'] = before['apiVersion'] ?? null;
  root['kind'] = before['kind'] ?? null;
  if (Object.hasOwn(before, 'addressType')) root['addressType'] = before['addressType'] ?? null;
}

/** What an entry with `keepLast` leaves to the host: the keys that its path names, or everything that is not metadata. */
function keptBy(entry: PatchEntry, root: JsonMap): readonly string[] {
  const segments = segmentsOf(entry.path);
  const [top, map, key] = segments.map((segment) => segment.key);
  if (top !== 'metadata') return ['payload'];
  const there = metadataOf(root)[map ?? ''];
  if (key !== undefined && !segments[2]?.isWild) return [`${map}/${key}`];
  return isMap(there) ? Object.keys(there).map((one) => `${map}/${one}`) : [];
}

export function patchForward(translated: Translated, around: Surroundings): Outcome {
  const kind = around.virtual.kind as SyncedKind;
  const { labels, annotations, payload, place } = translated;
  let root: JsonMap = copyOf({
    apiVersion: around.virtual.apiVersion,
    kind,
    metadata: { name: place.name, namespace: place.namespace, labels, annotations },
    ...payload,
  });
  const kept = new Set<string>();
  for (const entry of around.settings.patches[kind]) {
    if (entry.expression === undefined && entry.reference === undefined && entry.labels === undefined) continue;
    const trial = copyOf(root);
    const ran = run(entry, trial, around);
    restore(trial, root);
    if (ran && isValid(kind, trial)) {
      root = trial;
      continue;
    }
    const hasHost = around.host !== undefined;
    if (entry.onError === 'skip') continue;
    if (entry.onError !== 'keepLast' || !hasHost) return { ok: false };
    for (const key of keptBy(entry, root)) kept.add(key);
  }
  const metadata = metadataOf(root);
  const { apiVersion: _a, kind: _k, metadata: _m, ...rest } = root;
  if (kind === 'Endpoints') rest['subsets'] = tidySubsets(rest['subsets']);
  return {
    ok: true,
    labels: (metadata['labels'] ?? {}) as { [key: string]: string },
    annotations: (metadata['annotations'] ?? {}) as { [key: string]: string },
    payload: rest,
    kept,
  };
}
