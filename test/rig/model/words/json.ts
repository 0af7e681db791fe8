// Small words about plain JSON that every other file of the model uses.

import { createHash } from 'node:crypto';
import type { Holding, Json, PlainKind, PlainObject, PlainSide } from './types.ts';

export type TextMap = { readonly [key: string]: string };
export type JsonMap = { [key: string]: Json };

export const isMap = (value: unknown): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const copyOf = <T>(value: T): T => (value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T));

/** One text for one value, whatever the order of its keys. Empty maps and lists inside a map are as good as none. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isMap(value)) return JSON.stringify(value) ?? 'null';
  const parts = Object.keys(value)
    .sort()
    .filter((key) => value[key] !== undefined && !isEmpty(value[key]))
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
  return `{${parts.join(',')}}`;
}

const isEmpty = (value: unknown): boolean =>
  (Array.isArray(value) && value.length === 0) || (isMap(value) && Object.keys(value).length === 0);

export const areSame = (one: unknown, other: unknown): boolean => canonical(one) === canonical(other);

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The value below a path of keys, or undefined where the path ends early. */
export function below(value: unknown, ...path: readonly string[]): unknown {
  let here: unknown = value;
  for (const key of path) {
    if (!isMap(here)) return undefined;
    here = here[key];
  }
  return here;
}

export const textBelow = (value: unknown, ...path: readonly string[]): string | undefined => {
  const found = below(value, ...path);
  return typeof found === 'string' ? found : undefined;
};

export const listBelow = (value: unknown, ...path: readonly string[]): readonly unknown[] => {
  const found = below(value, ...path);
  return Array.isArray(found) ? found : [];
};

export const keyOf = (kind: PlainKind, namespace: string, name: string): string => `${kind} ${namespace}/${name}`;

export const objectKey = (object: PlainObject): string =>
  keyOf(object.kind, object.metadata.namespace ?? '', object.metadata.name);

/** All objects of one side by kind, namespace and name. */
export const indexOf = (holding: Holding, side: PlainSide): Map<string, PlainObject> =>
  new Map(holding[side].map((object) => [objectKey(object), object]));

export const labelsOf = (object: PlainObject | undefined): TextMap => object?.metadata.labels ?? {};
export const annotationsOf = (object: PlainObject | undefined): TextMap => object?.metadata.annotations ?? {};

/** What a map says about its own keys only: `constructor` is not in an empty one. */
export const own = (map: TextMap | undefined, key: string): string | undefined =>
  map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
