// Turns a verified key into a credential, or into the reason why the key is not valid now: deleted, disabled, expired, without its
// subject, or without one of the keys that made it. Every request is judged again.
import type { Credential } from '../../scope/allows.ts';
import type { Directory, SubjectKind } from '../../scope/directory.ts';
import { maxMakers } from '../../scope/issuing.ts';
import { isExpired } from './expiry.ts';
import type { KeyFacts } from './key-facts.ts';

export interface KeyWorld {
  directory: Directory;
  /** By the name of the object. */
  key(name: string): KeyFacts | undefined;
  /** The newest known use, for computing the expiry; status shows another value. */
  lastActivityMs(facts: KeyFacts): number | undefined;
  /** The uid that the name has now. Undefined = no such record, which is as good as gone. */
  subjectUid(kind: SubjectKind, name: string): string | undefined;
  /** The uid that the virtual cluster has now; undefined while the configuration does not name it. */
  instanceUid(project: string, virtualCluster: string): string | undefined;
}

export type DeadBecause =
  | 'deleted'
  | 'disabled'
  | 'expired'
  | 'subject gone'
  | 'subject disabled'
  | 'instance gone'
  | 'network'
  | 'maker';

export type Authenticated =
  | { kind: 'credential'; credential: Credential; facts: KeyFacts }
  | { kind: 'dead'; because: DeadBecause };

/** All that counts for what a key owes to others; the record is also in the stored object. */
export type Recorded = Pick<KeyFacts, 'record'>;

export function credentialOf(
  facts: KeyFacts,
  world: KeyWorld,
  request: { nowMs: number; address: string | undefined },
): Authenticated {
  const because = deadByItself(facts, world, request.nowMs) ?? deadBecauseOfOthers(facts, world, request.nowMs);
  if (because !== undefined) return { kind: 'dead', because };
  const makers = makersOf(facts, world) ?? [];
  if ([facts, ...makers].some(({ networks }) => networks !== undefined && !networks.includes(request.address)))
    return { kind: 'dead', because: 'network' };
  const { subject } = facts.record;
  const resolved = world.directory.resolve(subject, { listed: facts.groups, granted: facts.record.grantedGroups });
  if (resolved.kind !== 'here') return { kind: 'dead', because: 'subject gone' };
  const scopes = [facts, ...makers].map(({ scoped }) => scoped?.scope);
  const issuesNothing = facts.record.kubeconfig === undefined ? {} : { issuesNothing: true };
  const credential = { subject: resolved.subject, keyName: facts.name, scopes, ...issuesNothing };
  return { kind: 'credential', facts, credential };
}

export function deadByItself(facts: KeyFacts, world: KeyWorld, nowMs: number): DeadBecause | undefined {
  if (facts.isDeleted) return 'deleted';
  // An expired key stays dead, so the expiry is the more useful reason.
  if (isExpired(facts.times, world.lastActivityMs(facts), nowMs)) return 'expired';
  return facts.isDisabled ? 'disabled' : undefined;
}

export function deadBecauseOfOthers(facts: Recorded, world: KeyWorld, nowMs: number): DeadBecause | undefined {
  const because = withoutOwner(facts, world);
  if (because !== undefined) return because;
  const makers = makersOf(facts, world);
  const isDead = (maker: KeyFacts) =>
    deadByItself(maker, world, nowMs) !== undefined || withoutOwner(maker, world) !== undefined;
  return makers === undefined || makers.some(isDead) ? 'maker' : undefined;
}

function withoutOwner(facts: Recorded, world: KeyWorld): DeadBecause | undefined {
  const { kind, name, uid } = facts.record.subject;
  const presence = world.directory.presenceOf({ kind, name });
  if (presence === 'disabled') return 'subject disabled';
  // A name that has changed its owner has another uid, so old keys stay dead.
  if (presence === 'gone' || world.subjectUid(kind, name) !== uid) return 'subject gone';
  const of = facts.record.kubeconfig;
  if (of !== undefined && world.instanceUid(of.project, of.virtualCluster) !== of.instance) return 'instance gone';
  return undefined;
}

/** The keys that made it, nearest first; undefined when one is missing, is another key by now, or the chain has no end. */
export function makersOf(facts: Recorded, world: Pick<KeyWorld, 'key'>): KeyFacts[] | undefined {
  const makers: KeyFacts[] = [];
  for (let madeBy = facts.record.madeBy; madeBy !== undefined; ) {
    const maker = world.key(madeBy.name);
    if (maker === undefined || maker.record.uid !== madeBy.uid || makers.length === maxMakers) return undefined;
    makers.push(maker);
    madeBy = maker.record.madeBy;
  }
  return makers;
}
