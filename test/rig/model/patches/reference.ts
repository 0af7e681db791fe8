// References and labels patches (DESIGN 4.12 and 4.13): how the value at a path names another object, or selects objects.

import type { History } from '../words/history.ts';
import { annotationsOf, copyOf, isMap, type JsonMap, keyOf, labelsOf, own } from '../words/json.ts';
import { IMPORTABLE, IMPORTED_FROM, markerLabels } from '../words/marks.ts';
import type { Naming } from '../words/names.ts';
import type { PatchEntry, Reference } from '../words/settings.ts';
import type { Json, PlainObject } from '../words/types.ts';
import type { Answer } from './expression.ts';
import { matchesOf, segmentsOf } from './patch-path.ts';
import type { Surroundings } from './patches.ts';

export interface Named {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/**
 * Whether a host object with this name is one that a reference brings to the tenant (DESIGN 4.12). `perhaps`: it was one for a while, or
 * the tenant has had an object of its own since.
 */
export function isImport({ kind, namespace, name }: Named, naming: Naming, history: History): 'yes' | 'perhaps' | 'no' {
  if (kind !== 'Secret' && kind !== 'ConfigMap') return 'no';
  const place = naming.place(namespace, name);
  const hostKey = keyOf(kind, (naming.isMapped ? place?.namespace : undefined) ?? naming.hostNamespace, name);
  if (!history.versions('host', hostKey).some(isImportable)) return 'no';
  const host = history.last('host', hostKey);
  const theirs = history.last('virtual', keyOf(kind, namespace, name));
  const isTheirs = theirs !== undefined && own(annotationsOf(theirs), IMPORTED_FROM) !== host?.metadata.uid;
  return host !== undefined && isImportable(host) && !isTheirs ? 'yes' : 'perhaps';
}

const isImportable = (host: PlainObject): boolean =>
  own(labelsOf(host), IMPORTABLE) === 'true' && host.metadata.deletionTimestamp === undefined;

function textAt(value: unknown, path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  const [match] = matchesOf(value, segmentsOf(path), false);
  const found = match === undefined ? undefined : (match.parent as { [key: string | number]: unknown })[match.key];
  return typeof found === 'string' && found !== '' ? found : undefined;
}

/** Which object a value names; undefined when it names none. */
export function namedAt(value: Json | undefined, reference: Reference, namespace: string): Named | undefined {
  const name = reference.namePath === undefined ? value : textAt(value, reference.namePath);
  if (typeof name !== 'string' || name === '') return undefined;
  return {
    kind: textAt(value, reference.kindPath) ?? reference.kind,
    namespace: textAt(value, reference.namespacePath) ?? namespace,
    name,
  };
}

function written(root: JsonMap, path: string | undefined, text: string): void {
  if (path === undefined) return;
  for (const match of matchesOf(root, segmentsOf(path), false)) {
    (match.parent as { [key: string | number]: Json })[match.key] = text;
  }
}

export function translateReference(
  entry: PatchEntry,
  reference: Reference,
  value: Json | undefined,
  around: Surroundings,
): Answer {
  const named = namedAt(value, reference, around.virtual.metadata.namespace);
  if (named === undefined) return { ok: true, value };
  const name = around.nameOnHost(named.kind, named.namespace, named.name, entry);
  if (!isMap(value)) return { ok: true, value: name };
  const made = copyOf(value);
  written(made, reference.namePath, name);
  if (textAt(value, reference.namespacePath) !== undefined) {
    const place = around.settings.naming.place(named.namespace, named.name);
    if (place !== undefined) written(made, reference.namespacePath, place.namespace);
  }
  return { ok: true, value: made };
}

export function rewriteLabels(value: Json | undefined, around: Surroundings): Answer {
  const { naming } = around.settings;
  const key = (text: string): string => naming.labelKey(text) ?? text;
  const rewrite = (map: JsonMap): JsonMap =>
    Object.fromEntries(Object.entries(map).map(([one, text]) => [key(one), text]));
  if (typeof value === 'string') {
    return { ok: true, value: value.replace(/[A-Za-z0-9_./-]+(?=\s*(?:!?=|==|\s(?:not)?in\b|,|$))/gu, key) };
  }
  if (!isMap(value)) return value === undefined || value === null ? { ok: true, value } : { ok: false };
  const made = copyOf(value) as JsonMap;
  const { matchLabels, matchExpressions } = made;
  if (matchLabels === undefined && matchExpressions === undefined)
    return { ok: true, value: { ...rewrite(made), ...markerLabels(around.virtual.metadata.namespace, naming) } };
  if (isMap(matchLabels)) made['matchLabels'] = rewrite(matchLabels);
  if (Array.isArray(matchExpressions)) {
    made['matchExpressions'] = matchExpressions.map((one) =>
      isMap(one) && typeof one['key'] === 'string' ? { ...one, key: key(one['key']) } : one,
    );
  }
  return { ok: true, value: made };
}
