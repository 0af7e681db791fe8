// Judges whether the caller may get a new value of an existing key. The receiver of the value can use the key, so the caller must
// hold everything that the key holds, for example groups that an administrator granted, and networks.
import type { KubeObject } from '../../../object/meta/object.ts';
import { cidrsAnnotation, isNarrower } from '../../scope/patterns/source-networks.ts';
import type { KeyRecord } from '../secret/key-record.ts';
import type { Caller, Refusal } from './judgement.ts';
import { keySpec } from './key-spec.ts';

export function handOverRefusals(object: KubeObject, { grantedGroups }: KeyRecord, caller: Caller): Refusal[] {
  const refusals = networkRefusals(object, caller);
  if (caller.isAdministrator) return refusals;
  const held = caller.credential.subject.groups;
  for (const [index, group] of keySpec(object).groups.entries()) {
    if (!grantedGroups.includes(group) || held.has(group)) continue;
    const message = `an administrator granted "${group}" to this key, and the calling key does not have it`;
    refusals.push({ field: `spec.groups[${index}]`, message });
  }
  return refusals;
}

/** The networks of the key against those of the caller. */
export function networkRefusals(object: KubeObject, { networks }: Caller): Refusal[] {
  if (isNarrower(object.metadata.annotations?.[cidrsAnnotation], networks)) return [];
  const field = `metadata.annotations[${cidrsAnnotation}]`;
  return [{ field, message: `must lie inside the networks of the calling key, ${networks}` }];
}
