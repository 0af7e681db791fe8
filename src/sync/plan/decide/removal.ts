// Decides the removal of host copies, for decide.ts. Pure. An object stays when it is not provably ours, and when an operator
// of the host has paused, kept or claimed it.

import type { Translation } from '../draft.ts';
import { controlledByKey, copiedAnnotations, pauseKey, skipBackSyncKey } from '../keys/reserved-keys.ts';
import type { HostItem, SyncedKind, VirtualItem } from '../kind.ts';
import { isControlledByOther, judgeOwnership } from '../ownership.ts';
import { ask, done, type Facts, type Outcome, type PlannedRequest, type PlanStep } from '../step.ts';

/** An ineligible object must have no host copy, but only a copy that is provably ours may be deleted. */
export function decideRemoval(facts: Facts, translation: Translation, outcome: Outcome): PlanStep {
  const { host, key } = facts;
  if (host === undefined) return decideStrays(facts, translation, outcome);
  const ownership = judgeOwnership(host, key, translation.placement);
  if (ownership.kind !== 'ours') return decideStrays(facts, translation, outcome);
  const left = handsOff(host, facts.virtual, translation.kind) ?? keptByHost(host, facts.virtual);
  if (left !== undefined) return done(left);
  if (!ownership.isDeletable) {
    return done(notNamed);
  }
  if (host.isDeleting) return decideStrays(facts, translation, outcome);
  if (facts.isDeleteWithheld) return done(withheld);
  const reason = outcome.kind === 'ineligible' || outcome.kind === 'refused' ? outcome.reason : outcome.kind;
  return ask(removal(host, reason));
}

/** Without both annotations nobody knows for certain whose copy it is. */
export const notNamed = {
  kind: 'left',
  reason: 'NotOurs',
  message: 'the host copy has lost its object-name or object-namespace annotation, so it is not deleted',
} as const satisfies Outcome;

const withheld: Outcome = {
  kind: 'waiting',
  reason: 'DeleteWithheld',
  message: 'a list would delete many host copies at once; nothing is deleted until a second list agrees',
};

/** After a mapping has moved the key, its old copies are removed, but only once the new copy is in place. */
export function decideStrays(facts: Facts, { kind }: Translation, outcome: Outcome): PlanStep {
  const stray = facts.strays.find((item) => !item.isDeleting && handsOff(item, facts.virtual, kind) === undefined);
  if (stray === undefined) return done(outcome);
  return facts.isDeleteWithheld ? done(withheld) : ask(removal(stray, 'moved to another host namespace'));
}

function removal(host: HostItem, reason: string): PlannedRequest {
  const preconditions = { uid: host.uid, resourceVersion: host.resourceVersion };
  return { side: 'host', verb: 'remove', place: { namespace: host.namespace, name: host.name }, preconditions, reason };
}

/** The outcome for a copy that an operator of the host has paused or given to another controller. */
export function handsOff(host: HostItem, virtual: VirtualItem | undefined, kind: SyncedKind): Outcome | undefined {
  if (host.annotations?.[pauseKey] === 'true') {
    return { kind: 'left', reason: 'Paused', message: `the host copy is annotated ${pauseKey}=true` };
  }
  if (isControlledByOther(host, kind.syncerName) && !isTenants(controlledByKey, host, virtual)) {
    return {
      kind: 'left',
      reason: 'ControlledByOther',
      message: `the host copy has ${controlledByKey} set for another controller`,
    };
  }
  return undefined;
}

function keptByHost(host: HostItem, virtual: VirtualItem | undefined): Outcome | undefined {
  if (virtual !== undefined) return undefined;
  if (host.annotations?.[skipBackSyncKey] !== 'true' || isTenants(skipBackSyncKey, host, virtual)) return undefined;
  return { kind: 'left', reason: 'KeptByHost', message: `the host copy is annotated ${skipBackSyncKey}=true` };
}

/** vCluster copies these keys from tenants, and a tenant must not be able to pin or hide a host object. */
function isTenants(key: string, host: HostItem, virtual: VirtualItem | undefined): boolean {
  return copiedAnnotations(host).has(key) || virtual?.annotations?.[key] !== undefined;
}
