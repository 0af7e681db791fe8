// Decides which object gets a host name that two want, for themselves or for their Services. Part of decide.ts. Pure.
import type { Translation } from '../draft.ts';
import { judgeOwnership } from '../ownership.ts';
import { ask, done, type Facts, type Memory, type NameClash, type Outcome, type PlanStep } from '../step.ts';
import { collision, nameBusy, namePending, serviceCollision } from './outcomes.ts';
import { decideRemoval, decideStrays } from './removal.ts';

/** The next step of an object that may not be on the host because of another one; undefined for a winner. */
export function decideNameClash(facts: Facts, memory: Memory, translation: Translation): PlanStep | undefined {
  const { nameClash, serviceKey, servicePlace, winner } = facts;
  const isNamedLikeService = translation.kind.needs === undefined;
  if (nameClash?.isPending) return done(namePending);
  if (nameClash !== undefined && nameClash.rivals.length > 0 && serviceKey && servicePlace) {
    // The copy of one of the Services may be on the host already; then consumers mean that one.
    if (!memory.hostService.known) return ask({ side: 'host', verb: 'get', what: 'service', place: servicePlace });
    const copied = memory.hostService.service?.isCopyOf;
    const isOfService = copied !== undefined && [serviceKey, ...nameClash.rivals].includes(copied);
    const holder = isOfService ? copied : nameClash.holder;
    if (holder !== undefined && holder !== serviceKey) {
      // The other Service may have no Endpoints, but slices, or nothing that is left; only its name says then why this object is refused.
      const outcome =
        isNamedLikeService && winner === holder
          ? collision(holder)
          : serviceCollision({ service: serviceKey, name: servicePlace.name, holder });
      return decideLoss(facts, translation, outcome);
    }
    if (isNamedLikeService) return decideLeaving(nameClash);
  }
  if (winner !== undefined && winner !== facts.key) return decideStrays(facts, translation, collision(winner));
  return nameClash && decideLeaving(nameClash);
}

/** Removes the copy of an object that has lost its name, but never that of the winner at the same place. */
function decideLoss(facts: Facts, translation: Translation, outcome: Outcome): PlanStep {
  const { host, key } = facts;
  const ownership = host && judgeOwnership(host, key, translation.placement);
  const isOwn = ownership?.kind === 'ours' && ownership.isDeletable;
  return isOwn ? decideRemoval(facts, translation, outcome) : decideStrays(facts, translation, outcome);
}

function decideLeaving({ leaving }: NameClash): PlanStep | undefined {
  if (leaving === undefined) return undefined;
  return done(nameBusy(leaving));
}
