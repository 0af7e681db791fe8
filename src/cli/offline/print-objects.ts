// Prints Kubernetes objects as kubectl does: YAML, JSON or a diff.
import type { KubeObject } from '../../object/meta/object.ts';
import { unifiedDiff } from '../../object/text/line-diff.ts';
import { toYaml } from './yaml-text.ts';

/** Returns one object as it is, and several objects as a v1 List. */
export function objectsValue(objects: readonly KubeObject[]): unknown {
  const all = objects.map(sorted);
  return all.length === 1 ? all[0] : { apiVersion: 'v1', items: all, kind: 'List', metadata: {} };
}

export function objectsText(objects: readonly KubeObject[], output: string): string {
  if (objects.length === 0) return '';
  const value = objectsValue(objects);
  return output === 'json' ? `${JSON.stringify(value, undefined, 2)}\n` : toYaml(value);
}

export interface NamedObject {
  name: string;
  object: KubeObject;
}

export function objectDiff(before: NamedObject, after: NamedObject): string {
  const textOf = ({ name, object }: NamedObject) => ({ name, text: toYaml(sorted(withoutServerFields(object))) });
  return unifiedDiff(textOf(before), textOf(after));
}

/** Removes the fields that only a server writes, because they differ in every cluster. */
export function withoutServerFields(object: KubeObject): KubeObject {
  const { uid, resourceVersion, generation, creationTimestamp, managedFields, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Sorts the keys, so that two outputs can be compared line by line. */
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, member]) => [key, sorted(member)]));
}
