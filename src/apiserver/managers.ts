// Who set which field: what a write adds to metadata.managedFields.
import type { KubeObject } from '../object/object.ts';
import type { Call } from './kit.ts';

export function trackCreate(_call: Call, object: KubeObject, _now: string): void {
  delete object.metadata.managedFields;
}

export function trackUpdate(_call: Call, object: KubeObject, _old: KubeObject, _now: string): void {
  delete object.metadata.managedFields;
}
