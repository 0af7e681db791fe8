// metadata.managedFields at every write: who has set which field. The rules are object/managed-fields.ts; here is what they
// need to know of a request.
import { equalJson, type Json } from '../object/json.ts';
import { type ManagerOptions, updateManagedFields } from '../object/managed-fields.ts';
import type { KubeObject } from '../object/object.ts';
import { zeroOf } from './decode.ts';
import { groupVersionOf } from './kind.ts';
import type { Call } from './kit.ts';

export function managerOptions(call: Call, now: string): ManagerOptions {
  return {
    manager: call.fieldManager,
    apiVersion: groupVersionOf(call.kind),
    time: now,
    subresource: call.target.subresource,
    shape: call.kit.catalog.schemaOf(call.kind),
  };
}

export function trackCreate(call: Call, object: KubeObject, now: string): void {
  setManagers(object, updateManagedFields(undefined, withoutServersPart(call, object), managerOptions(call, now)));
}

export function trackUpdate(call: Call, object: KubeObject, old: KubeObject, now: string): void {
  setManagers(object, updateManagedFields(old, object, managerOptions(call, now)));
}

function setManagers(object: KubeObject, entries: unknown[] | undefined): void {
  if (entries === undefined || entries.length === 0) delete object.metadata.managedFields;
  else object.metadata.managedFields = entries;
}

/** What nobody has sent: the status, and the fields that are always written. */
export function withoutServersPart(call: Call, object: KubeObject): KubeObject {
  const sent: KubeObject = { ...object };
  if (call.kind.strategy.hasStatus === true) delete sent['status'];
  const schema = call.kit.catalog.schemaOf(call.kind);
  if (schema.type !== 'object') return sent;
  const zero = zeroOf(schema) as Record<string, Json>;
  for (const [field, nothing] of Object.entries(zero)) {
    if (field !== 'metadata' && equalJson(sent[field] as Json, nothing)) delete sent[field];
  }
  return sent;
}
