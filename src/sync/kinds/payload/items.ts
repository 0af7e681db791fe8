// The parts of an object that sync keeps for every kind. The caches hold thousands of these items, so a field that no rule
// reads does not belong here. In: objects. Out: items without a payload, which each kind adds.
import type { KubeObject } from '../../../object/meta/object.ts';
import { fieldManager } from '../../plan/keys/reserved-keys.ts';
import { type HostItem, identityOf, isFilled, type VirtualItem } from '../../plan/kind.ts';
import { annotatedKeyOf } from '../../plan/ownership.ts';

export function projectVirtualItem<P extends object>(object: KubeObject, payload: P): VirtualItem & P {
  const { metadata } = object;
  return {
    ...identityOf(object),
    creationTimestamp: metadata.creationTimestamp ?? '',
    ...(isFilled(metadata.labels) && { labels: metadata.labels }),
    ...(isFilled(metadata.annotations) && { annotations: metadata.annotations }),
    ...payload,
    ...(metadata.ownerReferences?.some((owner) => owner.controller === true) && { hasController: true as const }),
  };
}

export function projectHostItem<P extends object>(object: KubeObject, payload: P): HostItem & P {
  const { metadata } = object;
  const lastManager = lastForeignManager(metadata.managedFields);
  const mark = annotatedKeyOf(metadata);
  return {
    ...identityOf(object),
    ...(mark !== undefined && { mark }),
    ...(isFilled(metadata.labels) && { labels: metadata.labels }),
    ...(isFilled(metadata.annotations) && { annotations: metadata.annotations }),
    ...(metadata.ownerReferences?.length && { ownerReferences: metadata.ownerReferences }),
    ...payload,
    ...(metadata.deletionTimestamp !== undefined && { isDeleting: true as const }),
    ...(lastManager !== undefined && { lastManager }),
  };
}

function lastForeignManager(managedFields: unknown[] | undefined): string | undefined {
  let newest: { manager?: string; time?: string } | undefined;
  for (const entry of (managedFields ?? []) as { manager?: string; time?: string }[]) {
    if (entry.manager !== fieldManager && (entry.time ?? '') >= (newest?.time ?? '')) newest = entry;
  }
  return newest?.manager;
}
