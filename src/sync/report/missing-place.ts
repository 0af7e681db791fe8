// Says which copies cannot be made for want of a place: their owner is missing, or a host namespace is missing or being deleted. In: a
// running Sync. Out: plain values for status and readiness. It must never change anything.
import type { Sync } from '../loop/sync.ts';
import type { WaitReason } from '../plan/step.ts';
import { mostLooks } from './troubles.ts';

/** The owner, or a host namespace. */
const placeReasons = ['OwnerMissing', 'HostNamespaceMissing'] as const;

/** Whether copies have no owner or no namespace to be in. */
export function lackPlace(sync: Sync): boolean {
  const counts = sync.ledger.counts();
  return (
    sync.world.ownerState().kind === 'missing' ||
    placeReasons.some((reason) => (counts.get(`waiting/${reason}`) ?? 0) > 0)
  );
}

/** Explains why no copies are created: the owner is missing, or a host namespace is missing or being deleted. */
export function placeLines(sync: Sync): string[] {
  const owner = sync.world.ownerState();
  if (owner.kind === 'missing') return [`OwnerMissing: ${owner.message}`];
  return placeReasons.flatMap((reason) => {
    const waiting = waitingObjects(sync, reason);
    const known = waiting.reduce((sum, { objects }) => sum + objects, 0);
    const more = (sync.ledger.counts().get(`waiting/${reason}`) ?? 0) - known;
    const lines = waiting.map(({ message, objects }) => `${reason}: ${message} (${objects} wait)`);
    return more > 0 ? [...lines, `${reason}: ${more} more wait`] : lines;
  });
}

/** Namespaces that one answer names; more than a few go together. */
const mostPlaces = 5;

/** Counts the objects that wait for one reason, by message, among the first that are looked at. */
export function waitingObjects(
  { ledger }: Pick<Sync, 'ledger'>,
  reason: WaitReason,
): readonly { objects: number; message: string }[] {
  if ((ledger.counts().get(`waiting/${reason}`) ?? 0) === 0) return [];
  const found = new Map<string, number>();
  let looks = 0;
  for (const [, { outcome }] of ledger.entries()) {
    if (++looks > mostLooks && found.size > 0) break;
    if (outcome.kind !== 'waiting' || outcome.reason !== reason) continue;
    if (found.has(outcome.message) || found.size < mostPlaces)
      found.set(outcome.message, (found.get(outcome.message) ?? 0) + 1);
  }
  return [...found].map(([message, objects]) => ({ message, objects }));
}
