// An object as an API server has it once it has decoded what somebody wrote: null is no value, neither is a list or map of
// nothing, and a text that says nothing stands only where the field can hold one. What is rendered from a file is then what the daemon would render. Pure.

import type { KubeObject } from '../../object/meta/object.ts';
import { isRecord } from '../../object/text/json.ts';

/** Fields of an Endpoints that are left out when they are empty; nodeName and appProtocol can be empty. */
const emptyIsNothing: ReadonlySet<string> = new Set([
  ...['hostname', 'name', 'protocol'],
  ...['apiVersion', 'kind', 'namespace', 'uid', 'resourceVersion', 'fieldPath'],
]);

export function asDecoded(object: KubeObject): KubeObject {
  const { metadata, subsets, ...rest } = object;
  const decoded = withoutNothing(rest, isNull) as KubeObject;
  return {
    ...decoded,
    metadata: decodeMetadata(metadata as Record<string, unknown>),
    ...(!isNull(subsets) &&
      !(Array.isArray(subsets) && subsets.length === 0) && {
        subsets: withoutNothing(subsets, (value, key) => isNull(value) || (value === '' && emptyIsNothing.has(key))),
      }),
  };
}

/** In a map of texts null is a fault of its own, which is said where shapes are judged. */
function decodeMetadata({ labels, annotations, ...rest }: Record<string, unknown>): KubeObject['metadata'] {
  return {
    ...(withoutNothing(rest, isNull) as KubeObject['metadata']),
    ...(!isNull(labels) && !isEmptyMap(labels) && { labels: labels as Record<string, string> }),
    ...(!isNull(annotations) && !isEmptyMap(annotations) && { annotations: annotations as Record<string, string> }),
  };
}

function isNull(value: unknown): boolean {
  return value === null || value === undefined;
}

/** Only of the right kind: of a wrong one it is said where shapes are judged. */
function isEmptyMap(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length === 0;
}

function withoutNothing(value: unknown, isNothing: (value: unknown, key: string) => boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutNothing(item, isNothing));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key, member]) => !isNothing(member, key));
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutNothing(member, isNothing)]));
}
