// Whether a write left the host exactly as it was asked to be. Then the same plan, made again, would come to nothing, and
// the pass ends without a second look. A server that repacks, a webhook that adds, a hand that was quicker: all of that
// differs here and is looked at again. Pure.
import type { KubeObject } from '../object/object.ts';
import type { Translation } from './draft.ts';
import type { HostItem } from './kind.ts';
import { ownerReference, repairOwners } from './owner.ts';
import type { Facts, HostMergePatch } from './step.ts';

type Texts = Readonly<Record<string, string>>;
type Changes = Readonly<Record<string, string | null>>;

/** facts: those that were decided on; asked: the object of a create, or the merge patch over what was there. */
export function isAsAsked(
  now: HostItem,
  asked: KubeObject | HostMergePatch,
  { facts, translation }: { facts: Facts; translation: Translation },
): boolean {
  const { host: before, virtual, draft, ignoreOrder } = facts;
  if (virtual === undefined || draft === undefined || now.isDeleting) return false;
  const { kind } = translation;
  if (kind.payloadChange(draft.payload, kind.payloadOf(now), { ignoreOrder }) !== undefined) return false;
  const owner = ownerReference(facts.owner, virtual.hasController === true);
  return (
    (before === undefined || now.uid === before.uid) &&
    isMerged(now.labels, before?.labels, asked.metadata.labels) &&
    isMerged(now.annotations, before?.annotations, asked.metadata.annotations) &&
    repairOwners(now.ownerReferences, owner) === undefined
  );
}

function isMerged(now: Texts = {}, before: Texts = {}, changes: Changes = {}): boolean {
  let expected = 0;
  for (const key in before) {
    if (Object.hasOwn(changes, key)) continue;
    if (now[key] !== before[key]) return false;
    expected++;
  }
  for (const key in changes) {
    const value = changes[key];
    if (value === null) continue;
    if (now[key] !== value) return false;
    expected++;
  }
  for (const _ in now) expected--;
  return expected === 0;
}
