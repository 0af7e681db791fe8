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

/** Nobody if the last writer has our name: an earlier writer says nothing about the last change. Times have whole seconds. */
function lastForeignManager(managedFields: unknown[] | undefined): string | undefined {
  const newest = { foreign: '', own: '', manager: undefined as string | undefined };
  for (const { manager, time = '' } of (managedFields ?? []) as { manager?: string; time?: string }[]) {
    if (manager === fieldManager) {
      if (time > newest.own) newest.own = time;
    } else if (time >= newest.foreign) Object.assign(newest, { foreign: time, manager });
  }
  return newest.own > newest.foreign ? undefined : newest.manager;
}
