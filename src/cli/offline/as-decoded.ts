// Drops the empty values that an API server drops when it decodes an object: null, empty lists and maps, and empty texts in
// fields that cannot hold them. Without this, render would show an object that the daemon never sees. Pure.
import type { KubeObject } from '../../object/meta/object.ts';
import { isRecord } from '../../object/text/json.ts';

/** Fields of an Endpoints that an API server leaves out when they are empty; nodeName and appProtocol may be empty. */
const droppedWhenEmpty: ReadonlySet<string> = new Set([
  ...['hostname', 'name', 'protocol'],
  ...['apiVersion', 'kind', 'namespace', 'uid', 'resourceVersion', 'fieldPath'],
]);

export function asDecoded(object: KubeObject): KubeObject {
  const { metadata, subsets, ...rest } = object;
  const decoded = withoutEmpty(rest, isNull) as KubeObject;
  return {
    ...decoded,
    metadata: decodeMetadata(metadata as Record<string, unknown>),
    ...(!isNull(subsets) &&
      !(Array.isArray(subsets) && subsets.length === 0) && {
        subsets: withoutEmpty(subsets, (value, key) => isNull(value) || (value === '' && droppedWhenEmpty.has(key))),
      }),
  };
}

/** Keeps null inside labels and annotations, so that check-shape.ts can report it. */
function decodeMetadata({ labels, annotations, ...rest }: Record<string, unknown>): KubeObject['metadata'] {
  return {
    ...(withoutEmpty(rest, isNull) as KubeObject['metadata']),
    ...(!isNull(labels) && !isEmptyMap(labels) && { labels: labels as Record<string, string> }),
    ...(!isNull(annotations) && !isEmptyMap(annotations) && { annotations: annotations as Record<string, string> }),
  };
}

function isNull(value: unknown): boolean {
  return value === null || value === undefined;
}

/** False for a value that is not a map, so that check-shape.ts can report it. */
function isEmptyMap(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length === 0;
}

function withoutEmpty(value: unknown, isEmpty: (value: unknown, key: string) => boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutEmpty(item, isEmpty));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key, member]) => !isEmpty(member, key));
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutEmpty(member, isEmpty)]));
}
