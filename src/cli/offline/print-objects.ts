// Prints Kubernetes objects as kubectl does: YAML, JSON or a diff.

import type { KubeObject } from '../../object/meta/object.ts';
import { inKeyOrder } from '../../object/text/json.ts';
import { unifiedDiff } from '../../object/text/line-diff.ts';
import { toYaml } from './yaml-text.ts';

/** Returns one object as it is, and several objects as a v1 List. */
export function objectsValue(objects: readonly KubeObject[]): unknown {
  const all = objects.map(inKeyOrder);
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
  const textOf = ({ name, object }: NamedObject) => ({ name, text: toYaml(inKeyOrder(withoutServerFields(object))) });
  return unifiedDiff(textOf(before), textOf(after));
}

/** Removes the fields that only a server writes, because they differ in every cluster. */
export function withoutServerFields(object: KubeObject): KubeObject {
  const { uid, resourceVersion, generation, creationTimestamp, managedFields, ...metadata } = object.metadata;
  return { ...object, metadata };
}
