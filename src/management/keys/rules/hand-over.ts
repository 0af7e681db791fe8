// Judges whether the caller may get a new value of an existing key. The receiver of the value can use the key, so the caller must
// hold everything that the key holds, for example groups that an administrator granted, and networks. The same answer is given to the
// request and to a review of it.
import { cidrsAnnotation, isNarrower } from '../../scope/patterns/source-networks.ts';
import type { KeyFacts } from '../life/key-facts.ts';
import type { Caller, Refusal } from './judgement.ts';

type HandedOver = Pick<KeyFacts, 'groups' | 'networksText'> & { record: Pick<KeyFacts['record'], 'grantedGroups'> };

export function handOverRefusals({ groups, networksText, record }: HandedOver, caller: Caller): Refusal[] {
  const refusals = networkRefusals(networksText, caller);
  if (caller.isAdministrator) return refusals;
  const held = caller.credential.subject.groups;
  for (const [index, group] of groups.entries()) {
    if (!record.grantedGroups.includes(group) || held.has(group)) continue;
    const message = `an administrator granted "${group}" to this key, and the calling key does not have it`;
    refusals.push({ field: `spec.groups[${index}]`, message });
  }
  return refusals;
}

/** The networks of the key against those of the caller. */
export function networkRefusals(networksText: string | undefined, { networks }: Caller): Refusal[] {
  if (isNarrower(networksText, networks)) return [];
  const field = `metadata.annotations[${cidrsAnnotation}]`;
  return [{ field, message: `must lie inside the networks of the calling key, ${networks}` }];
}
